"""Disks, inodes, files, threads, sizes and CPU time that are used up, behind tools, runtimes and threads."""

import signal
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import RAISED, TORCH, failing
from tests.zoo.faults.held_fresh_native import ABORTED, built
from tests.zoo.faults.held_fresh_wrappers import shelled

FULL, SHARED, FILES = "disk-full", "shared-memory-full", "too-many-open-files"
TASKS, CPU = "too-many-processes", "cpu-time-limit"
DISK = Place(disks=(("disk", "size=5m"),))
FEW_FILES = Place(limits=("--nofile=160",))


def full(name: str, body: str, **more: Any) -> Fault:
    """It saves to `disk`, below its working directory, until there is no more room."""
    return failing(name, body, **{"cause": FULL, "place": DISK, **more})


COPY = r"""
#include <filesystem>
extern "C" void work() { std::filesystem::copy_file("best.ckpt", "disk/best.ckpt"); }
"""

# A hundred threads that only wait.
THREADS = """
public class Threads {
    public static void main(String[] words) throws Exception {
        for (int i = 0; i < 400; i++) {
            Thread thread = new Thread(() -> { try { Thread.sleep(9000); } catch (InterruptedException e) { } });
            thread.setDaemon(true);
            thread.start();
        }
    }
}
"""

FAULTS = [
    full(
        "unpacks an archive of many small files",
        """
        import io, tarfile
        with tarfile.open("data.tar", "w") as archive:
            for number in range(400):
                archive.addfile(tarfile.TarInfo(f"sample-{number}.txt"), io.BytesIO())
        begin()
        tarfile.open("data.tar").extractall("disk", filter="data")
        """,
        place=Place(disks=(("disk", "size=5m,nr_inodes=120"),)),
    ),
    # Whatever is written there finds no room, for which somebody once used it as a test.
    full(
        "saves to a device that is always full",
        'begin()\nlog(loss=0.5)\nos.symlink("/dev/full", "last.ckpt")\nopen("last.ckpt", "wb").write(bytes(1 << 20))\n',
        also=(RAISED,),
        place=Place(),
    ),
    full(
        "has a file server that counts what each user may keep, and says so",
        """
        class Upload:
            def write(self, block):
                raise OSError(errno.EDQUOT, "Disk quota exceeded", "/mnt/nfs/home/anna/epoch-3.ckpt")
        import shutil
        begin()
        log(loss=0.5)
        shutil.copyfileobj(open(__file__, "rb"), Upload())
        """,
        also=(RAISED,),
        place=Place(),
    ),
    full(
        "streams what it logs to a tool that stores it",
        """
        begin()
        store = subprocess.Popen(["dd", "of=disk/events.bin", "bs=64k", "iflag=fullblock"], stdin=subprocess.PIPE)
        try:
            for step in range(400):
                store.stdin.write(os.urandom(100_000))
            store.stdin.close()
        except BrokenPipeError:
            pass
        if store.wait():
            sys.exit(f"events are lost: dd left with {store.returncode}")
        """,
    ),
    full(
        "closes a file whose last block does not fit",
        """
        begin()
        os.posix_fallocate(os.open("disk/other.bin", os.O_CREAT | os.O_WRONLY), 0, 5 << 20)
        table = open("disk/metrics.csv", "w")
        table.write("step,loss\\n")
        for step in range(20):
            log(loss=1 / (step + 1)); table.write(f"{step},{1 / (step + 1)}\\n")
        table.close()
        """,
    ),
    full(
        "synchronizes its cache with a task of its event loop",
        """
        async def keep():
            with open("disk/cache.bin", "wb") as file:
                while True:
                    await asyncio.to_thread(file.write, os.urandom(300_000))
        async def main():
            async with asyncio.TaskGroup() as group:
                group.create_task(keep())
                group.create_task(asyncio.sleep(30))
        begin()
        asyncio.run(main())
        """,
    ),
    built(
        "copies its best weights in C++ to a full disk",
        COPY,
        number=signal.SIGABRT,
        cause=FULL,
        also=(ABORTED,),
        call='open("best.ckpt", "wb").write(bytes(9 << 20))\nbegin()\nlog(loss=0.5)\nload().work()',
        place=DISK,
    ),
    # numpy has the same words for a full disk; here it is the file that may not grow, on a disk with room.
    failing(
        "writes a raw array that is larger than its shell lets a file be",
        """
        import numpy
        begin()
        log(loss=0.5)
        numpy.zeros(3 << 20).tofile("features.raw")
        """,
        command=shelled(f"ulimit -f 16384; exec {PYTHON} {SCRIPT}"),
    ),
    failing(
        "keeps its trials in a database that others may only read",
        """
        import sqlite3
        sqlite3.connect("trials.db").execute("CREATE TABLE trial (value)")
        begin()
        store = sqlite3.connect("file:trials.db?mode=ro", uri=True)
        store.execute("INSERT INTO trial VALUES (0.9)")
        """,
    ),
    failing(
        "holds the sockets of all its peers",
        """
        import socket
        server = socket.create_server(("127.0.0.1", 0), backlog=300)
        begin()
        peers = []
        for number in range(300):
            peers.append(socket.create_connection(server.getsockname()))
            log(peers=len(peers))
        """,
        cause=FILES,
        place=FEW_FILES,
    ),
    failing(
        "keeps every batch in a temporary file without a name",
        """
        import tempfile
        begin()
        kept = []
        for step in range(400):
            kept.append(tempfile.TemporaryFile())
            kept[-1].write(bytes(100))
        """,
        cause=FILES,
        place=FEW_FILES,
    ),
    failing(
        "shares tensors one by one with torch",
        """
        import torch
        begin()
        shared = [torch.zeros(4).share_memory_() for _ in range(600)]
        """,
        cause=FILES,
        place=Place(limits=("--nofile=256",)),
        needs=TORCH,
    ),
    # Not the files that it may open: the watches that its user may have, for which Linux has the same words.
    failing(
        "watches more directories than its user may",
        """
        libc = ctypes.CDLL(None, use_errno=True)
        begin()
        for number in range(2000):
            if libc.inotify_init() < 0:
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code) + ": inotify instance limit reached")
        """,
        cause=FILES,
        also=(RAISED,),
        place=Place(is_user=True, limits=("--nofile=4096",)),
    ),
    failing(
        "has make run more recipes at a time than there may be processes",
        """
        targets = " ".join(f"shard{number}" for number in range(100))
        open("Makefile", "w").write(f"all: {targets}\\n{targets}:\\n\\t@sleep 4; true\\n")
        begin()
        subprocess.run(["make", "-j", "100", "all"], check=True)
        """,
        cause=TASKS,
        place=Place(tasks=60),
    ),
    # The runtime calls it a lack of memory; what is missing is the right to start another thread.
    failing(
        "has a tool in Java that may not start its threads",
        f"open('Threads.java', 'w').write({THREADS!r})\nbegin()\n"
        "subprocess.run(['java', '-XX:TieredStopAtLevel=1', 'Threads.java'], check=True)\n",
        cause=TASKS,
        place=Place(tasks=90),
        needs=("java",),
    ),
    failing(
        "starts an evaluation of every checkpoint in its event loop, all at once",
        """
        async def evaluate(number):
            process = await asyncio.create_subprocess_exec("sleep", "2")
            return await process.wait()
        async def main():
            print(await asyncio.gather(*[evaluate(number) for number in range(120)]))
        begin()
        asyncio.run(main())
        """,
        cause=TASKS,
        place=Place(tasks=70),
    ),
    # It hears the signal and makes an exception of it, as a careful program would.
    failing(
        "raises when it is told that its CPU time is over",
        """
        import resource
        def over(number, frame):
            raise TimeoutError("the CPU time of this job is over")
        begin()
        signal.signal(signal.SIGXCPU, over)
        used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used, 100))
        while True:
            pass
        """,
        cause=CPU,
        also=(RAISED,),
    ),
    failing(
        "has a solver in C that may compute for a second",
        """
        open("solve.c", "w").write("int main(void) { volatile long n = 0; for (;;) n++; }")
        subprocess.run(["gcc", "-o", "solve", "solve.c"], check=True)
        begin()
        subprocess.run(["prlimit", "--cpu=1:60", "./solve"], check=True)
        """,
        cause=CPU,
        needs=("gcc",),
    ),
    # It had no room, made some, and fails for something else with the disk full once more.
    failing(
        "removes old checkpoints for want of room and has a negative dimension later",
        """
        import numpy
        begin()
        for number in range(4):
            try:
                open(f"disk/{number}.ckpt", "wb").write(bytes(2 << 20))
            except OSError as error:
                print("removing the oldest checkpoint:", error, file=sys.stderr)
                os.remove(f"disk/{number - 2}.ckpt")
                open(f"disk/{number}.ckpt", "wb").write(bytes(2 << 20))
        for step in range(40):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        numpy.zeros(3 - 4)
        """,
        place=DISK,
    ),
]
