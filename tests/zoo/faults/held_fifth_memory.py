"""Memory that is used up by copies nobody meant to make, in helpers, compilers and other languages; and refusals."""

import signal
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import LEFT, RAISED, TORCH, failing, written
from tests.zoo.faults.held_fresh_memory import Guard
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.memory import TAKE, limit

OUT, REFUSED, SHARED = "cgroup-out-of-memory", "allocation-refused", "shared-memory-full"
GUARDED, TERMINATED, KILLED, ABORTED = "userspace-oom-killer", "terminated", "killed", "aborted"


def grown(name: str, body: str, *, mib: int = 260, **more: Any) -> Fault:
    """The training itself is killed at the limit of its cgroup."""
    usual = {"cause": OUT, "ends": (-signal.SIGKILL,), "state": "crashed", "place": limit(mib)}
    return written(name, body, **{**usual, **more})


def starved(name: str, body: str, *, mib: int = 260, **more: Any) -> Fault:
    """Another process of the training is, and the training fails for it."""
    return failing(name, body, **{"cause": OUT, "place": limit(mib), **more})


def refused(name: str, body: str, **more: Any) -> Fault:
    """It asks for memory and does not get it."""
    return failing(name, body, **{"cause": REFUSED, **more})


STEPS = "for step in range(20):\n    log(loss=1 / (step + 1)); time.sleep(0.01)\n"

# A table of numbers that is small as text and large for whoever compiles it.
KERNEL = 'with open("table.cc", "w") as file:\n    file.write("int table[] = {" + "7," * 3_000_000 + "};")\n'

# Runs the rules of a workflow, and has one message for whatever went wrong.
WORKFLOW = """
import subprocess, sys
print("Select jobs to execute...", flush=True)
if subprocess.run(["bash", "-c", f"set -euo pipefail; {sys.executable} {sys.argv[1]}"]).returncode:
    print("Error in rule train:\\n    jobid: 4\\n    output: model.pt\\n    shell:\\n        python train.py\\n"
          "        (command exited with non-zero exit code)\\nExiting because a job execution failed.", flush=True)
    sys.exit(1)
"""

