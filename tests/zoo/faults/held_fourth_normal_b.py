"""Ends that nobody needs to explain: limits that were met and got over, signals that were meant well, helpers lost."""

import signal
import time
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import written
from tests.zoo.faults.held_fresh_native import BUILD
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.memory import TAKING, limit
from tests.zoo.scene import Scene


def normal(name: str, body: str, **more: Any) -> Fault:
    """It ends well."""
    return written(name, body, cause=None, **{"ends": (0,), "state": "finished", **more})


def interrupt(scene: Scene) -> None:
    scene.await_mark("listening")
    time.sleep(0.3)
    scene.kill(signal.SIGINT)


def ask_for_stacks(scene: Scene) -> None:
    scene.await_mark("listening")
    for _ in range(2):
        time.sleep(0.2)
        scene.kill(signal.SIGQUIT)


# Looks whether an address may be read by reading it, as collectors of garbage and printers of stacks do.
PROBE = """
#include <setjmp.h>
#include <signal.h>
static sigjmp_buf before;
static void back(int number) { siglongjmp(before, 1); }
extern "C" int work(const int *address) {
    void (*old)(int) = signal(SIGSEGV, back);
    int readable = sigsetjmp(before, 1) ? 0 : *address || 1;
    signal(SIGSEGV, old);
    return readable;
}
"""

FAULTS = [
    # What waits to be written can be written, and is no reason to kill anybody.
    normal(
        "writes far more than its cgroup has room for",
        """
        begin()
        with open("features.bin", "wb") as file:
            for step in range(220):
                file.write(bytes(1 << 20))
                log(loss=1 / (step + 1))
        """,
        place=limit(160),
    ),
    # A shell's job in the background does not hear it.
    normal(
        "is sent SIGINT in the background of a shell",
        """
        begin()
        mark("listening")
        for step in range(40):
            log(loss=1 / (step + 1)); time.sleep(0.03)
        """,
        command=shelled(f"{PYTHON} {SCRIPT} & wait $!"),
        strike=interrupt,
    ),
    normal(
        "shows its stacks at SIGQUIT and goes on",
        """
        import faulthandler
        faulthandler.register(signal.SIGQUIT, all_threads=True)
        begin()
        mark("listening")
        for step in range(40):
            log(loss=1 / (step + 1)); time.sleep(0.03)
        """,
        strike=ask_for_stacks,
    ),
    normal(
        "comes to its end after a neighbour in its cgroup was killed for memory",
        """
        begin()
        mark("go-on")
        wait_for("gone")
        for step in range(20):
            log(loss=1 / (step + 1)); time.sleep(0.03)
        """,
        command=shelled(
            f"{PYTHON} {SCRIPT} & training=$!; until [ -e go-on ]; do sleep 0.1; done; "
            f'{PYTHON} -c "$TAKING"; echo "indexer left with $?"; touch gone; wait $training'
        ),
        place=limit(230, environ=(("TAKING", TAKING),)),
    ),
    normal(
        "loses a pool for memory and does the work itself",
        """
        def embed(number):
            held = [bytearray(b"x") * (4 << 20) for _ in range(200)]
            return number
        begin()
        try:
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
                print(list(pool.map(embed, range(4))))
        except concurrent.futures.process.BrokenProcessPool as error:
            print("embedding one by one:", error, file=sys.stderr)
        for step in range(20):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
        place=limit(230),
    ),
    normal(
        "has a library that reads from nowhere on purpose",
        BUILD.format(source=PROBE, options=[]) + "begin()\nprint(load().work(None))\nlog(loss=0.1)\n",
        needs=("g++",),
    ),
    normal(
        "finds /dev/shm full and takes files in its place",
        """
        begin()
        try:
            with open("/dev/shm/batches", "wb") as file:
                file.write(bytes(8 << 20))
        except OSError as error:
            print("sharing through files:", error, file=sys.stderr)
            with open("batches", "wb") as file:
                file.write(bytes(8 << 20))
        log(loss=0.1)
        """,
        place=Place(disks=(("/dev/shm", "size=2m"),)),
    ),
    normal(
        "may not start as many threads as it wants, and does with fewer",
        """
        begin()
        done = threading.Event()
        readers = []
        try:
            for _ in range(200):
                reader = threading.Thread(target=done.wait)
                reader.start()
                readers.append(reader)
        except RuntimeError as error:
            print(f"going on with {len(readers)} readers: {error}", file=sys.stderr)
        done.set()
        for reader in readers:
            reader.join()
        log(loss=0.1)
        """,
        place=Place(tasks=60),
    ),
    normal(
        "gives a solver a second of CPU time and does without its answer",
        """
        begin()
        command = ["bash", "-c", "ulimit -S -t 1; exec $0 -c 'while True: pass'", sys.executable]
        print("solver:", subprocess.run(command).returncode, "- keeping the old schedule")
        for step in range(20):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
    ),
    normal(
        "has a helper that wants to die with it, and does",
        """
        begin()
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
            mark("helping")
            time.sleep(20)
            os._exit(0)
        wait_for("helping")
        log(loss=0.1)
        """,
    ),
    normal(
        "forks again and again while it holds most of its memory",
        """
        begin()
        weights = bytearray(b"x") * (120 << 20)
        for epoch in range(4):
            pid = os.fork()
            if pid == 0:
                os._exit(weights.count(b"y"))
            print("evaluation left with", os.waitpid(pid, 0)[1])
            log(accuracy=epoch / 4)
        """,
        place=limit(260),
    ),
]
