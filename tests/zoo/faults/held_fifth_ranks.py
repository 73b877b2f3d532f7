"""Ranks that meet, wait, are started again or are ended together, under torchrun, by hand and under SLURM."""

import signal
import time
from collections.abc import Callable
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fourth_workers import launched
from tests.zoo.faults.held_fresh_exceptions import RAISED, TORCH, failing
from tests.zoo.faults.held_fresh_ranks import job, ranks
from tests.zoo.faults.memory import TAKE, limit
from tests.zoo.faults.ranks import BY_HAND, SOCKETS, TORCHRUN
from tests.zoo.faults.slurm import CALM, SRUN
from tests.zoo.scene import Scene

OUT, ABORTED, SEGMENTATION = "cgroup-out-of-memory", "aborted", "segmentation-fault"
COLLECTIVE, KILLED, TERMINATED = "collective-timeout", "killed", "terminated"
TRAIN = """
for step in range(400):
    {fate}
    dist.all_reduce(torch.ones(1))
    log(loss=1 / (step + 1)); time.sleep(0.02)
"""


def indented(text: str) -> str:
    """As the body of an `if` in TRAIN."""
    return text.replace("\n", "\n        ")


def when(rank: int, fate: str) -> str:
    """One rank meets its fate at step 12."""
    return TRAIN.format(fate=f"if rank == {rank} and step == 12:\n        {indented(fate)}")


def strike_agent(number: int) -> Callable[[Scene], None]:
    """What started the ranks hears a signal."""

    def strike(scene: Scene) -> None:
        agent = scene.pid_of("agent")
        time.sleep(0.3)
        scene.kill(number, agent)

    return strike


def by_hand(name: str, fate: str, *, cause: str, **more: Any) -> Fault:
    """Two ranks that a shell starts, which talk over a socket; rank 1 meets its fate."""
    usual = {"command": BY_HAND, "ends": (1,), "state": "failed", "run_state": "failed", "processes": 2}
    return Fault(name=name, cause=cause, **{"program": SOCKETS.format(fate=fate), **usual, **more})


AGENT = "mark('agent', os.getppid()) if rank == 0 and step == 5 else None"


def cancel_step(scene: Scene) -> None:
    scene.await_mark("staying")
    time.sleep(0.5)
    scene.slurm("scancel", f"{scene.job}.0")


def signal_job(scene: Scene) -> None:
    """As people do to have a job save: the scheduler hands the signal on."""
    scene.await_mark("staying")
    time.sleep(0.5)
    scene.slurm("scancel", "--signal=USR1", "--full", scene.job)


STAY = "from training import begin, stay\nbegin()\nstay()\n"