FAULTS = [
    grown(
        "subtracts a row from a column",
        """
        import numpy
        begin()
        predicted, wanted = numpy.zeros((12_000, 1)), numpy.zeros(12_000)
        log(loss=float(((predicted - wanted) ** 2).mean()))
        """,
    ),
    grown(
        "makes a column of each value that a column has",
        """
        import pandas
        begin()
        frame = pandas.DataFrame({"user": range(30_000)})
        log(columns=pandas.get_dummies(frame["user"], dtype="float64").shape[1])
        """,
        mib=320,
    ),
    grown(
        "adds every line to one long text",
        """
        begin()
        text = ["x" * (1 << 20)]
        while True:
            text.append("".join(text)[: 16 << 20])
            log(length=len(text)); time.sleep(0.01)
        """,
    ),
    grown(
        "keeps the attention of every layer to look at it later",
        """
        import torch
        begin()
        kept = []
        for step in range(2000):
            hidden = torch.randn(1, 256, 64)
            kept.append(torch.softmax(hidden @ hidden.transpose(1, 2), -1).expand(8, -1, -1).contiguous())
            log(loss=1 / (step + 1))
        """,
        mib=480,
        needs=TORCH,
    ),
    grown(
        "starts a task for every sample before it waits for one",
        """
        async def load(number):
            await asyncio.sleep(60)
        async def main():
            tasks = [asyncio.create_task(load(number)) for number in range(2_000_000)]
            await asyncio.gather(*tasks)
        begin()
        log(loss=0.5)
        asyncio.run(main())
        """,
        mib=220,
    ),
    grown(
        "lists all orders of ten layers",
        """
        import itertools
        begin()
        orders = list(itertools.permutations(range(10)))
        log(orders=len(orders))
        """,
        mib=240,
    ),
    grown(
        "has a database in memory",
        """
        import sqlite3
        begin()
        store = sqlite3.connect(":memory:")
        store.execute("CREATE TABLE feature (value BLOB)")
        while True:
            store.executemany("INSERT INTO feature VALUES (zeroblob(?))", [(1 << 20,)] * 4)
            log(loss=0.5)
        """,
        mib=220,
    ),
    grown(
        "changes a mapped file of its own without saving it",
        """
        import numpy
        with open("tokens.bin", "wb") as file:
            file.truncate(600 << 20)
        begin()
        tokens = numpy.memmap("tokens.bin", dtype="uint8", mode="c")
        for start in range(0, len(tokens), 4 << 20):
            tokens[start : start + (4 << 20)] += 1
            log(read=start)
        """,
        mib=240,
    ),
    grown(
        "keeps every error with the batch that it came from",
        """
        def train(step):
            batch = bytearray(b"x") * (3 << 20)
            raise ValueError(f"step {step}: bad sample")
        begin()
        errors = []
        for step in range(2000):
            try:
                train(step)
            except ValueError as error:
                errors.append(error)
            log(skipped=len(errors)); time.sleep(0.01)
        """,
    ),
    grown(
        "joins tables in a library of Rust",
        """
        import polars
        begin()
        left = polars.DataFrame({"key": [1] * 6_000, "value": range(6_000)})
        log(rows=left.join(left, on="key").height)
        """,
        mib=420,
    ),
    grown(
        "is killed for memory below a runner of workflows",
        "begin()\n" + TAKE,
        command=(PYTHON, "-c", WORKFLOW, SCRIPT),
        ends=(1,),
        run_state="failed",
    ),
    grown(
        "is killed for memory as a job of a shell that waits for several",
        "begin()\n" + TAKE,
        command=shelled(
            f"sleep 1 & {PYTHON} {SCRIPT} & for job in $(jobs -p); do wait $job || code=$?; done; exit $code"
        ),
        ends=(137,),
        run_state="failed",
    ),
    # Whom Linux takes first is not who grew.
    starved(
        "grows until the helper is killed that is to be killed first",
        """
        begin()
        serve = ("import time; held = bytearray(b'x') * (50 << 20); "
                 "open('/proc/self/oom_score_adj', 'w').write('1000'); print(1, flush=True); time.sleep(20)")
        helper = subprocess.Popen([sys.executable, "-c", serve], stdout=subprocess.PIPE)
        helper.stdout.readline()
        held = []
        while helper.poll() is None:
            held.append(bytearray(b"x") * (1 << 20)); time.sleep(0.005)
        held.clear()
        raise RuntimeError(f"lost the tokenizer server ({helper.returncode})")
        """,
        mib=220,
    ),
    starved(
        "compiles a kernel that its compiler has no memory for",
        KERNEL + 'begin()\nlog(loss=0.5)\nsubprocess.run(["g++", "-O2", "-c", "table.cc"], check=True)\n',
        mib=200,
        needs=("g++",),
    ),
    starved(
        "asks a shell of a shell for what takes all memory",
        """
        begin()
        script = "bash -c '\\"$0\\" -c \\"x = bytearray(b\\\\\\"x\\\\\\") * (900 << 20)\\"' || exit 4" % ()
        code = subprocess.run(["bash", "-c", script.replace("$0", sys.executable)]).returncode
        sys.exit(f"preprocessing failed with {code}" if code else 0)
        """,
    ),
    starved(
        "has a pool of threads of which each runs a tool that needs much",
        """
        def convert(number):
            tool = "import time; x = bytearray(b'x') * (90 << 20); time.sleep(1.5)"
            return subprocess.run([sys.executable, "-c", tool], check=True).returncode
        begin()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            print(list(pool.map(convert, range(4))))
        """,
    ),
    refused(
        "makes an empty table of all users and all items",
        """
        import pandas
        begin()
        log(loss=0.5)
        pandas.DataFrame(0.0, index=range(10_000_000), columns=range(10_000_000))
        """,
    ),
    # The tool says that it is out of memory; it is its limit, not the machine.
    refused(
        "compiles under a limit that its compiler does not fit in",
        KERNEL
        + 'begin()\nlog(loss=0.5)\nsubprocess.run(["bash", "-c", "ulimit -v 300000; g++ -c table.cc"], check=True)\n',
        also=(RAISED,),
        needs=("g++",),
    ),
    refused(
        "wants huge pages, of which nobody set any aside",
        """
        import mmap
        begin()
        log(loss=0.5)
        mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
        """,
        also=(RAISED,),
    ),
    # A limit that the library was given, in the words of a machine that has no more.
    refused(
        "has a database that may not take more than a little",
        """
        import sqlite3
        begin()
        store = sqlite3.connect(":memory:")
        store.execute("PRAGMA hard_heap_limit = 4000000")
        store.execute("CREATE TABLE feature (value BLOB)")
        while True:
            store.execute("INSERT INTO feature VALUES (zeroblob(100000))")
        """,
        also=(RAISED,),
    ),
    refused(
        "unpacks with a limit that its archive does not keep to",
        """
        import lzma
        packed = lzma.compress(bytes(10_000_000), preset=9)
        begin()
        lzma.LZMADecompressor(memlimit=1 << 20).decompress(packed)
        """,
        cause=RAISED,
        also=(REFUSED,),
    ),
    refused(
        "starts a tool in Java whose heap its address space has no room for",
        """
        begin()
        log(loss=0.5)
        subprocess.run(["bash", "-c", "ulimit -v 4000000; java -Xms8g -Xmx8g -version"], check=True)
        """,
        also=(RAISED,),
        needs=("java",),
    ),
    # The engine has a heap of its own, which is full; it aborts for that, with memory left on the machine.
    refused(
        "runs a tool in JavaScript whose heap is small",
        """
        begin()
        log(loss=0.5)
        grow = "const held = []; for (;;) held.push(new Array(10000).fill(held.length))"
        subprocess.run(["node", "--max-old-space-size=20", "-e", grow], check=True)
        """,
        cause=ABORTED,
        also=(REFUSED,),
        needs=("node",),
    ),
    # What it reports is the transport of its ranks; what is full is /dev/shm.
    failing(
        "has no room for the shared segments of its collectives",
        """
        begin()
        log(loss=0.5)
        try:
            with open("/dev/shm/nccl-Zq8w1V", "wb") as file:
                os.posix_fallocate(file.fileno(), 0, 9_637_888)
        except OSError as error:
            raise RuntimeError("NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)\\nLast error:"
                               "\\nError while creating shared memory segment /dev/shm/nccl-Zq8w1V (size 9637888)"
                               ) from error
        """,
        cause=SHARED,
        also=("disk-full",),
        place=Place(disks=(("/dev/shm", "size=4m"),)),
    ),
    written(
        "is killed by systemd-oomd",
        "begin()\nheld = bytearray(b'x') * (60 << 20)\nstay()\n",
        cause=GUARDED,
        also=(KILLED,),
        ends=(-signal.SIGKILL,),
        state="crashed",
        strike=Guard("systemd-oomd", signal.SIGKILL),
    ),
    written(
        "is terminated by nohang",
        "begin()\nheld = bytearray(b'x') * (60 << 20)\nstay()\n",
        cause=GUARDED,
        also=(TERMINATED,),
        ends=(-signal.SIGTERM,),
        state="crashed",
        strike=Guard("nohang", signal.SIGTERM),
    ),
    # Its own rule for how much it may use; nobody else minds.
    failing(
        "leaves with 137 at a limit that it set itself",
        """
        begin()
        held = []
        while int(open("/proc/self/statm").read().split()[1]) * 4096 < 120 << 20:
            held.append(bytearray(b"x") * (1 << 20)); time.sleep(0.005)
        print("Out of memory: resident set above the budget of 120 MiB, exiting", file=sys.stderr, flush=True)
        os._exit(137)
        """,
        cause=LEFT,
        code=137,
        place=limit(300),
    ),
    # It caught what it was refused, and much later meets something else with most of its memory in use.
    failing(
        "was refused memory, used less, and has the wrong number of heads",
        "begin()\ntry:\n    bytearray(1 << 50)\nexcept MemoryError:\n    logging.exception('batch of 512')\n"
        "held = bytearray(b'x') * (120 << 20)\n"
        + STEPS
        + "assert 768 % 7 == 0, 'embed_dim must be divisible by num_heads'\n",
        cause=RAISED,
        place=limit(250),
    ),
]
