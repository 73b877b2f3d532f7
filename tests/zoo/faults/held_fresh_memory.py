"""Memory that is gone for reasons of everyday work: copies, joins, unpacking, tools, servers, limits of a shell."""

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import LEFT, RAISED, TORCH, failing, written
from tests.zoo.faults.held_fresh_wrappers import HYDRA, shelled
from tests.zoo.faults.memory import TAKE, limit
from tests.zoo.faults.native import compiled
from tests.zoo.scene import Scene

OUT, REFUSED, SHARED = "cgroup-out-of-memory", "allocation-refused", "shared-memory-full"
KILLED = (-signal.SIGKILL,)
ADDRESS_SPACE = Place(limits=("--as=3000000000",))


def grown(name: str, body: str, *, mib: int = 240, **more: Any) -> Fault:
    """The training itself is killed at the limit of its cgroup."""
    usual = {"ends": KILLED, "state": "crashed", "place": limit(mib)}
    return written(name, body, cause=OUT, **{**usual, **more})


def refused(name: str, body: str, **more: Any) -> Fault:
    """It asks for memory, does not get it, and fails."""
    return failing(name, body, **{"cause": REFUSED, **more})


def unshared(name: str, body: str, *, options: str, **more: Any) -> Fault:
    """It finds no room in /dev/shm, which is refused in the words of a full disk."""
    place = Place(disks=(("/dev/shm", options),))
    return failing(name, body, cause=SHARED, place=place, also=("disk-full",), **more)


def lowered(option: str) -> Callable[[Scene], None]:
    """Somebody of the same user gives it another limit while it works."""

    def strike(scene: Scene) -> None:
        scene.await_mark("working")
        time.sleep(0.4)
        uid = Path(f"/proc/{scene.pid}").stat().st_uid
        command = ["prlimit", "--pid", str(scene.pid), option]
        subprocess.run(command, check=True, user=uid, group=uid, extra_groups=())

    return strike


class Guard:
    """A program of that name looks at the memory of the training and ends it."""

    def __init__(self, name: str, number: int) -> None:
        self._name = name
        self._number = number

    def __call__(self, scene: Scene) -> None:
        """Strike."""
        scene.await_mark("staying")
        program = scene.stage / self._name
        text = (
            f"#!/bin/bash\nrss=$(awk '/VmRSS/ {{print $2}}' /proc/{scene.pid}/status)\n"
            f'echo "mem avail low, sending signal {self._number} to {scene.pid}: VmRSS $rss KiB"\n'
            f"sleep 0.5\nkill -{self._number} {scene.pid}\nsleep 0.5\n"
        )
        # Another process writes it: who forks meanwhile would keep it open, and what is written to cannot be run.
        subprocess.run(["install", "--mode=755", "/dev/stdin", program], input=text.encode(), check=True)
        subprocess.run([program], check=True, stdout=subprocess.DEVNULL)


# Answers with what it was sent, until it is told to grow.
SERVER = """
import os, socket, time
server = socket.socket(socket.AF_UNIX)
server.bind(os.environ["ZOO_STAGE"] + "/features")
server.listen()
peer = server.accept()[0]
held = []
while (word := peer.recv(4)):
    while word == b"grow":
        held.append(bytearray(b"x") * (4 << 20)); time.sleep(0.01)
    peer.sendall(word)
"""

