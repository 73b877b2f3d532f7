"""A sixth edition: processes that end each other, wait for each other, or are ended by whoever started them."""

import os
import signal
import subprocess
import time

from tests.zoo.fault import PYTHON, SCRIPT, Place
from tests.zoo.faults.held_fresh_exceptions import LEFT, RAISED, TORCH, failing
from tests.zoo.faults.held_fresh_ranks import job, ranks
from tests.zoo.faults.held_fresh_signals import BEGIN_AND_STAY, crashed
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.held_workers import strike_worker
from tests.zoo.faults.interrupts import press
from tests.zoo.faults.killed import kill
from tests.zoo.faults.memory import limit
from tests.zoo.faults.slurm import preempt
from tests.zoo.scene import Scene

KILLED, TERMINATED, INTERRUPTED, STALLED = "killed", "terminated", "interrupted", "stalled"
SEGMENTATION, ABORTED = "segmentation-fault", "aborted"
TERMINAL = Place(has_terminal=True)

# Fails at something of its own, and takes the training with it.
CARELESS = """
import os, subprocess, sys, time
training = subprocess.Popen([sys.executable, sys.argv[1]])
try:
    while not os.path.exists(os.environ["ZOO_STAGE"] + "/staying"):
        time.sleep(0.05)
    time.sleep(0.3)
    {"epoch": 1}["best_epoch"]
finally:
    training.terminate()
    training.wait()
"""

# Gives every program of a list the same share of time.
SHARES = f"""
for program in {SCRIPT}; do
  timeout --signal=KILL --preserve-status 5 {PYTHON} $program
  echo "$program: exit code $?" >&2
done
exit 6
"""


def end_family(scene: Scene) -> None:
    """Everything that it started, and then itself, as a careful person does."""
    scene.await_mark("staying")
    time.sleep(0.3)
    children = subprocess.run(["pgrep", "-P", str(scene.pid)], capture_output=True, text=True, check=False).stdout
    subprocess.run(["kill", "-TERM", *children.split(), str(scene.pid)], check=True)


def stop_then_end(scene: Scene) -> None:
    """It stands when the signal comes, which so can only kill it once it goes on."""
    scene.await_mark("staying")
    scene.kill(signal.SIGSTOP)
    time.sleep(0.5)
    scene.kill(signal.SIGINT)
    time.sleep(0.3)
    scene.kill(signal.SIGCONT)


def close_and_kill(scene: Scene) -> None:
    """Its terminal went long before somebody kills it."""
    scene.await_mark("staying")
    scene.hang_up()
    time.sleep(0.8)
    os.kill(scene.pid, signal.SIGKILL)


