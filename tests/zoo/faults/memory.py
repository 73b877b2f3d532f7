"""Memory that runs out: of a cgroup, of an address space, of shared memory."""

import signal
import subprocess
from typing import Any

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.workers import kill_worker
from tests.zoo.scene import Scene

KILLED = (-signal.SIGKILL,)
SMALL = Place(memory_bytes=200 * MIB)

SLOW_LEAK = """
import time
from training import begin, log
begin()
held = []
while True:
    held.append(bytearray(b"x") * (2 << 20))
    log(loss=0.5, kept=len(held))
    time.sleep(0.01)
"""

SUDDEN = """
from training import begin
begin()
batch = bytearray(b"x") * (400 << 20)
"""

GROWING_WORKER = """
import multiprocessing, time
from training import begin

def work():
    held = []
    while True:
        held.append(bytearray(b"x") * (4 << 20))
        time.sleep(0.005)

begin()
worker = multiprocessing.get_context("fork").Process(target=work)
worker.start()
worker.join()
if worker.exitcode:
    raise RuntimeError(f"DataLoader worker (pid(s) {worker.pid}) exited unexpectedly")
"""

POOL = """
import concurrent.futures, multiprocessing, time
from training import begin

def work(number):
    held = []
    while number == 3:
        held.append(bytearray(b"x") * (4 << 20))
        time.sleep(0.005)
    return number

begin()
with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
    print(list(pool.map(work, range(8))))
"""

# Beside the training: a process of the same job that takes what it can get, but is the smaller one.
NEIGHBOUR = "import time; held = bytearray(b'x') * (80 << 20); time.sleep(60)"

BIG_AND_STAYING = """
from training import begin, mark, stay
begin()
held = bytearray(b"x") * (90 << 20)
mark("big")
stay()
"""


def crowd_out(scene: Scene) -> None:
    """Start a neighbour in the training's own cgroup."""
    assert scene.cgroup is not None
    scene.await_mark("big")
    command = ["sh", "-c", f'echo $$ > {scene.cgroup.procs}; exec "$@"', "sh", PYTHON, "-c", NEIGHBOUR]
    with subprocess.Popen(command) as neighbour:
        try:
            scene.process.wait(20)
        finally:
            neighbour.kill()


OUT = "cgroup-out-of-memory"

# What lies in files of memory is not the memory of a process; a scheduler says whom to prefer.
PREFERRED = "open('/proc/self/oom_score_adj', 'w').write('600')\n"

# Grows in a language that knows nothing of us.
PERL = """my @held; while (1) { push @held, "x" x (4 << 20); select undef, undef, undef, 0.01; }"""
C_LEAK = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) { for (;;) { memset(malloc(3 << 20), 1, 3 << 20); usleep(5000); } }
"""

GROW = (
    "def grow():\n    held = []\n    while True:\n        held.append(bytearray(b'x') * (3 << 20)); time.sleep(0.005)\n"
)

SUPERVISOR = (
    "import subprocess, sys\ncode = subprocess.run([sys.executable, sys.argv[1]]).returncode\n"
    "print('training left with', code); sys.exit(1 if code else 0)"
)


def kill_main(scene: Scene) -> None:
    scene.await_mark("staying")
    scene.kill(signal.SIGKILL)


def grown(name: str, body: str, *, mib: int = 220, **more: Any) -> Fault:
    """The training itself reaches its cgroup's limit."""
    usual = {"place": Place(memory_bytes=mib * MIB), "ends": KILLED, "state": "crashed"}
    program = f"import time\nfrom training import begin, log\nbegin()\n{body}\n"
    return Fault(name=name, program=program, cause=OUT, **{**usual, **more})


def child(name: str, body: str, *, cause: str = OUT, place: Place | None = None, **more: Any) -> Fault:
    """Another process of the training does, and the training fails for it."""
    usual = {"place": place or Place(memory_bytes=230 * MIB), "ends": (1,), "state": "failed"}
    program = (
        f"import multiprocessing, os, subprocess, sys, time\nfrom training import begin, log, mark, stay\n{body}\n"
    )
    return Fault(name=name, program=program, cause=cause, **{**usual, **more})


TAKE = "held = []\nwhile True:\n    held.append(bytearray(b'x') * (3 << 20)); time.sleep(0.005)\n"
TAKING = "import time\n" + TAKE


def limit(mib: int, **more: Any) -> Place:
    return Place(memory_bytes=mib * MIB, **more)


def starved(name: str, body: str, *, cause: str = "cgroup-out-of-memory", **more: Any) -> Fault:
    """It, or a process of its own, gets no memory, and it fails by itself."""
    imports = "import concurrent.futures, multiprocessing, os, resource, subprocess, sys, threading, time"
    program = f"{imports}\nfrom training import begin, log, mark, stay\n{body}\n"
    return Fault(name=name, program=program, **{"ends": (1,), "state": "failed", "cause": cause, **more})


