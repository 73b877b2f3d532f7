"""Disks, files, threads, sizes and CPU time that are used up where it is hard to see, and ends that only look so."""

import signal
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import RAISED, failing
from tests.zoo.faults.held_fresh_signals import crashed
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.memory import limit

FULL, SHARED, FILES = "disk-full", "shared-memory-full", "too-many-open-files"
TASKS, CPU = "too-many-processes", "cpu-time-limit"
DISK = (("disk", "size=6m"),)


def full(name: str, body: str, **more: Any) -> Fault:
    """It saves to `disk`, below its working directory, until there is no more room."""
    return failing(name, body, cause=FULL, **{"place": Place(disks=DISK), **more})


OPENED = (
    "has a process that saves, which tells it that there is no room",
    "is given a place for its checkpoints that is only for reading",
    "has a library of Rust that may not start its threads",
    "runs a tool that writes a larger file than it may",
    "comes to the end of the CPU time of its shell",
)

FAULTS = [
    full(
        "keeps its features in a table of names on a full disk",
        """
        import dbm.dumb, shelve
        begin()
        with shelve.Shelf(dbm.dumb.open("disk/features", "n")) as features:
            for number in range(400):
                features[f"image-{number}"] = os.urandom(40_000)
        """,
    ),
    # The tool says so and leaves with 2; what is raised is that it did.
    full(
        "sorts with a tool whose temporary files do not fit",
        """
        begin()
        pipeline = "seq 1500000 | sort --reverse --buffer-size=1M --temporary-directory=disk > sorted.txt"
        subprocess.run(["bash", "-o", "pipefail", "-c", pipeline], check=True)
        """,
    ),
    full(
        "has workers that each make directories until there are no more inodes",
        """
        import tempfile
        def unpack(number):
            return [tempfile.mkdtemp(dir="disk", prefix=f"shard-{number}-") for _ in range(40)]
        begin()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(len(pool.map(unpack, range(20))))
        """,
        place=Place(disks=(("disk", "size=6m,nr_inodes=150"),)),
    ),
    # What went wrong in the other process comes back as words.
    full(
        "has a process that saves, which tells it that there is no room",
        """
        def save(requests, answers):
            while True:
                step = requests.get()
                try:
                    with open(f"disk/step-{step}.tmp", "wb") as file:
                        file.write(bytes(2 << 20))
                        os.fsync(file.fileno())
                    os.replace(f"disk/step-{step}.tmp", f"disk/step-{step}.ckpt")
                    answers.put("")
                except OSError as error:
                    answers.put(f"step {step}: {error}")
        begin()
        context = multiprocessing.get_context("fork")
        requests, answers = context.SimpleQueue(), context.SimpleQueue()
        context.Process(target=save, args=(requests, answers), daemon=True).start()
        for step in range(8):
            log(loss=0.5)
            requests.put(step)
            if answer := answers.get():
                raise RuntimeError(f"checkpoint writer failed at {answer}")
        """,
    ),
    # Nothing broke and nothing is full: it may not write there, and never could.
    failing(
        "is given a place for its checkpoints that is only for reading",
        """
        begin()
        for step in range(10):
            log(loss=0.5)
        os.makedirs("disk/checkpoints/epoch-0")
        """,
        place=Place(disks=(("disk", "size=6m,ro"),)),
    ),
    failing(
        "unpacks its data set into /dev/shm, which is too small for it",
        """
        os.mkdir("images")
        for number in range(12):
            open(f"images/{number}.jpg", "wb").write(os.urandom(1 << 20))
        subprocess.run(["tar", "-cf", "images.tar", "images"], check=True)
        begin()
        subprocess.run(["tar", "-C", "/dev/shm", "-xf", "images.tar"], check=True)
        """,
        cause=SHARED,
        also=(FULL,),
        place=Place(disks=(("/dev/shm", "size=4m"),)),
    ),
    failing(
        "shares many small blocks, each of which keeps a file open",
        """
        from multiprocessing import shared_memory
        begin()
        blocks = [shared_memory.SharedMemory(create=True, size=4096) for _ in range(400)]
        """,
        cause=FILES,
        place=Place(limits=("--nofile=160",), disks=(("/dev/shm", "size=32m"),)),
    ),
    failing(
        "has so many files open that it cannot import any more",
        """
        begin()
        shards = []
        with contextlib.suppress(OSError):
            while True:
                shards.append(open("/dev/null", "rb"))
        for step in range(10):
            log(loss=0.5)
        import wave
        """,
        cause=FILES,
        place=Place(limits=("--nofile=150",)),
    ),
    failing(
        "has a library of Rust that may not start its threads",
        """
        begin()
        import polars
        print(polars.DataFrame({"x": [3, 1, 2]}).lazy().group_by("x").len().collect())
        """,
        cause=TASKS,
        place=Place(tasks=60, environ=(("POLARS_MAX_THREADS", "200"),)),
    ),
    # A program of its own, without Python's care for that signal; no cause has the name of this limit.
    failing(
        "runs a tool that writes a larger file than it may",
        """
        begin()
        subprocess.run(["bash", "-c", "ulimit -f 1024; exec head -c 20M /dev/zero > shard.bin"], check=True)
        """,
        cause="worker-died",
        also=(RAISED,),
    ),
    # Nobody sent it and no cause has its name: the nearest one is as good as to say that we don't know.
    crashed(
        "takes the signal for too large a file as C programs do",
        """
        import resource
        begin()
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 20, 4 << 20))
        open("predictions.bin", "wb").write(bytes(16 << 20))
        """,
        number=signal.SIGXFSZ,
        cause="killed",
        also=("unknown",),
        strike=None,
    ),
    # Where there is no time between the warning and the end, there is no warning.
    crashed(
        "comes to the end of the CPU time of its shell",
        """
        begin()
        while True:
            sum(range(10_000))
        """,
        number=signal.SIGKILL,
        cause=CPU,
        ends=(137,),
        run_state="failed",
        command=shelled(f"ulimit -t 3; {PYTHON} {SCRIPT}; exit $?"),
        strike=None,
    ),
    crashed(
        "has used most of its CPU time when somebody kills it",
        """
        begin()
        while time.process_time() < 3.0:
            sum(range(10_000))
        stay()
        """,
        number=signal.SIGKILL,
        cause="killed",
        place=Place(limits=("--cpu=5:8",)),
    ),
    failing(
        "may not write where it wants to, on a disk that is nearly full",
        """
        begin()
        with open("disk/cache.bin", "wb") as file:
            file.write(bytes(5_900_000))
        os.mkdir("disk/shared")
        os.chmod("disk/shared", 0o555)
        for step in range(10):
            log(loss=0.5)
        open("disk/shared/last.ckpt", "wb")
        """,
        place=Place(disks=DISK, is_user=True),
    ),
    # It goes on without the disk; memory is what it dies for.
    crashed(
        "has no room on its disk, keeps its cache in memory, and is killed for that",
        """
        begin()
        kept = []
        for number in range(1000):
            sample = os.urandom(1 << 20)
            try:
                with open(f"disk/{number}.cache", "wb") as file:
                    file.write(sample)
            except OSError as error:
                if not kept:
                    print("caching in memory from here on:", error, file=sys.stderr, flush=True)
                kept.append(sample)
        """,
        number=signal.SIGKILL,
        cause="cgroup-out-of-memory",
        place=limit(220, disks=DISK),
        strike=None,
    ),
]
