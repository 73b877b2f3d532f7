"""Memory that runs out as it does in training code: caches, graphs, frames, queues, workers, neighbours."""

import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

from tests.zoo.cgroups import Cgroup
from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.memory import TAKE, TAKING, limit, starved
from tests.zoo.scene import Scene

KILLED = (-signal.SIGKILL,)
OUT, REFUSED, SHARED = "cgroup-out-of-memory", "allocation-refused", "shared-memory-full"

STAY_BIG = """
from training import begin, mark, stay
begin()
held = bytearray(b"x") * (120 << 20)
mark("big")
stay()
"""


def grown(name: str, body: str, *, mib: int = 220, **more: Any) -> Fault:
    """The training itself reaches its cgroup's limit."""
    program = f"import os, signal, sys, threading, time\nfrom training import begin, log\nbegin()\n{body}\n"
    return Fault(
        name=name,
        program=program,
        **{"ends": KILLED, "state": "crashed", "cause": OUT, "place": limit(mib), **more},
    )


def start_in(cgroup: Cgroup, program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", "-c", f'echo $$ > {cgroup.procs}; exec "$@"', "sh", PYTHON, "-c", program])


def beside(deed: Callable[[Scene, Cgroup], None]) -> Callable[[Scene], None]:
    """With a cgroup next to the training's own, below the same limit."""

    def strike(scene: Scene) -> None:
        assert scene.cgroup is not None
        scene.await_mark("big")
        other = Cgroup(scene.cgroup.path.parent / "other")
        try:
            deed(scene, other)
        finally:
            other.remove()

    return strike


def crowd_out(scene: Scene, other: Cgroup) -> None:
    """The other one takes what is left; the training is the larger one."""
    with start_in(other, "import time\nheld = bytearray(b'x') * (110 << 20)\ntime.sleep(60)") as neighbour:
        try:
            scene.process.wait(20)
        finally:
            neighbour.kill()


def kill_after_neighbours_death(scene: Scene, other: Cgroup) -> None:
    """The other one runs into a limit of its own and dies; a little later somebody kills the training."""
    other.limit_memory(40 * MIB)
    start_in(other, TAKING).wait(20)
    assert other.kills == 1
    time.sleep(1.5)
    scene.kill(signal.SIGKILL)


def terminate(scene: Scene) -> None:
    scene.await_mark("staying")
    time.sleep(0.5)
    scene.kill(signal.SIGTERM)


LOADER = """
import torch
class Dataset(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        {item}
begin()
for batch in torch.utils.data.DataLoader(Dataset(), batch_size=8, num_workers=2):
    log(size=len(batch))
"""

FAULTS = [
    grown(
        "adds up losses of torch with all that they hang on",
        "import torch\nweight = torch.randn(1 << 20, requires_grad=True)\ntotal = 0\nwhile True:\n"
        "    loss = ((weight * 2).sigmoid() ** 2).mean()\n    total = total + loss\n    log(loss=loss.item())",
        mib=600,
        needs=("torch",),
    ),
    grown(
        "collects frames of pandas to join them later",
        "import numpy, pandas\nframes = []\nwhile True:\n"
        "    frames.append(pandas.DataFrame(numpy.random.rand(20_000, 20))); time.sleep(0.01)",
        mib=420,
    ),
    grown(
        "has a producer that is faster than its consumer",
        "import queue\nbatches = queue.Queue()\ndef produce():\n    while True:\n"
        "        batches.put(bytearray(b'x') * (2 << 20)); time.sleep(0.005)\n"
        "threading.Thread(target=produce, daemon=True).start()\nwhile True:\n"
        "    log(size=len(batches.get())); time.sleep(0.2)",
    ),
    grown(
        "remembers every sample that it ever computed",
        "import functools\n@functools.lru_cache(maxsize=None)\ndef features(index):\n"
        "    return [float(index)] * 100_000\n"
        "index = 0\nwhile True:\n    features(index); index += 1",
    ),
    grown(
        "joins arrays that fit one by one",
        "import numpy\nparts = [numpy.ones(1 << 20) for _ in range(12)]\nlog(parts=len(parts)); time.sleep(1.2)\n"
        "numpy.concatenate(parts * 3).sum()",
        mib=260,
    ),
    grown(
        "caught a MemoryError, took half of it, and is killed for memory then",
        "import numpy\ntry:\n    numpy.ones((1 << 22, 1 << 22))\nexcept MemoryError as error:\n"
        "    print('MemoryError:', error, '- halving the batch', file=sys.stderr)\n"
        "for _ in range(30):\n    log(loss=0.4); time.sleep(0.05)\nheld = []\nwhile True:\n"
        "    held.append(numpy.ones(1 << 19)); time.sleep(0.01)",
        mib=260,
    ),
    grown(
        "speaks of the memory of its GPU and uses up its cgroup's",
        "print('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a capacity of '\n"
        "      '79.10 GiB', file=sys.stderr)\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n" + TAKE,
    ),
    grown(
        "leaks as an ordinary user in a directory of its own",
        "os.mkdir('work'); os.chdir('work')\n" + TAKE,
        place=limit(220, is_user=True),
    ),
    grown(
        "leaks under nohup and nice, in a shell",
        TAKE,
        command=("bash", "-c", f"nohup nice -n 5 {PYTHON} {SCRIPT}; echo status $? >&2; exit 3"),
        ends=(3,),
        run_state="failed",
    ),
    Fault(
        name="is killed for memory because a neighbour below the same limit grew",
        program=STAY_BIG,
        ends=KILLED,
        state="crashed",
        cause=OUT,
        strike=beside(crowd_out),
        place=Place(parent_memory_bytes=210 * MIB, memory_bytes=400 * MIB),
    ),
    Fault(
        name="is killed by hand after a neighbour below the same limit died for memory",
        program=STAY_BIG,
        ends=KILLED,
        state="crashed",
        cause="killed",
        strike=beside(kill_after_neighbours_death),
        place=Place(parent_memory_bytes=300 * MIB, memory_bytes=400 * MIB),
    ),
    starved(
        "has a data loader of which a worker takes all memory",
        LOADER.format(item="held = [torch.ones(1 << 20) for _ in range(index * 20)]; return torch.ones(2)"),
        place=limit(900),
        needs=("torch",),
    ),
    starved(
        "has a spawned pool of which a worker takes all memory",
        "def work(number):\n    held = [bytearray(b'x') * (4 << 20) for _ in range(200 if number == 4 else 1)]\n"
        "    return len(held)\n"
        "if __name__ == '__main__':\n    begin()\n    context = multiprocessing.get_context('spawn')\n"
        "    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:\n"
        "        print(sum(pool.map(work, range(8))))",
        place=limit(260),
    ),
    starved(
        "lost a child for memory, went on, and is terminated later",
        f"begin()\nprint(subprocess.run([sys.executable, '-c', {TAKING!r}]).returncode)\n"
        "for step in range(60):\n    log(loss=1 / (step + 1)); time.sleep(0.05)\nstay()",
        cause="terminated",
        ends=(-signal.SIGTERM,),
        state="crashed",
        strike=terminate,
        place=limit(230),
    ),
    starved(
        "asks torch for 4 PiB",
        "import torch\nbegin()\nlogits = torch.empty(1 << 50, dtype=torch.float32)",
        cause=REFUSED,
        needs=("torch",),
    ),
    starved(
        "reserves a buffer for each layer up to its address space limit",
        "import numpy\nbegin()\nbuffers = {layer: numpy.zeros((4096, 4096)) for layer in range(96)}",
        cause=REFUSED,
        place=Place(limits=("--as=3000000000",)),
    ),
    starved(
        "hands on the MemoryError of a thread",
        "begin()\nwith concurrent.futures.ThreadPoolExecutor(2) as pool:\n"
        "    print(pool.submit(bytearray, 6 << 30).result())",
        cause=REFUSED,
        place=Place(limits=("--as=4000000000",)),
    ),
    # A library of C++ ends the process because it was refused memory: one is the end, the other the reason.
    starved(
        "has a library of C++ that is refused memory",
        "import ctypes\nopen('index.cc', 'w').write('extern \"C\" void work() { new char[1UL << 50]; }')\n"
        "subprocess.run(['g++', '-O0', '-w', '-shared', '-fPIC', '-o', 'index.so', 'index.cc'], check=True)\nbegin()\n"
        "ctypes.CDLL('./index.so').work()",
        cause=REFUSED,
        also=("aborted",),
        ends=(-signal.SIGABRT,),
        state="crashed",
        needs=("g++",),
    ),
    starved(
        "has a data loader whose batches do not fit into /dev/shm",
        LOADER.format(item="return torch.ones(1 << 19)"),
        cause=SHARED,
        place=Place(disks=(("/dev/shm", "size=8m"),)),
        needs=("torch",),
    ),
    starved(
        "finds /dev/shm full of what an earlier run left there",
        "from multiprocessing import shared_memory\nbegin()\n"
        "subprocess.run('head -c 20M /dev/zero > /dev/shm/torch_1234_leftover', shell=True)\n"
        "block = shared_memory.SharedMemory(create=True, size=1 << 20)\nblock.buf[:] = bytes(1 << 20)",
        cause=SHARED,
        place=Place(disks=(("/dev/shm", "size=16m"),)),
        ends=(-signal.SIGBUS,),
        state="crashed",
    ),
    starved(
        "has a pool of which a worker fills /dev/shm",
        "from multiprocessing import shared_memory\n"
        "def work(number):\n    block = shared_memory.SharedMemory(create=True, size=6 << 20)\n"
        "    block.buf[:] = bytes(6 << 20)\n    return block.name\n"
        "begin()\n"
        "with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork')) as pool:\n"
        "    print(list(pool.map(work, range(10))))",
        cause=SHARED,
        place=Place(disks=(("/dev/shm", "size=16m"),)),
    ),
]
