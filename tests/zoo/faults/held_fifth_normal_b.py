"""Ends that nobody needs to explain, of notebooks, jobs, ranks and programs that somebody looked at or stopped."""

import subprocess
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fifth_native import NBCLIENT, PAPERMILL, notebook
from tests.zoo.faults.held_fresh_exceptions import TORCH
from tests.zoo.faults.held_fresh_normal import normal
from tests.zoo.faults.held_fresh_ranks import job
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.memory import limit
from tests.zoo.faults.ranks import TORCHRUN
from tests.zoo.scene import Scene

STEPS = "for step in range(20):\n    log(loss=1 / (step + 1)); time.sleep(0.02)\n"


def calm(name: str, cell: str, **more: Any) -> Fault:
    """A notebook that comes to its end; its kernel is shut down when no cell runs."""
    return notebook(name, cell, cause=None, **{"ends": (0,), "state": "finished", "run_state": "finished", **more})


def look(scene: Scene) -> None:
    """Somebody attaches a debugger, looks, and lets go."""
    scene.await_mark("listening")
    command = ["gdb", "-p", str(scene.pid), "-batch", "-nx", "-ex", "set auto-load off", "-ex", "bt 3", "-ex", "detach"]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    (scene.stage / "looked").touch()


def guard_elsewhere(scene: Scene) -> None:
    """A guard of the memory ends a neighbour, not the training."""
    scene.await_mark("listening")
    with subprocess.Popen([PYTHON, "-c", "import time; held = bytearray(b'x') * (50 << 20); time.sleep(30)"]) as other:
        script = f"sleep 0.4; echo sending SIGKILL to {other.pid}: badness 912; kill -9 {other.pid}"
        subprocess.run(["bash", "-c", f"exec -a earlyoom bash -c '{script}'"], check=True, stdout=subprocess.DEVNULL)
    (scene.stage / "looked").touch()


LISTEN = 'begin()\nmark("listening")\nwait_for("looked")\n' + STEPS

FAULTS = [
    calm("is a notebook of papermill that comes to its end", "for step in range(20):\n    log(loss=1 / (step + 1))"),
    calm(
        "is a notebook of which a cell may fail, and does",
        "raise RuntimeError('CUDA out of memory. Tried to allocate 2.00 GiB')",
        run=NBCLIENT.replace("timeout=60", "timeout=60, allow_errors=True"),
    ),
    calm(
        "is a notebook whose tools fault",
        "print(os.system(f'{sys.executable} -c \"import ctypes; ctypes.string_at(0)\"'))",
        run=PAPERMILL,
    ),
    normal("is looked at with a debugger and let go", LISTEN, strike=look, needs=("gdb",)),
    normal("sees a guard of the memory end a neighbour", LISTEN, strike=guard_elsewhere, place=limit(300)),
    normal(
        "is traced up to its end",
        "begin()\n" + STEPS,
        command=("strace", "-f", "-e", "trace=none", "-o", "trace.txt", PYTHON, SCRIPT),
        needs=("strace",),
    ),
    normal(
        "has ranks under torchrun of which one is done long before the other",
        """
        begin()
        for step in range(10 if os.environ["RANK"] == "0" else 60):
            log(loss=1 / (step + 1)); time.sleep(0.05)
        """,
        command=TORCHRUN,
        processes=2,
        needs=TORCH,
        takes_s=120.0,
    ),
    job(
        "has a step that failed before",
        "from training import begin, log\nbegin()\nlog(loss=0.5)\n",
        command=("bash", "-c", f"srun --quiet bash -c 'echo no such dataset >&2; exit 3'; exec {PYTHON} {SCRIPT}"),
        cause=None,
        state="finished",
        job_states=("COMPLETED",),
    ),
    job(
        "prints what cancelled jobs print",
        "from training import begin, log\nbegin()\nlog(loss=0.5)\n"
        "print('slurmstepd: error: *** JOB 12 ON node1 CANCELLED AT 2026-03-01T02:11:09 DUE TO PREEMPTION ***')\n",
        cause=None,
        state="finished",
        job_states=("COMPLETED",),
    ),
    normal(
        "is stopped early by an exception that it raises for that",
        """
        class StopTraining(Exception):
            pass
        def on_step(step):
            log(loss=0.3)
            if step == 20:
                raise StopTraining("patience of 10 epochs is used up")
        begin()
        try:
            for step in range(1000):
                on_step(step)
        except StopTraining as reason:
            print(f"{type(reason).__name__}: {reason}", file=sys.stderr)
        """,
    ),
    normal(
        "loses an event loop of workers and finishes with a thread",
        """
        def work(number):
            if number == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return number
        async def main():
            loop = asyncio.get_running_loop()
            context = multiprocessing.get_context("fork")
            with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                tasks = [loop.run_in_executor(pool, work, number) for number in range(4)]
                done = await asyncio.gather(*tasks, return_exceptions=True)
            print([repr(each) for each in done], file=sys.stderr, flush=True)
            for number in (3, 4):
                log(value=await asyncio.to_thread(work, number))
        begin()
        asyncio.run(main())
        time.sleep(1)
        """,
    ),
    normal(
        "has a cache that is full and keeps no more",
        """
        begin()
        for number in range(40):
            try:
                open(f"disk/{number}.bin", "wb").write(bytes(300_000))
            except OSError as error:
                logging.warning("cache is full: %s", error)
            log(loss=1 / (number + 1))
        """,
        place=Place(disks=(("disk", "size=3m"),)),
    ),
    normal(
        "has a tool that its shell does not let write more",
        """
        begin()
        copy = "ulimit -f 1000; head -c 9000000 /dev/zero > sample.bin"
        print("copy left with", subprocess.run(["bash", "-c", copy]).returncode, flush=True)
        for step in range(60):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
    ),
    normal(
        "comes to its end below a timeout that would have come soon",
        "begin()\n" + STEPS + "time.sleep(0.5)\n",
        command=shelled(
            f'timeout -k 1 40 {PYTHON} {SCRIPT}; code=$?; echo "timeout left with $code (124 = killed)"; exit $code'
        ),
    ),
    normal(
        "hears from a child that it had asked to end",
        """
        begin()
        script = "trap 'kill -USR1 $PPID; exit 143' TERM; echo; while :; do sleep 0.1; done"
        child = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
        signal.signal(signal.SIGUSR1, lambda *_: print("child is going", flush=True))
        child.stdout.readline()
        child.terminate()
        print("child left with", child.wait(), flush=True)
        for step in range(20):
            log(loss=0.5); time.sleep(0.02)
        """,
    ),
]
