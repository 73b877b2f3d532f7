"""Signals of watchdogs, schedulers, launchers, siblings, timers and terminals, to the training or to what it needs."""

import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import LEFT, failing
from tests.zoo.faults.held_fresh_signals import BEGIN_AND_STAY, crashed
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.interrupts import hang_up, press
from tests.zoo.scene import Scene

KILLED, TERMINATED, INTERRUPTED, HANGUP = "killed", "terminated", "interrupted", "hangup"

# A scheduler of somebody's own: its jobs have a session each, and some time to save.
SCHEDULER = """
import os, signal, subprocess, sys, time
job = subprocess.Popen([sys.executable, sys.argv[1]], start_new_session=True)
while not os.path.exists(os.environ["ZOO_STAGE"] + "/staying"):
    time.sleep(0.05)
time.sleep(0.3)
print("scheduler: the time of this job is over", flush=True)
os.killpg(job.pid, signal.{signal})
try:
    job.wait(5)
except subprocess.TimeoutExpired:
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
print("scheduler: the job left with", job.returncode)
sys.exit(1)
"""

# Starts the training, and leaves as soon as it is well under way.
HASTY = f"""
{PYTHON} {SCRIPT} &
until [ -e "$ZOO_STAGE/staying" ]; do sleep 0.1; done
sleep 0.3
echo "launcher: lost its connection to the head node" >&2
exit 3
"""


def then(*deeds: tuple[int, float]) -> Callable[[Scene], None]:
    """One signal after the other, each with the seconds to wait before it."""

    def strike(scene: Scene) -> None:
        scene.await_mark("staying")
        for number, wait_s in deeds:
            time.sleep(wait_s)
            scene.kill(number)

    return strike


def strike_marked(name: str, number: int) -> Callable[[Scene], None]:
    """Of the process whose pid the program left there."""

    def strike(scene: Scene) -> None:
        pid = scene.pid_of(name)
        time.sleep(0.5)
        scene.kill(number, pid)

    return strike


def warn_all(scene: Scene) -> None:
    """As batch systems do: the training and what it runs, at once."""
    tool = scene.pid_of("tool")
    time.sleep(0.5)
    subprocess.run(["bash", "-c", f"kill -USR1 {scene.pid} {tool}"], check=True)


def raised_by(name: str, body: str, *, cause: str = KILLED, **more: Any) -> Fault:
    """It fails because of what a signal did to another process of its own."""
    return failing(name, body, cause=cause, **more)