FAULTS = [
    grown(
        "unpacks what is far larger than it looks",
        """
        import zlib
        packer = zlib.compressobj(1)
        packed = b"".join([packer.compress(bytes(1 << 20)) for _ in range(700)]) + packer.flush()
        begin()
        log(packed=len(packed))
        print(len(zlib.decompress(packed)))
        """,
    ),
    grown(
        "copies its weights for a moving average",
        """
        import copy
        begin()
        weights = {layer: bytearray(b"x") * (2 << 20) for layer in range(60)}
        for step in range(40):
            log(loss=0.5); time.sleep(0.03)
        average = copy.deepcopy(weights)
        """,
    ),
    grown(
        "loads annotations that are larger as objects",
        """
        import json
        with open("annotations.json", "w") as file:
            file.write("[" + ",".join(['{"id": "box", "box": [1.5, 2.5, 3.5, 4.5]}'] * 400_000) + "]")
        begin()
        annotations = json.load(open("annotations.json"))
        print(len(annotations))
        """,
        mib=200,
    ),
    # The map alone would be given back page by page.
    grown(
        "reads a large file by map and then makes a list of it",
        """
        import mmap
        with open("tokens.bin", "wb") as file:
            file.truncate(400 << 20)
        begin()
        file = open("tokens.bin", "rb")
        tokens = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        for offset in range(0, len(tokens), 4096):
            tokens[offset]
        for step in range(30):
            log(loss=0.5); time.sleep(0.03)
        ids = []
        for start in range(0, len(tokens), 1 << 20):
            ids += tokens[start : start + (1 << 20)]
        """,
    ),
    compiled(
        "has a library of C that forgets what it took",
        signal.SIGKILL,
        "#include <stdlib.h>\n#include <string.h>\nvoid decode(int n) { memset(malloc(n), 7, n); }",
        cause=OUT,
        call="while True:\n    kernels.decode(2 << 20); log(loss=0.2); time.sleep(0.01)",
        place=limit(220),
    ),
    grown(
        "keeps its cache in files that have no name",
        """
        begin()
        model = bytearray(b"x") * (60 << 20)
        files = []
        while True:
            files.append(os.memfd_create("cache"))
            os.write(files[-1], bytes(4 << 20))
            time.sleep(0.02)
        """,
    ),
    # It is the largest process when a small one fills memory that belongs to no process.
    grown(
        "has a program that copies to a disk made of memory",
        """
        begin()
        model = bytearray(b"x") * (90 << 20)
        with open("scratch/epoch.tar", "wb") as file:
            subprocess.run(["head", "-c", "150M", "/dev/zero"], stdout=file)
        for step in range(40):
            log(loss=0.5); time.sleep(0.03)
        """,
        place=limit(240, disks=(("scratch", "size=1g"),)),
    ),
    grown(
        "has twenty threads that each keep a little",
        """
        def cache():
            kept = []
            while True:
                kept.append(os.urandom(300_000)); time.sleep(0.05)
        begin()
        threads = [threading.Thread(target=cache) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        """,
    ),
    grown(
        "joins tables on a key that comes again and again",
        """
        import pandas
        begin()
        left = pandas.DataFrame({"user": [7] * 9000, "clicks": range(9000)})
        right = pandas.DataFrame({"user": [7] * 9000, "views": range(9000)})
        print(len(left.merge(right, on="user")))
        """,
        mib=420,
    ),
    grown(
        "had a loss of NaN for long when its memory is over",
        """
        begin()
        for step in range(100):
            log(loss=float("nan"), grad_norm=float("inf")); time.sleep(0.01)
        """
        + TAKE.replace("\n", "\n        "),
    ),
    grown(
        "is killed for memory while helpers of its own live on",
        """
        begin()
        for _ in range(2):
            if os.fork() == 0:
                time.sleep(6); os._exit(0)
        held = []
        while True:
            held.append(bytearray(b"x") * (2 << 20)); time.sleep(0.01)
        """,
    ),
    # The pool puts another worker in its place and says nothing; the result never comes.
    failing(
        "waits for a result of a worker that was killed for memory",
        """
        def embed(number):
            held = []
            while number == 2:
                held.append(bytearray(b"x") * (4 << 20)); time.sleep(0.01)
            return number
        begin()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map_async(embed, range(4), chunksize=1).get(timeout=9))
        """,
        cause=OUT,
        place=limit(240),
    ),
    failing(
        "sorts with a tool what does not fit",
        """
        begin()
        line = "x" * 2000
        pipeline = f"yes {line} | head -c 700M | sort --buffer-size=1G > sorted.txt"
        subprocess.run(["bash", "-c", pipeline], check=True)
        """,
        cause=OUT,
        place=limit(240),
    ),
    # What it raises is that the other side is gone; the other side, which is no child of it, was killed for memory.
    failing(
        "asks a server of features that is killed for memory",
        """
        import socket
        begin()
        peer = socket.socket(socket.AF_UNIX)
        while peer.connect_ex(os.environ["ZOO_STAGE"] + "/features"):
            time.sleep(0.01)
        for step in range(40):
            peer.sendall(b"next" if step < 30 else b"grow")
            if not peer.recv(4):
                raise ConnectionError("feature server closed the connection")
            log(loss=0.5)
        """,
        cause=OUT,
        also=(RAISED,),
        place=limit(260),
        command=shelled(f"{PYTHON} -c '{SERVER}' & {PYTHON} {SCRIPT}"),
    ),
    failing(
        "fills its cgroup with what it reads and fails for its arguments",
        """
        with open("shard.bin", "wb") as file:
            file.truncate(500 << 20)
        begin()
        with open("shard.bin", "rb") as file:
            while file.read(1 << 20):
                pass
        for step in range(30):
            log(loss=0.5); time.sleep(0.03)
        int("12", base=99)
        """,
        place=limit(180),
    ),
    refused(
        "asks torch for more than its shell allows",
        """
        import torch
        begin()
        torch.zeros(6 << 30, dtype=torch.float32)
        """,
        command=shelled(f"ulimit -v 12000000; exec {PYTHON} {SCRIPT}"),
        needs=TORCH,
    ),
    refused(
        "asks Arrow for a buffer that nobody has",
        """
        import pyarrow
        begin()
        pyarrow.allocate_buffer(1 << 49)
        """,
    ),
    # There is memory enough; there may be no more maps.
    refused(
        "maps more pieces than the system allows",
        """
        import mmap
        begin()
        pieces = []
        while True:
            pieces.append(mmap.mmap(-1, 4096))
        """,
    ),
    refused(
        "may not lock as much memory as it wants to pin",
        """
        import mmap
        begin()
        buffer = mmap.mmap(-1, 16 << 20)
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(16 << 20)):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), "pin_memory")
        """,
        place=Place(is_user=True, limits=("--memlock=65536",)),
        also=(RAISED,),
    ),
    # It was caught and told; it leaves for want of memory all the same.
    refused(
        "is refused memory in a job of a configuration framework",
        HYDRA
        + """
@main
def train(config):
    import numpy
    begin()
    log(loss=0.6)
    numpy.ones((96, 4096, 4096))
train()
""",
        place=ADDRESS_SPACE,
        also=(LEFT,),
    ),
    refused(
        "is refused memory and takes it for the GPU's",
        """
        import numpy
        begin()
        try:
            cache = numpy.full((64, 2048, 8192), 0.5)
        except MemoryError as error:
            raise RuntimeError("CUDA out of memory? Reduce per_device_train_batch_size") from error
        """,
        place=ADDRESS_SPACE,
    ),
    # It hides its reason on purpose.
    refused(
        "collects garbage, tries again, and gives up in its own words",
        """
        import gc
        import numpy
        begin()
        held = []
        for attempt in range(4):
            try:
                while True:
                    held.append(numpy.zeros(25 << 20))
            except MemoryError:
                print(f"attempt {attempt}: collected {gc.collect()} objects, trying again")
                if attempt == 3:
                    raise RuntimeError("could not build the index") from None
        """,
        place=ADDRESS_SPACE,
        also=(RAISED,),
    ),
    refused(
        "grows while somebody takes its address space away",
        """
        begin()
        mark("working")
        held = []
        for step in range(600):
            held.append(bytearray(2 << 20)); log(kept=step); time.sleep(0.03)
        """,
        strike=lowered("--as=300000000"),
    ),
    unshared(
        "makes a lock where an earlier run left no room",
        """
        begin()
        leftover = os.open("/dev/shm/sem.leftover", os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while True:
                os.write(leftover, bytes(4096))
        lock = multiprocessing.Lock()
        """,
        options="size=256k",
    ),
    unshared(
        "makes more queues than /dev/shm has names for",
        """
        begin()
        queues = [multiprocessing.Queue() for _ in range(100)]
        """,
        options="size=4m,nr_inodes=60",
    ),
    unshared(
        "reserves an object store that /dev/shm has no room for",
        """
        begin()
        store = os.open("/dev/shm/plasma", os.O_RDWR | os.O_CREAT)
        os.posix_fallocate(store, 0, 96 << 20)
        """,
        options="size=32m",
    ),
    # It has the name of one that is known, and does as that one does.
    written(
        "is terminated by earlyoom",
        "begin()\nheld = bytearray(b'x') * (150 << 20)\nstay()\n",
        cause="userspace-oom-killer",
        also=("terminated",),
        ends=(-signal.SIGTERM,),
        state="crashed",
        strike=Guard("earlyoom", signal.SIGTERM),
    ),
    # Somebody's own script: what it did is known, why it did it only to itself.
    written(
        "is killed by a script that looks after the memory",
        "begin()\nheld = bytearray(b'x') * (150 << 20)\nstay()\n",
        cause="killed",
        also=("userspace-oom-killer",),
        ends=KILLED,
        state="crashed",
        strike=Guard("memguard.sh", signal.SIGKILL),
        place=Place(memory_bytes=600 * MIB),
    ),
]