FAULTS = [
    crashed(
        "is taken along by a launcher that misses a key",
        BEGIN_AND_STAY,
        number=signal.SIGTERM,
        cause=TERMINATED,
        command=(PYTHON, "-c", CARELESS, SCRIPT),
        ends=(1,),
        strike=None,
        run_state="failed",
        without_client=(RAISED, TERMINATED),
    ),
    crashed(
        "has used up its share of a list",
        BEGIN_AND_STAY,
        number=signal.SIGKILL,
        cause=KILLED,
        command=shelled(SHARES),
        ends=(6,),
        strike=None,
        run_state="failed",
    ),
    crashed(
        "is stopped with Ctrl-C while a tool works for it",
        """
        begin()
        mark("staying")
        subprocess.run(["sleep", "30"], check=True)
        """,
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        strike=press(b"\x03"),
        place=TERMINAL,
    ),
    crashed(
        "is stopped with Ctrl-C together with its pool",
        """
        begin()
        pool = multiprocessing.get_context("fork").Pool(3)
        result = pool.map_async(time.sleep, [30] * 3)
        mark("staying")
        result.get()
        """,
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        strike=press(b"\x03"),
        place=TERMINAL,
    ),
    crashed(
        "is interrupted while it stands and goes on to die",
        BEGIN_AND_STAY,
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        strike=stop_then_end,
    ),
    crashed(
        "is ended after all that it started",
        """
        begin()
        helpers = [subprocess.Popen(["sleep", "30"]) for _ in range(2)]
        stay()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        strike=end_family,
    ),
    crashed(
        "is sent the signal of an alarm by hand",
        BEGIN_AND_STAY,
        number=signal.SIGALRM,
        cause=KILLED,
    ),
    crashed(
        "does not mind that its terminal went and is killed later",
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nbegin()\nsys.stdout = sys.stderr = open('train.log', 'w')\n"
        "mark('staying')\ntime.sleep(30)\n",
        number=signal.SIGKILL,
        cause=KILLED,
        strike=close_and_kill,
        place=TERMINAL,
    ),
    # It waits for what nobody sends; somebody had said how long it may take.
    crashed(
        "waits for a queue that nobody fills until its time is over",
        """
        import queue
        begin()
        log(loss=0.4)
        mark("staying")
        queue.Queue().get()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        also=(STALLED,),
        command=("timeout", "4", PYTHON, SCRIPT),
        ends=(124,),
        strike=None,
        run_state="failed",
    ),
    # The child got a lock with the fork that nobody in it will ever give back.
    failing(
        "forks with a lock in hand and gives its child up",
        """
        lock = threading.Lock()
        begin()
        context = multiprocessing.get_context("fork")
        with lock:
            child = context.Process(target=lock.acquire)
            child.start()
        child.join(1.5)
        if child.is_alive():
            print("evaluation hangs, giving up", file=sys.stderr, flush=True)
            child.kill()
            sys.exit(8)
        """,
        cause=LEFT,
        also=(STALLED,),
        code=8,
    ),
    failing(
        "has a tool that stops to ask, and ends it",
        """
        begin()
        tool = subprocess.Popen(["sh", "-c", "kill -STOP $$; echo done"], stdout=subprocess.PIPE)
        try:
            tool.communicate(timeout=1)
        except subprocess.TimeoutExpired as error:
            tool.kill()
            raise RuntimeError("aligner did not answer") from error
        """,
        also=(STALLED,),
    ),
    failing(
        "has a chain of three processes of which the last one faults",
        """
        def last():
            ctypes.string_at(0)
        def middle():
            child = multiprocessing.get_context("fork").Process(target=last)
            child.start()
            child.join()
            sys.exit(3 if child.exitcode else 0)
        begin()
        first = multiprocessing.get_context("fork").Process(target=middle)
        first.start()
        first.join()
        if first.exitcode:
            raise RuntimeError(f"stage 1 left with {first.exitcode}")
        """,
        cause=SEGMENTATION,
    ),
    # Two ended, each in its own way; only for one of them does the training fail.
    failing(
        "can do without its logger, which aborts, and not without its sampler, which somebody kills",
        """
        begin()
        logger = subprocess.Popen([sys.executable, "-c", "import os; os.abort()"])
        print("logger left with", logger.wait(), "- not needed", flush=True)
        for step in range(50):
            log(loss=1 / (step + 2)); time.sleep(0.02)
        sampler = subprocess.Popen(["sleep", "30"])
        mark("worker", sampler.pid)
        if sampler.wait():
            raise ChildProcessError(f"sampler ended with {sampler.returncode}")
        """,
        cause=KILLED,
        strike=strike_worker(signal.SIGKILL),
    ),
    failing(
        "has workers that share a counter, of which one is killed while it holds it",
        """
        def work(counter):
            with counter.get_lock():
                mark("worker", os.getpid())
                time.sleep(30)
        begin()
        context = multiprocessing.get_context("fork")
        counter = context.Value("i")
        workers = [context.Process(target=work, args=(counter,), daemon=True) for _ in range(2)]
        for worker in workers:
            worker.start()
        while all(worker.is_alive() for worker in workers):
            time.sleep(0.05)
        if not counter.get_lock().acquire(timeout=1):
            raise TimeoutError("deadlock: the counter of samples is locked")
        """,
        cause=KILLED,
        strike=strike_worker(signal.SIGKILL),
    ),
    failing(
        "has a data loader whose samples come as what cannot be a tensor",
        """
        import torch
        begin()
        data = [{"pixels": torch.zeros(2), "file": open("/dev/null")} for _ in range(16)]
        for batch in torch.utils.data.DataLoader(data, batch_size=4, num_workers=1, multiprocessing_context="fork"):
            log(size=len(batch))
        """,
        needs=TORCH,
    ),
    ranks(
        "has ranks under torchrun that save and leave with 0 at SIGTERM, of which one is terminated by hand",
        """
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        mark(f"rank-{rank}", os.getpid())
        for step in range(2000):
            dist.all_reduce(torch.ones(1))
            log(loss=1 / (step + 2)); time.sleep(0.02)
        """,
        cause=TERMINATED,
        also=(RAISED,),
        state="crashed",
        strike=lambda scene: scene.kill(signal.SIGTERM, scene.pid_of("rank-1")),
    ),
    job(
        "loses its place for good",
        "from training import begin, stay\nbegin()\nstay()\n",
        cause="scheduler-preempted",
        state="preempted",
        job_states=("PREEMPTED", "CANCELLED"),
        strike=preempt,
        place=Place(job=("--partition=low", "--gres=slot:1", "--mem=250", "--no-requeue")),
    ),
    job(
        "has a step that opens too many files",
        "from training import begin\nbegin()\nkept = [open('/dev/null') for _ in range(400)]\n",
        command=("srun", "--quiet", "bash", "-c", f"ulimit -n 200; exec {PYTHON} {SCRIPT}"),
        cause="too-many-open-files",
    ),
    # Killed by hand with a worker that was killed for memory long before.
    crashed(
        "got over a child that was killed for memory and is sent SIGABRT",
        """
        begin()
        take = "held = []\\nwhile True: held.append(bytearray(b'x') * (4 << 20))"
        print("cache builder left with", subprocess.run([sys.executable, "-c", take]).returncode, flush=True)
        for step in range(50):
            log(loss=1 / (step + 2)); time.sleep(0.03)
        stay()
        """,
        number=signal.SIGABRT,
        cause=KILLED,
        strike=kill(signal.SIGABRT),
        place=limit(200),
    ),
]