FAULTS = [
    # Nobody sends anything: the fault handler's timer leaves with 1 from a thread of its own.
    failing(
        "stands still until the fault handler's timer leaves for it",
        """
        import faulthandler
        begin()
        faulthandler.dump_traceback_later(1.5, exit=True)
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
        """,
        cause=LEFT,
        also=("stalled",),
    ),
    crashed(
        "stands still until its own watchdog process kills it",
        """
        def watch(parent, beats):
            while beats.poll(1.5):
                beats.recv()
            print("watchdog: no step for 1.5 s, killing", parent, file=sys.stderr, flush=True)
            os.kill(parent, signal.SIGKILL)
        begin()
        context = multiprocessing.get_context("fork")
        there, here = context.Pipe(duplex=False)
        context.Process(target=watch, args=(os.getpid(), there), daemon=True).start()
        for step in range(10):
            log(loss=0.5)
            here.send(step)
        threading.Event().wait(30)
        """,
        number=signal.SIGKILL,
        cause=KILLED,
        also=("stalled",),
        strike=None,
    ),
    # Seen from outside there is a command that failed, and a job that left by itself.
    crashed(
        "saves in time when its scheduler ends it and leaves with 0",
        """
        told = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: told.set())
        begin()
        mark("staying")
        while not told.is_set():
            log(loss=0.2); time.sleep(0.05)
        open("last.ckpt", "wb").write(bytes(1 << 20))
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        ends=(1,),
        run_state="failed",
        without_client=(TERMINATED, LEFT),
        command=(PYTHON, "-c", SCHEDULER.format(signal="SIGTERM"), SCRIPT),
        strike=None,
    ),
    crashed(
        "is interrupted with its session by its launcher",
        BEGIN_AND_STAY,
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        ends=(1,),
        run_state="failed",
        command=(PYTHON, "-c", SCHEDULER.format(signal="SIGINT"), SCRIPT),
        strike=None,
    ),
    crashed(
        "is stopped with Ctrl-C in a script that says goodbye",
        BEGIN_AND_STAY,
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        ends=(130,),
        command=shelled(f"trap 'echo stopping' INT; {PYTHON} {SCRIPT}; exit 130"),
        strike=press(b"\x03"),
        place=Place(has_terminal=True),
    ),
    crashed(
        "notes that its terminal goes and dies of it all the same",
        """
        def note(number, frame):
            open("hangup.txt", "w").write("lost the terminal")
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        begin()
        signal.signal(signal.SIGHUP, note)
        stay()
        """,
        number=signal.SIGHUP,
        cause=HANGUP,
        strike=hang_up,
        place=Place(has_terminal=True),
    ),
    # Its launcher leaves by itself; from outside that is all there is to see.
    crashed(
        "asked to be told when its launcher is gone, and is",
        """
        begin()
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)
        stay()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        ends=(3,),
        run_state="failed",
        without_client=(LEFT, TERMINATED),
        command=shelled(HASTY),
        strike=None,
    ),
    failing(
        "gives a batch one second and raises when the alarm rings",
        """
        class BatchTimeout(Exception):
            pass
        def ring(number, frame):
            raise BatchTimeout("batch 17 took longer than 1 s")
        begin()
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        time.sleep(20)
        """,
    ),
    # Nobody sent it and no cause has its name: the nearest one is as good as to say that we don't know.
    crashed(
        "is left with the timer of a profiler that is gone",
        """
        begin()
        signal.signal(signal.SIGPROF, lambda *_: None)
        signal.setitimer(signal.ITIMER_PROF, 0.2, 0.2)
        log(loss=0.5)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        while True:
            sum(range(10_000))
        """,
        number=signal.SIGPROF,
        cause=KILLED,
        also=("unknown",),
        strike=None,
    ),
    crashed(
        "is killed by a worker that was left without work",
        """
        def work(parent):
            time.sleep(1)
            print("worker: no task for 1 s, the driver must be gone", flush=True)
            os.kill(parent, signal.SIGKILL)
        begin()
        multiprocessing.get_context("fork").Process(target=work, args=(os.getpid(),)).start()
        stay()
        """,
        number=signal.SIGKILL,
        cause=KILLED,
        strike=None,
    ),
    # The process that trains is a child of the process that was started.
    crashed(
        "trains in a child that its own launcher terminates",
        """
        def train():
            begin()
            stay()
        trainer = multiprocessing.get_context("fork").Process(target=train)
        trainer.start()
        wait_for("staying")
        time.sleep(0.5)
        trainer.terminate()
        trainer.join()
        sys.exit(2)
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        ends=(2,),
        run_state="failed",
        without_client=(TERMINATED, LEFT),
        strike=None,
    ),
    crashed(
        "does not hear the interrupt of timeout and is killed",
        """
        begin()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        stay()
        """,
        number=signal.SIGKILL,
        cause=KILLED,
        ends=(-signal.SIGKILL, 137),
        command=("timeout", "-s", "INT", "-k", "1", "7", PYTHON, SCRIPT),
        strike=None,
    ),
    crashed(
        "is warned with SIGUSR1, saves, and is terminated",
        """
        begin()
        signal.signal(signal.SIGUSR1, lambda *_: open("last.ckpt", "wb").write(bytes(1 << 20)))
        stay()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        strike=then((signal.SIGUSR1, 0.3), (signal.SIGTERM, 1.0)),
    ),
    # What it is told while it is stopped it hears when it goes on.
    crashed(
        "is terminated while it is stopped and let go on",
        BEGIN_AND_STAY,
        number=signal.SIGTERM,
        cause=TERMINATED,
        strike=then((signal.SIGSTOP, 0.3), (signal.SIGTERM, 0.5), (signal.SIGCONT, 0.5)),
    ),
    crashed(
        "is interrupted by a thread of its own that saw a file",
        """
        import _thread
        def look():
            wait_for("staying")
            time.sleep(0.5)
            _thread.interrupt_main()
        begin()
        threading.Thread(target=look, daemon=True).start()
        stay()
        """,
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        strike=None,
    ),
    crashed(
        "cancels its tasks at SIGTERM and fails with that",
        """
        async def main():
            task = asyncio.current_task()
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
            mark("staying")
            await asyncio.sleep(30)
        begin()
        asyncio.run(main())
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        ends=(1,),
    ),
    crashed(
        "wants to leave at SIGTERM, has a thread that does not let it, and is killed",
        """
        begin()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        threading.Thread(target=time.sleep, args=(30,)).start()
        stay()
        """,
        number=signal.SIGKILL,
        cause=KILLED,
        strike=then((signal.SIGTERM, 0.3), (signal.SIGKILL, 1.5)),
    ),
    crashed(
        "is terminated while it still uploads at its exit",
        """
        import atexit
        def upload():
            mark("staying")
            time.sleep(20)
        begin()
        atexit.register(upload)
        for step in range(10):
            log(loss=0.1)
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
    ),
    # It ends its workers because it fails, and not the other way round.
    failing(
        "misses a column and kills its loaders on the way out",
        """
        begin()
        loaders = [subprocess.Popen(["sleep", "60"]) for _ in range(3)]
        try:
            for step in range(20):
                log(loss=0.5); time.sleep(0.02)
            {"text": [1, 2]}["labels"]
        finally:
            for loader in loaders:
                loader.kill()
                print("loader", loader.pid, "exited with", loader.wait(), file=sys.stderr)
        """,
    ),
    raised_by(
        "has a pool of which one worker kills the other",
        """
        def work(number):
            mark(f"worker.{number}", os.getpid())
            if number == 0:
                time.sleep(20)
            while not os.path.exists("worker.0"):
                time.sleep(0.02)
            time.sleep(0.3)
            os.kill(int(open("worker.0").read()), signal.SIGKILL)
            time.sleep(2)
            return number
        begin()
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            print(list(pool.map(work, range(2))))
        """,
    ),
    # A fatal signal that somebody sent, and no fault of the worker.
    raised_by(
        "has a worker that somebody sends SIGSEGV",
        """
        begin()
        worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(30,))
        worker.start()
        mark("worker", worker.pid)
        worker.join()
        raise RuntimeError(f"augmentation worker ended with {worker.exitcode}")
        """,
        strike=strike_marked("worker", signal.SIGSEGV),
    ),
    raised_by(
        "saves at SIGUSR1, which the tool that it runs does not survive",
        """
        begin()
        signal.signal(signal.SIGUSR1, lambda *_: print("checkpoint saved", flush=True))
        tool = subprocess.Popen(["sleep", "30"])
        mark("tool", tool.pid)
        if tool.wait():
            raise subprocess.CalledProcessError(tool.returncode, "ffmpeg")
        """,
        strike=warn_all,
    ),
]