FAULTS = [
    ranks(
        "has a rank under torchrun that takes all memory",
        when(1, TAKE),
        cause=OUT,
        state="crashed",
        place=limit(1200),
    ),
    ranks("has a rank under torchrun that aborts", when(0, "os.abort()"), cause=ABORTED, state="crashed"),
    ranks(
        "has ranks under torchrun of which each reduces another shape",
        "log(loss=0.5)\ndist.all_reduce(torch.ones(4 + 8 * rank))\ndist.barrier()\n",
        cause=ABORTED,
        also=(RAISED,),
        state="crashed",
    ),
    ranks(
        "has ranks under torchrun of which one cannot read its shard",
        when(1, "torch.load('shards/rank-1.pt')"),
        cause=RAISED,
    ),
    failing(
        "has ranks under torchrun that are started again after an error and then fault",
        """
        begin()
        for step in range(40):
            log(loss=1 / (step + 1)); time.sleep(0.02)
            if step == 12 and os.environ["RANK"] == "1":
                if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
                    raise ConnectionError("the object store did not answer")
                ctypes.string_at(0)
        time.sleep(20)
        """,
        command=(*TORCHRUN[:-1], "--max-restarts=1", SCRIPT),
        cause=SEGMENTATION,
        state="crashed",
        run_state="failed",
        processes=2,
        needs=TORCH,
        takes_s=120.0,
    ),
    ranks(
        "has ranks under torchrun whose launcher is interrupted",
        TRAIN.format(fate=AGENT),
        cause="interrupted",
        strike=strike_agent(signal.SIGINT),
    ),
    ranks(
        "has ranks under torchrun whose launcher hears that its terminal is gone",
        TRAIN.format(fate=AGENT),
        cause="hangup",
        state="crashed",
        strike=strike_agent(signal.SIGHUP),
    ),
    failing(
        "looks for its first rank where nobody listens",
        """
        import datetime
        import torch.distributed as dist
        begin()
        log(loss=0.5)
        dist.TCPStore("127.0.0.1", 9, world_size=2, is_master=False, timeout=datetime.timedelta(seconds=2))
        """,
        cause=COLLECTIVE,
        also=(RAISED, "connection-lost"),
        needs=TORCH,
    ),
    failing(
        "wants to meet its ranks on a port that is taken",
        """
        import socket
        import torch.distributed as dist
        taken = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        begin()
        dist.TCPStore("127.0.0.1", taken.getsockname()[1], world_size=1, is_master=True)
        """,
        needs=TORCH,
    ),
    failing(
        "waits for a word of a rank that never says it",
        """
        import datetime
        import torch.distributed as dist
        begin()
        store = dist.TCPStore("127.0.0.1", 0, world_size=1, is_master=True, wait_for_workers=False)
        log(loss=0.5)
        store.wait(["rank-1/checkpoint-saved"], datetime.timedelta(seconds=1))
        """,
        cause=COLLECTIVE,
        also=(RAISED,),
        needs=TORCH,
    ),
    failing(
        "samples for ranks that it never started",
        """
        import torch
        begin()
        log(loss=0.5)
        torch.utils.data.distributed.DistributedSampler(range(10))
        """,
        needs=TORCH,
    ),
    by_hand(
        "has ranks by hand of which one finds no room for its part of the checkpoint",
        'open("disk/rank-1.bin", "wb").write(bytes(8 << 20))',
        cause="disk-full",
        place=Place(disks=(("disk", "size=3m"),)),
    ),
    by_hand(
        "has ranks by hand of which one opens too many files",
        "held = [open('/dev/null') for _ in range(400)]",
        cause="too-many-open-files",
        place=Place(limits=("--nofile=200",)),
    ),
    by_hand(
        "has ranks by hand of which one stands still and the other loses patience",
        "",
        cause=COLLECTIVE,
        also=(RAISED, "stalled"),
        program=SOCKETS.format(fate="time.sleep(5)").replace("for step", "peer.settimeout(1.5)\nfor step"),
    ),
    launched(
        "has a launcher in the words of MPI, and a rank that faults",
        """
        begin()
        for step in range(2000):
            log(loss=1 / (step + 1)); time.sleep(0.02)
            if step == 20 and os.environ["RANK"] == "1":
                print("[node01:17] *** Process received signal ***", file=sys.stderr, flush=True)
                ctypes.string_at(0)
        """,
        signal.SIGTERM,
        cause=SEGMENTATION,
        state="crashed",
        ends=(245,),
    ),
    job(
        "somebody cancels only the step of",
        STAY,
        command=SRUN,
        cause="scheduler-cancelled",
        also=(TERMINATED, KILLED),
        state="crashed",
        strike=cancel_step,
    ),
    job(
        "is warned with a signal that it does not know",
        STAY,
        cause=KILLED,
        also=("scheduler-cancelled",),
        state="crashed",
        strike=signal_job,
    ),
    job(
        "fails an assertion of the C library in a step",
        "import faulty\nfrom training import begin, log\nbegin()\nlog(loss=0.5)\nfaulty.free_twice()\n",
        command=SRUN,
        cause=ABORTED,
        state="crashed",
    ),
    job(
        "uses up the CPU time that its script allows",
        "from training import begin\nbegin()\nwhile True:\n    pass\n",
        command=("bash", "-c", f"ulimit -S -t 2; exec {PYTHON} {SCRIPT}"),
        cause="cpu-time-limit",
        state="crashed",
    ),
    job(
        "is one of an array and misses a column",
        'from training import begin, log\nbegin()\nlog(loss=0.5)\nprint({"text": 1}["label"])\n',
        cause=RAISED,
        place=Place(job=(*CALM, "--array=3")),
    ),
    job(
        "has a step whose worker takes all memory",
        "from training import begin, log\n"
        "def work():\n    held = []\n    while True:\n        held.append(bytearray(b'x') * (4 << 20))\n"
        "begin()\nworker = multiprocessing.get_context('fork').Process(target=work)\nworker.start()\nworker.join()\n"
        "if worker.exitcode:\n    raise RuntimeError(f'loader left with {worker.exitcode}')\n",
        command=SRUN,
        cause=OUT,
        job_states=("FAILED", "OUT_OF_MEMORY"),
    ),
]
