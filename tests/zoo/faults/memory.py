"""Memory that runs out: of a cgroup, of an address space, of shared memory."""

import signal
import subprocess

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
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
]
