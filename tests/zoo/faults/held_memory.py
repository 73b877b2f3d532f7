"""Memory that runs out by other routes: other allocators, other processes, other limits."""

import signal
from typing import Any

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.scene import Scene

KILLED = (-signal.SIGKILL,)
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


FAULTS = [
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
]
