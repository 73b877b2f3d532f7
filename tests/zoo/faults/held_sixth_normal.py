"""A sixth edition: ends that nobody needs to explain, of programs that clean up, fall back, wait, or ignore others."""

import signal
import time

from tests.zoo.fault import PYTHON, SCRIPT, Place
from tests.zoo.faults.held_fresh_normal import normal
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.memory import limit
from tests.zoo.faults.ranks import BY_HAND
from tests.zoo.scene import Scene

STEPS = "for epoch in range(15):\n    log(loss=1 / (epoch + 2), lr=1e-4); time.sleep(0.02)\n"


def type_much(scene: Scene) -> None:
    """Somebody leans on the keyboard; the size of the window changes."""
    scene.await_mark("listening")
    scene.type(b"q\nls\n\x1b[A\x1b[B")
    scene.kill(signal.SIGWINCH)
    time.sleep(0.3)
    (scene.stage / "typed").touch()


FAULTS = [
    normal(
        "kills its own children at its exit",
        """
        import atexit
        begin()
        children = [subprocess.Popen(["sleep", "30"]) for _ in range(3)]
        atexit.register(lambda: [(child.kill(), child.wait()) for child in children])
        for epoch in range(15):
            log(loss=1 / (epoch + 2)); time.sleep(0.02)
        """,
    ),
    normal("is left by a library of C that calls exit with 0", "begin()\n" + STEPS + "ctypes.CDLL(None).exit(0)\n"),
    normal(
        "is without a network and works offline",
        """
        import urllib.request
        begin()
        for attempt in range(2):
            try:
                urllib.request.urlopen("https://hub.invalid/api", timeout=2)
            except OSError:
                logging.exception("cannot reach the hub, using the cache")
        for epoch in range(15):
            log(loss=1 / (epoch + 2)); time.sleep(0.02)
        """,
    ),
    normal(
        "may not write beside its data and writes elsewhere",
        """
        begin()
        for place in ("dataset/cache.bin", "/proc/cache.bin", "cache.bin"):
            try:
                open(f"{place}", "wb").write(bytes(1000))
                break
            except OSError as error:
                print(f"no cache at {place}: {error}", file=sys.stderr)
        for epoch in range(15):
            log(loss=1 / (epoch + 2)); time.sleep(0.02)
        """,
        place=Place(disks=(("dataset", "size=1m,ro"),)),
    ),
    normal(
        "has a disk beside it that is full all the time",
        "begin()\nos.posix_fallocate(os.open('disk/old', os.O_CREAT | os.O_WRONLY), 0, 2 << 20)\n" + STEPS,
        place=Place(disks=(("disk", "size=2m"),)),
    ),
    normal(
        "lets nobody tell it of its children's ends",
        """
        begin()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        pid = os.fork()
        if pid == 0:
            os.kill(os.getpid(), signal.SIGSEGV)
            time.sleep(9)
        try:
            os.waitpid(pid, 0)
        except ChildProcessError as error:
            print("nobody to wait for:", error, file=sys.stderr)
        for epoch in range(40):
            log(loss=1 / (epoch + 2)); time.sleep(0.02)
        """,
    ),
    normal(
        "leaves a child behind that stands still",
        """
        begin()
        child = subprocess.Popen(["sleep", "2"])
        child.send_signal(signal.SIGSTOP)
        for epoch in range(15):
            log(loss=1 / (epoch + 2)); time.sleep(0.02)
        threading.Timer(0.5, child.send_signal, (signal.SIGCONT,)).start()
        """,
    ),
    normal(
        "has a callback that ends the training at the first NaN",
        """
        begin()
        for batch in range(60):
            loss = 0.3 if batch < 40 else math.nan
            log(loss=loss)
            if math.isnan(loss):
                print(f"Batch {batch}: Invalid loss, terminating training", flush=True)
                break
        """,
    ),
    normal(
        "waits for a lock that another one holds, and gets it",
        "begin()\n" + STEPS,
        command=shelled(
            f"flock lock sleep 1 & sleep 0.2; flock -n lock true || echo 'lock: Resource temporarily unavailable' >&2\n"
            f"flock lock {PYTHON} {SCRIPT}"
        ),
    ),
    normal(
        "follows a recipe that failed and was allowed to",
        "begin()\n" + STEPS,
        command=shelled(
            "printf 'all: lint train\\nlint:\\n\\t-@kill -9 $$$$\\ntrain:\\n\\t@"
            f"{PYTHON} {SCRIPT}\\n' > Makefile; make all"
        ),
        needs=("gcc",),  # Who has the one has the other.
    ),
    normal(
        "has somebody type into its terminal",
        "begin()\nmark('listening')\nwait_for('typed')\n" + STEPS,
        strike=type_much,
        place=Place(has_terminal=True),
    ),
    normal(
        "has ranks by hand of which one leaves early, as was agreed",
        """
        begin()
        if os.environ["RANK"] == "1":
            print("rank 1: no shards left, goodbye", flush=True)
            sys.exit(0)
        for epoch in range(40):
            log(loss=1 / (epoch + 2)); time.sleep(0.02)
        """,
        command=BY_HAND,
        processes=2,
    ),
    normal(
        "compiles what its compiler has no memory for, and takes the slow way",
        """
        with open("table.cc", "w") as file:
            file.write("int table[] = {" + "7," * 3_000_000 + "};")
        begin()
        done = subprocess.run(["g++", "-O2", "-c", "table.cc"], capture_output=True, text=True)
        print("building the fast kernel failed:", done.stderr.strip(), flush=True)
        for epoch in range(60):
            log(loss=1 / (epoch + 2)); time.sleep(0.03)
        """,
        place=limit(200),
        needs=("g++",),
    ),
    normal(
        "has an executor whose tasks it cancels at the end",
        """
        begin()
        pool = concurrent.futures.ThreadPoolExecutor(2)
        tasks = [pool.submit(time.sleep, 0.4) for _ in range(40)]
        for epoch in range(15):
            log(loss=1 / (epoch + 2)); time.sleep(0.02)
        pool.shutdown(cancel_futures=True)
        print("cancelled:", sum(task.cancelled() for task in tasks))
        """,
    ),
]
