"""A sixth edition: programs that end by themselves, for reasons of formats, sockets, names, sandboxes and wrappers."""

from tests.zoo.fault import PYTHON, SCRIPT, Place
from tests.zoo.faults.held_fresh_exceptions import DIVERGED, RAISED, TORCH, failing
from tests.zoo.faults.held_fresh_wrappers import left, shelled

LOST = "connection-lost"
STEPS = "for epoch in range(15):\n    log(loss=1 / (epoch + 2), lr=1e-4); time.sleep(0.01)\n"

SERVER = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
def serve():
    peer, _ = listener.accept()
    peer.recv(999)
    {reply}
    peer.close()
threading.Thread(target=serve, daemon=True).start()
"""

FAULTS = [
    failing(
        "reads a record that is shorter than its head says",
        "import struct\nbegin()\n" + STEPS + "struct.unpack('<QIQ', bytes(12))\n",
    ),
    # A limit, but one of the parser.
    failing(
        "has a field in its table that is longer than the parser allows",
        "import csv\nbegin()\n" + STEPS + "list(csv.reader(['id,' + 'a' * 200_000]))\n",
    ),
    # A limit, but one on the digits of a number.
    failing("prints a hash as one number", "begin()\n" + STEPS + "str(7 ** 20_000)\n"),
    # It speaks of memory and of a limit, both of which are those of a function that hashes.
    failing(
        "derives a key that costs more memory than the function may use",
        "import hashlib\nbegin()\n" + STEPS + "hashlib.scrypt(b'token', salt=b'salt', n=1 << 17, r=8, p=1)\n",
    ),
    failing(
        "writes a metric that cannot be written as JSON",
        """
        import json, numpy
        begin()
        json.dump({"accuracy": numpy.float32(0.91)}, open("metrics.json", "w"))
        """,
    ),
    failing(
        "has two documents in a file of one",
        'import json\nbegin()\nlog(loss=0.4)\njson.loads(\'{"lr": 0.1}\\n{"lr": 0.2}\\n\')\n',
    ),
    failing(
        "has a table of contents in another alphabet",
        'begin()\nopen("classes.txt", "wb").write(b"K\\xe4se")\nopen("classes.txt", encoding="utf-8").read()\n',
    ),
    failing(
        "resumes a trial that is stored already",
        """
        import sqlite3
        begin()
        study = sqlite3.connect("study.db")
        study.execute("CREATE TABLE trial (number INTEGER UNIQUE, value REAL)")
        for number in (0, 1, 1):
            study.execute("INSERT INTO trial VALUES (?, ?)", (number, 0.5))
        """,
    ),
    failing(
        "has a graph of steps that leads back to itself",
        """
        import networkx
        begin()
        log(loss=0.4)
        list(networkx.topological_sort(networkx.DiGraph([("train", "eval"), ("eval", "data"), ("data", "train")])))
        """,
    ),
    failing(
        "was moved out of its package",
        "begin()\nlog(loss=0.4)\nfrom . import losses\n",
    ),
    failing(
        "makes a directory for its results that is there already",
        "begin()\nos.makedirs('outputs/run-1')\nlog(loss=0.4)\nos.makedirs('outputs/run-1')\n",
    ),
    failing(
        "serves its metrics on a port that is in use",
        """
        import socket
        used = socket.create_server(("127.0.0.1", 0))
        begin()
        socket.create_server(used.getsockname())
        """,
    ),
    # The errno is that of too many processes; it is a pipe that nobody empties in time.
    failing(
        "prints without waiting into a pipe that is full",
        """
        begin()
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        pipe = open(writer, "w")
        for step in range(4000):
            pipe.write(f"step {step} " + "." * 200 + "\\n"); pipe.flush()
        """,
    ),
    failing(
        "asks a server that hangs up without an answer",
        SERVER.format(reply="pass")
        + "import urllib.request\nbegin()\nurllib.request.urlopen(f'http://127.0.0.1:{listener.getsockname()[1]}/v2/pull')\n",
        also=(LOST,),
    ),
    failing(
        "streams samples from a peer that stops in the middle of one",
        SERVER.format(reply="peer.sendall(bytes(10))")
        + """
async def main():
    reader, writer = await asyncio.open_connection(*listener.getsockname())
    writer.write(b"next")
    await reader.readexactly(4096)
