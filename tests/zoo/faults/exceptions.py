"""Exceptions and exit codes of the program itself, and text that tempts to see more in them."""

from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place

NAN = "for step in range(20):\n    log(loss=0.5 if step < 10 else float('nan'))\n"

RAISED, LEFT = "uncaught-exception", "nonzero-exit"


def failing(name: str, body: str, *, cause: str = RAISED, code: int = 1, **more: Any) -> Fault:
    """A program that ends by itself, badly."""
    imports = "import concurrent.futures, logging, multiprocessing, os, subprocess, sys, threading, time"
    program = f"{imports}\nfrom training import RECORDS, begin, log\nbegin()\n{body}\n"
    return Fault(name=name, program=program, ends=(code,), state="failed", cause=cause, **more)


def diverged(name: str, body: str) -> Fault:
    return failing(name, body, cause="diverged", without_client=("diverged", RAISED))


# Speaks with a server of its own, which goes away in the middle.
RESET = """
import socket, struct
server = socket.create_server(("127.0.0.1", 0))
def serve():
    peer, _ = server.accept()
    peer.recv(10)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.close()
threading.Thread(target=serve).start()
peer = socket.create_connection(server.getsockname())
peer.sendall(b"next batch")
peer.recv(1000)
"""


FAULTS = [
    failing("divides by zero in Python", "accuracy = 1 / 0"),
    failing(
        "misses a key three calls deep",
        "def load(config):\n    return read(config)\n"
        "def read(config):\n    return config['path']\n"
        "try:\n    load({})\nexcept KeyError as error:\n    raise RuntimeError('no data') from error",
    ),
    failing("recurses too deep", "def loss(step):\n    return loss(step + 1)\nloss(0)"),
    failing(
        "raises in a task that is awaited",
        "import asyncio\n"
        "async def fetch():\n    await asyncio.sleep(0.1)\n    raise ConnectionError('no such shard')\n"
        "async def main():\n    await asyncio.gather(fetch(), asyncio.sleep(5))\n"
        "asyncio.run(main())",
    ),
    failing("raises MemoryError itself", "raise MemoryError('my own budget is used up')"),
    failing("leaves with sys.exit(3)", "import sys\nsys.exit(3)", cause="nonzero-exit", code=3),
    failing("leaves with a text", "import sys\nsys.exit('no data found')", cause="nonzero-exit"),
    failing("leaves with os._exit(4)", "import os\nos._exit(4)", cause="nonzero-exit", code=4),
    failing(
        "prints its traceback itself and leaves with 7",
        "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()\nsys.exit(7)",
        cause="nonzero-exit",
        code=7,
    ),
    failing(
        "says that it failed in an except block and raises again",
        "try:\n    [].pop()\nexcept IndexError:\n"
        "    if RECORDS:\n        import holter\n        holter.finish(exit_code=1)\n    raise",
    ),
    failing(
        "says that it failed and then raises",
        "if RECORDS:\n    import holter\n    holter.finish(exit_code=1)\nraise ValueError('the training failed')",
    ),
    failing(
        "says that it failed and leaves",
        "import sys\nif RECORDS:\n    import holter\n    holter.finish(exit_code=2)\nsys.exit(2)",
        cause="nonzero-exit",
        code=2,
    ),
    failing(
        "loses its loss to NaN and asserts",
        f"{NAN}import math\nloss = math.nan\nassert loss == loss, 'loss is not finite'",
        cause="diverged",
        without_client=("diverged", "uncaught-exception"),
    ),
    failing(
        "raises ValueError because its loss became infinite",
        "for step in range(20):\n    log(loss=10.0 ** (step * 20) if step < 15 else float('inf'), lr=0.1)\n"
        "raise ValueError('Input contains NaN, infinity or a value too large')",
        cause="diverged",
        without_client=("diverged", "uncaught-exception"),
    ),
    failing(
        "had NaN long ago and misses a key now",
        "log(loss=float('nan'))\nfor step in range(200):\n    log(loss=0.5)\n{}['validation']",
    ),
    failing(
        "printed CUDA out of memory, caught it, and fails otherwise",
        "import sys\n"
        "print('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB; retrying', file=sys.stderr)\n"
        "log(loss=0.4)\n"
        "raise ValueError('expected 3 channels, got 4')",
    ),
    failing(
        "prints what a killed or crashed program would and leaves with 1",
        "import sys\n"
        "print('Killed', file=sys.stderr)\n"
        "print('Segmentation fault (core dumped)', file=sys.stderr)\n"
        "print('slurmstepd: error: Detected 1 oom-kill event(s)', file=sys.stderr)\n"
        "sys.exit(1)",
        cause="nonzero-exit",
    ),
    failing(
        "read No space left on device in a log file and fails otherwise",
        "print('yesterday: OSError: [Errno 28] No space left on device')\n"
        "raise AttributeError(\"'NoneType' object has no attribute 'shape'\")",
    ),
    failing(
        "raises StopIteration out of its data", "batches = iter([1, 2])\nwhile True:\n    log(batch=next(batches))"
    ),
    failing(
        "raises several exceptions at once",
        "import asyncio\n"
        "async def fetch(number):\n    await asyncio.sleep(0.1)\n    raise ValueError(f'shard {number}')\n"
        "async def main():\n    async with asyncio.TaskGroup() as group:\n"
        "        for number in range(3):\n            group.create_task(fetch(number))\nasyncio.run(main())",
    ),
    failing(
        "raises inside a generator",
        "def batches():\n    yield 1\n    yield [2][5]\nfor batch in batches():\n    log(batch=batch)",
    ),
    failing("reads a configuration that is no JSON", "import json\njson.loads('{\"lr\": 0.1,, }')"),
    failing(
        "imports a module with a mistake",
        "open('model.py', 'w').write('def forward(x:\\n    return x\\n')\nsys.path.insert(0, '.')\nimport model",
    ),
    # A module that is not installed is the environment's mistake as much as the program's.
    failing("imports a module that is not there", "import flash_attention_9", also=("environment-mismatch",)),
    failing(
        "imports a name that this version has not",
        "from numpy import product_of_everything",
        also=("environment-mismatch",),
    ),
    failing(
        "raises what cannot be printed",
        "class Odd(Exception):\n    def __str__(self):\n        raise RuntimeError('no words')\nraise Odd",
    ),
    failing("raises with a message of 4 MB", "raise ValueError('tensor(' + '0.1234, ' * 500_000 + ')')"),
    failing(
        "raises with a message that is not Unicode", "raise KeyError('caf\\udce9 \\x00 \\x1b[31m \\u202e \U0001f480')"
    ),
    failing(
        "raises in a future that is asked for its result",
        "with concurrent.futures.ThreadPoolExecutor(2) as pool:\n    print(pool.submit(int, 'seven').result())",
    ),
    failing(
        "maps over a pool of which a worker raises",
        "def work(number):\n    return 10 // (3 - number)\n"
        "with multiprocessing.get_context('fork').Pool(2) as pool:\n    print(pool.map(work, range(6)))",
    ),
    failing(
        "starts workers without a guard around its main part",
        "with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('spawn')) as pool:\n"
        "    print(list(pool.map(abs, [1])))",
        also=("worker-died",),
    ),
    failing(
        "sends a function to a pool that cannot be pickled",
        "with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('fork')) as pool:\n"
        "    print(pool.submit(lambda: 1).result())",
    ),
    failing("becomes a program that is not there", "os.execvp('no-such-trainer', ['no-such-trainer'])"),
    # `connection-lost` is that of a run to its server; what a program reads its data from may be meant as well.
    failing("loses the connection to its data", RESET, also=("connection-lost",)),
    # Nobody was there to be lost.
    failing(
        "finds nobody at the address of its data",
        "import socket, urllib.request\nprobe = socket.create_server(('127.0.0.1', 0)); port = probe.getsockname()[1]\n"
        "probe.close()\nurllib.request.urlopen(f'http://127.0.0.1:{port}/shard-0')",
        also=("connection-lost",),
    ),
    failing("leaves with sys.exit(True)", "sys.exit(True)", cause=LEFT),
    failing("leaves with sys.exit(259)", "sys.exit(259)", cause=LEFT, code=3),
    failing("leaves with sys.exit(-1)", "sys.exit(-1)", cause=LEFT, code=255),
    failing(
        "leaves with 137 by itself",
        "print('Killed', file=sys.stderr)\nprint('Out of memory: Killed process 4242 (python3)', file=sys.stderr)\n"
        "sys.exit(137)",
        cause=LEFT,
        code=137,
    ),
    failing("leaves with 143 by itself", "os._exit(143)", cause=LEFT, code=143),
    failing(
        "leaves with 2 because of its arguments",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', required=True)\n"
        "parser.parse_args([])",
        cause=LEFT,
        code=2,
    ),
    failing(
        "fails in a shell that says something else",
        "raise IndexError('index 10 is out of bounds')",
        command=("bash", "-c", f"{PYTHON} {SCRIPT} || {{ echo 'Bus error (core dumped)' >&2; exit 1; }}"),
    ),
    diverged(
        "has a gradient that became infinite and gives up",
        "for step in range(30):\n    log(train_loss=2.0 + step, grad_norm=1e3 ** step if step < 25 else float('inf'))\n"
        "raise FloatingPointError('gradient norm is inf')",
    ),
    diverged(
        "samples from probabilities that became NaN",
        "for step in range(50):\n    log(loss=float('nan') if step > 30 else 2.1, lr=0.01)\n"
        "raise RuntimeError('probability tensor contains either `inf`, `nan` or element < 0')",
    ),
    failing(
        "has a figure that never was a number and misses a key",
        "for step in range(50):\n    log(loss=1 / (step + 1), auc=float('nan'))\n{}['validation']",
    ),
    failing(
        "caught a MemoryError long ago and mixes types now",
        "try:\n    raise MemoryError('Unable to allocate 31.2 GiB for an array')\nexcept MemoryError:\n"
        "    logging.exception('batch too large, taking half of it')\n"
        "for step in range(40):\n    log(loss=0.5); time.sleep(0.03)\n'step ' + 41",
    ),
    failing(
        "raises with the words of every other cause",
        "raise ValueError('worker said: Segmentation fault; CUDA out of memory; Too many open files; terminated')",
    ),
    failing(
        "had a child that faulted, went on, and fails otherwise",
        "child = subprocess.run([sys.executable, '-c', 'import ctypes; ctypes.string_at(0)'])\n"
        "print('preview failed with', child.returncode)\n"
        "for step in range(60):\n    log(loss=0.5); time.sleep(0.05)\nraise ValueError('expected 10 classes, got 11')",
    ),
    failing(
        "printed every open file's error and fails otherwise",
        "for _ in range(300):\n    print('OSError: [Errno 24] Too many open files', file=sys.stderr)\n"
        "raise AssertionError",
    ),
    failing(
        "runs out of stack in Python, in a library",
        "import copy\nnested = []\nfor _ in range(5000):\n    nested = [nested]\ncopy.deepcopy(nested)",
    ),
    failing(
        "raises within a small cgroup that is nearly full",
        "held = bytearray(b'x') * (110 << 20)\ntime.sleep(2)\nraise LookupError('unknown optimizer: adamx')",
        place=Place(memory_bytes=230 << 20),
    ),
    failing(
        "fails while it cleans up after another failure",
        "writer = None\ntry:\n    raise OSError(5, 'Input/output error: simulated by a test of the storage layer')\n"
        "except OSError:\n    writer.close()",
    ),
    failing(
        "has a hook that prints one line in place of the traceback",
        "sys.excepthook = lambda kind, error, trace: print(f'ERROR {kind.__name__}: {error}', file=sys.stderr)\n"
        "raise LookupError('no scheduler called cosine_with_restart')",
    ),
    # It is the data that is not finite: nothing that was logged ever was.
    failing(
        "has a column that is not a number and a model that says so",
        "import numpy\nfor step in range(30):\n    log(loss=0.69, auc=0.5)\n"
        "features = numpy.array([[1.0, 2.0], [numpy.nan, 4.0]])\nif not numpy.isfinite(features).all():\n"
        "    raise ValueError('Input X contains NaN. GradientBoosting does not accept missing values encoded as NaN')",
    ),
    failing(
        "raises under make",
        "for step in range(20):\n    log(loss=0.5)\n"
        "raise TypeError(\"AdamW.__init__() got an unexpected keyword argument 'fused_kernels'\")",
        command=("bash", "-c", f"printf 'train:\\n\\t@{PYTHON} {SCRIPT}\\n' > Makefile\nmake train"),
        code=2,
        needs=("gcc",),  # Who has the one has the other.
    ),
]