FAULTS = [
    Fault(
        name="leaks slowly up to its cgroup's limit",
        program=SLOW_LEAK,
        ends=KILLED,
        state="crashed",
        cause="cgroup-out-of-memory",
        place=SMALL,
    ),
    Fault(
        name="asks at once for more than its cgroup has",
        program=SUDDEN,
        ends=KILLED,
        state="crashed",
        cause="cgroup-out-of-memory",
        place=SMALL,
    ),
    Fault(
        name="has a worker that grows up to the cgroup's limit",
        program=GROWING_WORKER,
        ends=(1,),
        state="failed",
        cause="cgroup-out-of-memory",
        place=SMALL,
    ),
    Fault(
        name="has a process pool of which one grows up to the cgroup's limit",
        program=POOL,
        ends=(1,),
        state="failed",
        cause="cgroup-out-of-memory",
        place=SMALL,
    ),
    Fault(
        name="leaks as the child of a shell that goes on",
        program=SLOW_LEAK,
        command=("bash", "-c", f'{PYTHON} {SCRIPT}; code=$?; echo "training left with $code"; exit $code'),
        ends=(137,),
        state="crashed",
        run_state="failed",
        cause="cgroup-out-of-memory",
        place=SMALL,
    ),
    Fault(
        name="leaks up to the limit of the cgroup above its own",
        program=SLOW_LEAK,
        ends=KILLED,
        state="crashed",
        cause="cgroup-out-of-memory",
        place=Place(parent_memory_bytes=160 * MIB, memory_bytes=280 * MIB),
    ),
    Fault(
        name="is killed for memory because a neighbour in its cgroup grew",
        program=BIG_AND_STAYING,
        ends=KILLED,
        state="crashed",
        cause="cgroup-out-of-memory",
        strike=crowd_out,
        place=Place(memory_bytes=165 * MIB),
    ),
    Fault(
        name="gets a MemoryError at its address space limit",
        program="""
        from training import begin, log
        begin()
        held = []
        while True:
            held.append(bytearray(16 << 20))
            log(kept=len(held))
        """,
        ends=(1,),
        state="failed",
        cause="allocation-refused",
        place=Place(limits=("--as=1500000000",)),
    ),
    Fault(
        name="gets numpy's error at its address space limit",
        program="""
        import numpy
        from training import begin
        begin()
        activations = numpy.zeros((1024, 1024, 512), dtype=numpy.float64)
        """,
        ends=(1,),
        state="failed",
        cause="allocation-refused",
        place=Place(limits=("--as=3000000000",)),
    ),
    Fault(
        name="asks numpy for 32 TiB",
        program="""
        import numpy
        from training import begin
        begin()
        matrix = numpy.ones((2_097_152, 2_097_152))
        """,
        ends=(1,),
        state="failed",
        cause="allocation-refused",
    ),
    Fault(
        name="fills a small /dev/shm through a shared memory block",
        program="""
        from multiprocessing import shared_memory
        from training import begin
        begin()
        block = shared_memory.SharedMemory(create=True, size=64 << 20)
        block.buf[:] = bytes(64 << 20)
        """,
        ends=(-signal.SIGBUS,),
        state="crashed",
        cause="shared-memory-full",
        place=Place(disks=(("/dev/shm", "size=8m"),)),
    ),
    Fault(
        name="has torch share tensors in a small /dev/shm",
        program="""
        import torch
        from training import begin
        begin()
        torch.multiprocessing.set_sharing_strategy("file_system")
        tensors = [torch.zeros(1 << 20).share_memory_() for _ in range(16)]
        """,
        ends=(1, -signal.SIGBUS),
        state="failed",
        cause="shared-memory-full",
        place=Place(disks=(("/dev/shm", "size=8m"),)),
        needs=("torch",),
    ),
    grown(
        "collects arrays of numpy up to its cgroup's limit",
        "import numpy\nheld = []\nwhile True:\n    held.append(numpy.ones(1 << 20)); time.sleep(0.05)",
        mib=260,
    ),
    grown(
        "writes to more of an anonymous map than its cgroup has",
        "import mmap\nscratch = mmap.mmap(-1, 1 << 30)\nfor page in range(0, 1 << 30, 4096):\n    scratch[page] = 1",
    ),
    grown(
        "keeps every row of its history in a list of small objects",
        "history = []\nwhile True:\n    history.append({'step': len(history), 'loss': str(len(history))})",
        mib=150,
    ),
    grown(
        "keeps files in memory until its cgroup is full",
        PREFERRED + "for number in range(1000):\n"
        "    open(f'cache/shard-{number}', 'wb').write(bytes(4 << 20)); time.sleep(0.01)",
        place=Place(memory_bytes=240 * MIB, disks=(("cache", "size=1g"),)),
    ),
    grown(
        "shares more memory than its cgroup has",
        PREFERRED + "from multiprocessing import shared_memory\nblocks = []\nwhile True:\n"
        "    blocks.append(shared_memory.SharedMemory(create=True, size=8 << 20))\n"
        "    blocks[-1].buf[:] = bytes(8 << 20); time.sleep(0.02)",
        place=Place(memory_bytes=240 * MIB, disks=(("/dev/shm", "size=1g"),)),
    ),
    grown(
        "leaks in a thread while the main thread waits",
        f"import threading\n{GROW}thread = threading.Thread(target=grow)\nthread.start()\nthread.join()",
        mib=180,
    ),
    grown(
        "leaks under a script that supervises it",
        f"{GROW}grow()",
        command=(PYTHON, "-c", SUPERVISOR, SCRIPT),
        ends=(1,),
        run_state="failed",
    ),
    child(
        "runs a program in C that takes all memory",
        f"open('leak.c', 'w').write({C_LEAK!r})\nsubprocess.run(['gcc', '-o', 'leak', 'leak.c'], check=True)\nbegin()\n"
        "subprocess.run(['./leak'], check=True)",
        needs=("gcc",),
    ),
    child(
        "runs a pipeline of a shell in which Perl takes all memory",
        "begin()\nscript = 'perl -e \"$0\" | cat > /dev/null; exit ${PIPESTATUS[0]}'\n"
        f"pipeline = subprocess.run(['bash', '-c', script, {PERL!r}])\n"
        "if pipeline.returncode:\n    raise RuntimeError('preprocessing failed')",
        needs=("perl",),
    ),
    child(
        "has a worker whose own child takes all memory",
        f"{GROW}"
        "def work():\n    pid = os.fork()\n    if pid == 0:\n        grow()\n    sys.exit(os.waitpid(pid, 0)[1] != 0)\n"
        "begin()\nworker = multiprocessing.get_context('fork').Process(target=work)\nworker.start()\nworker.join()\n"
        "assert worker.exitcode == 0, 'the tokenizer did not finish'",
    ),
    child(
        "waits for a pool of which a worker was killed for memory",
        f"{GROW}def work(number):\n    return grow() if number == 2 else number\nbegin()\n"
        "pool = multiprocessing.get_context('fork').Pool(2)\n"
        "print(pool.map_async(work, range(4)).get(timeout=8))",
    ),
    child(
        "waits for batches of a loader that was killed for memory",
        f"{GROW}def load(queue):\n    queue.put(1)\n    grow()\nbegin()\n"
        "context = multiprocessing.get_context('fork')\n"
        "queue = context.Queue()\ncontext.Process(target=load, args=(queue,), daemon=True).start()\n"
        "while True:\n    log(batch=queue.get(timeout=6))",
    ),
    child(
        "forks more workers than its memory allows",
        "def work():\n    held = bytearray(b'x') * (70 << 20)\n    time.sleep(8)\n"
        "begin()\nworkers = [multiprocessing.get_context('fork').Process(target=work) for _ in range(6)]\n"
        "for worker in workers:\n    worker.start(); time.sleep(0.1)\nfor worker in workers:\n    worker.join()\n"
        "if any(worker.exitcode for worker in workers):\n    sys.exit('a worker is missing')",
    ),
    child(
        "tolerates a child that was killed for memory and misses a key much later",
        f"{GROW}begin()\n"
        "worker = multiprocessing.get_context('fork').Process(target=grow)\nworker.start()\nworker.join()\n"
        "print('worker exited with', worker.exitcode, 'going on without it')\n"
        "for step in range(80):\n    log(loss=1 / (step + 1)); time.sleep(0.05)\n{}['labels']",
        cause="uncaught-exception",
    ),
    child(
        "lost a child for memory and is killed by hand much later",
        f"{GROW}begin()\n"
        "worker = multiprocessing.get_context('fork').Process(target=grow)\nworker.start()\nworker.join()\n"
        "for step in range(60):\n    log(loss=1 / (step + 1)); time.sleep(0.05)\nstay()",
        cause="killed",
        ends=KILLED,
        state="crashed",
        strike=kill_main,
    ),
    child(
        "reaches the limit of its data segment",
        "import resource\nbegin()\nresource.setrlimit(resource.RLIMIT_DATA, (900 << 20, 900 << 20))\nheld = []\n"
        "while True:\n    held.append(bytearray(32 << 20))",
        cause="allocation-refused",
        place=Place(),
    ),
    child(
        "maps more memory than its address space may have",
        "import mmap\nbegin()\nindex = mmap.mmap(-1, 16 << 30)",
        cause="allocation-refused",
        place=Place(limits=("--as=4000000000",)),
    ),
    child(
        "asks for a list of 8 PiB", "begin()\nweights = [0.0] * (1 << 50)", cause="allocation-refused", place=Place()
    ),
    child(
        "has a pool of which a worker gets a MemoryError",
        "import concurrent.futures, resource\n"
        "def work(number):\n    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "    return len(bytearray(3 << 30))\nbegin()\n"
        "with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context('fork')) as pool:\n"
        "    print(list(pool.map(work, range(2))))",
        cause="allocation-refused",
        place=Place(),
    ),
    # It aborts because it was refused memory: one is the end, the other the reason.
    child(
        "runs a program in C++ that is refused memory",
        "open('big.cc', 'w').write('int main() { for (;;) new char[64 << 20](); }')\n"
        "subprocess.run(['g++', '-O0', '-o', 'big', 'big.cc'], check=True)\nbegin()\n"
        "subprocess.run(['prlimit', '--as=1000000000', './big'], check=True)",
        cause="allocation-refused",
        also=("aborted",),
        place=Place(),
        needs=("g++",),
    ),
    child(
        "maps an array into a small /dev/shm",
        "import numpy\nbegin()\ncache = numpy.memmap('/dev/shm/cache', dtype='uint8', mode='w+', shape=(40 << 20,))\n"
        "cache[:] = 7",
        cause="shared-memory-full",
        place=Place(disks=(("/dev/shm", "size=16m"),)),
        ends=(-signal.SIGBUS,),
        state="crashed",
    ),
    # A file there is refused for want of room, as on any disk.
    child(
        "writes a file that is larger than /dev/shm",
        "begin()\nopen('/dev/shm/tokens.bin', 'wb').write(bytes(24 << 20))",
        cause="shared-memory-full",
        also=("disk-full",),
        place=Place(disks=(("/dev/shm", "size=16m"),)),
    ),
    starved(
        "runs a shell that runs a script that takes all memory",
        f"begin()\nopen('prepare.py', 'w').write({TAKING!r})\n"
        "pipeline = 'set -o pipefail; \"$0\" prepare.py | tee prepare.log'\n"
        "subprocess.run(['bash', '-c', pipeline, sys.executable], check=True)",
        place=limit(230),
    ),
    starved(
        "has a worker that somebody kills at 80 % of the memory limit",
        "def work():\n    held = bytearray(b'x') * (90 << 20)\n    time.sleep(1.5)\n    mark('worker', os.getpid())\n"
        "    time.sleep(30)\nbegin()\nworker = multiprocessing.get_context('fork').Process(target=work)\n"
        "worker.start()\nworker.join()\nif worker.exitcode:\n"
        "    raise RuntimeError('the loader is gone, out of memory?')",
        cause="killed",
        strike=kill_worker,
        place=limit(220),
    ),
    # Each thread wants a stack; there is room for many more threads, but not for their stacks.
    starved(
        "cannot start a thread because there is no room for its stack",
        "begin()\nthreading.stack_size(512 << 20)\n"
        "for _ in range(16):\n    threading.Thread(target=time.sleep, args=(20,), daemon=True).start()",
        cause="allocation-refused",
        place=Place(limits=("--as=3000000000",)),
    ),
    starved(
        "has a child that changes what it inherited, page by page",
        "begin()\ntable = bytearray(b'x') * (70 << 20)\npid = os.fork()\nif pid == 0:\n"
        "    for page in range(0, len(table), 4096):\n        table[page] = 1\n"
        "    more = bytearray(b'y') * (150 << 20)\n    os._exit(0)\n"
        "code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
        "if code:\n    raise ChildProcessError(f'augmentation ended with {code}')",
        place=limit(250),
    ),
    starved(
        "leaves with 5 because its indexer was killed for memory",
        f"begin()\nindexer = subprocess.run([sys.executable, '-c', {TAKING!r}])\n"
        "if indexer.returncode:\n    print('indexing failed, see indexer.log')\n    sys.exit(5)",
        place=limit(230),
        ends=(5,),
    ),
    starved(
        "is killed for memory within a limit of time that it would have kept",
        "begin()\nheld = []\nwhile True:\n    held.append(bytearray(b'x') * (2 << 20)); time.sleep(0.01)",
        place=limit(240),
        command=("timeout", "60", PYTHON, SCRIPT),
        ends=(*KILLED, 137),
        state="crashed",
    ),
    child(
        "reads a table with little address space left",
        "import resource\nimport pandas\nwith open('train.csv', 'w') as file:\n"
        "    file.write('0.123456789,0.987654321,some text that repeats\\n' * 1_200_000)\nbegin()\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * 4096\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (40 << 20),) * 2)\n"
        "pandas.read_csv('train.csv', low_memory=False)",
        cause="allocation-refused",
        place=Place(),
    ),
]