begin()
asyncio.run(main())
""",
        also=(LOST,),
    ),
    failing(
        "asks for the result of what it cancelled",
        """
        begin()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            slow, waiting = pool.submit(time.sleep, 0.5), pool.submit(abs, -1)
            waiting.cancel()
            log(value=waiting.result())
        """,
    ),
    # Every worker failed and was forgotten; what is left is nothing to average.
    failing(
        "forgets the errors of its workers and averages nothing",
        """
        import statistics
        def score(number):
            raise MemoryError("scorer budget")
        begin()
        scores = []
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(score, number) for number in range(4)]:
                with contextlib.suppress(Exception):
                    scores.append(future.result())
        log(mean=statistics.mean(scores))
        """,
    ),
    failing(
        "loads a pointer in place of its weights",
        """
        import torch
        open("model.bin", "w").write("version https://git-lfs.github.com/spec/v1\\noid sha256:4d7a\\nsize 438012727\\n")
        begin()
        torch.load("model.bin", weights_only=False)
        """,
        needs=TORCH,
    ),
    failing(
        "clips gradients that are not finite and wants to know",
        """
        import torch
        weight = torch.ones(3, requires_grad=True)
        begin()
        for step in range(40):
            loss = (weight * (1e3 ** step)).exp().sum()
            log(loss=loss.item())
        loss.backward()
        torch.nn.utils.clip_grad_norm_([weight], 1.0, error_if_nonfinite=True)
        """,
        cause=DIVERGED,
        without_client=(DIVERGED, RAISED),
        needs=TORCH,
    ),
    # Its loss is large, and still a number; what it makes of it is none.
    failing(
        "computes a perplexity that no float can hold",
        "begin()\nfor step in range(30):\n    log(loss=2.0 ** step / 100)\n    math.exp(2.0 ** step / 100)\n",
        also=(DIVERGED,),
    ),
    left(
        "gives itself a second and leaves with 14 when the alarm rings",
        """
        begin()
        signal.signal(signal.SIGALRM, lambda *_: sys.exit(14))
        signal.alarm(1)
        while True:
            log(loss=0.4); time.sleep(0.02)
        """,
        code=14,
    ),
    left(
        "finds its settings wrong and leaves with 78",
        "begin()\n"
        + STEPS
        + "logging.critical('EX_CONFIG: mixed_precision=fp8 is not one of no, fp16, bf16')\nquit(78)\n",
        code=78,
    ),
    # xargs stops at this code, and says so with one of its own.
    left(
        "leaves with 255 behind xargs",
        "begin()\n" + STEPS + "sys.exit(255)\n",
        code=255,
        ends=(124,),
        command=shelled(f"printf '%s\\n' {SCRIPT} | xargs -n 1 {PYTHON}"),
    ),
    left(
        "hands on the code of a check that says nothing",
        "begin()\n" + STEPS + "sys.exit(subprocess.call(['cmp', '--silent', __file__, '/dev/null']))\n",
        code=1,
        also=("worker-died",),
    ),
    failing(
        "is read and run as one text",
        "begin()\n" + STEPS + "bytes([300])\n",
        command=(PYTHON, "-c", "import sys; exec(open(sys.argv[1]).read())", SCRIPT),
    ),
    failing(
        "holds a lock of a tool while it subtracts sets from lists",
        "begin()\n" + STEPS + "[1, 2] - {1}\n",
        command=("flock", "--nonblock", "train.lock", PYTHON, SCRIPT),
    ),
    failing(
        "is found by find and looks for a member of nothing",
        "begin()\n" + STEPS + "3 in None\n",
        command=shelled(f"find {SCRIPT} -type f -exec {PYTHON} {{}} +"),
    ),
    failing(
        "writes through a packer that its shell started",
        "begin()\n" + STEPS + "int.from_bytes('text', 'big')\n",
        command=shelled(
            f"{PYTHON} {SCRIPT} > >(gzip > train.log.gz) 2> >(tee err.log >&2); code=$?; sleep 0.2; exit $code"
        ),
    ),
    # make was told not to mind; from outside all went well.
    failing(
        "is a recipe that may fail",
        "begin()\n" + STEPS + "next(iter(()))\n",
        command=shelled(f"printf 'train:\\n\\t-@{PYTHON} {SCRIPT}\\n\\t@echo all done\\n' > Makefile; make train"),
        ends=(0,),
        run_state="finished",
        without_client=(None, RAISED),
        needs=("gcc",),  # Who has the one has the other.
    ),
    failing(
        "has locks in a place that is only for reading",
        "begin()\nlog(loss=0.4)\nmultiprocessing.get_context('fork').Lock()\n",
        also=("storage-fault",),
        place=Place(disks=(("/dev/shm", "size=1m,ro"),)),
    ),
]
