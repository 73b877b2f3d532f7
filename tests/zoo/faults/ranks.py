"""Several processes of one training: who died first, and who was dragged along."""

import signal
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault
from tests.zoo.scene import Scene

TORCHRUN = (PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", SCRIPT)

COLLECTIVE = """
import datetime, os, sys, time
import torch
import torch.distributed as dist
from training import begin, log, mark

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=6))
rank = dist.get_rank()
begin()
for step in range(400):
    if rank == 1 and step == 10:
        {fate}
    value = torch.ones(1)
    dist.all_reduce(value)
    log(loss=1 / (step + 1))
    time.sleep(0.02)
"""

# Two processes that a shell starts, as a launcher of somebody's own would; the ranks talk over a socket.
SHELL = f"""
export HOLTER_RUN_ID=zoo WORLD_SIZE=2
RANK=1 {PYTHON} {SCRIPT} &
RANK=0 {PYTHON} {SCRIPT}
code=$?
wait
exit $code
"""
BY_HAND = ("bash", "-c", SHELL)

SOCKETS = """
import os, signal, socket, time
from training import begin, log, mark

rank = int(os.environ["RANK"])
path = os.environ["ZOO_STAGE"] + "/socket"
begin()
if rank == 0:
    server = socket.socket(socket.AF_UNIX); server.bind(path); server.listen()
    peer = server.accept()[0]
else:
    peer = socket.socket(socket.AF_UNIX)
    while peer.connect_ex(path):
        time.sleep(0.01)
for step in range(400):
    if rank == 1 and step == 10:
        {fate}
    peer.sendall(b"x")
    if not peer.recv(1):
        raise ConnectionError("Connection closed by peer")
    log(loss=1 / (step + 1))
    time.sleep(0.02)
"""


def kill_rank(scene: Scene) -> None:
    scene.await_mark("staying")
    scene.kill(signal.SIGKILL, scene.rank(1))


def terminate_agent(scene: Scene) -> None:
    scene.kill(signal.SIGTERM, scene.pid_of("agent"))


def torchrun(name: str, fate: str, *, state: str, cause: str, **more: Any) -> Fault:
    # Seen from outside it is torchrun that ends, with 1.
    return Fault(
        name=name,
        program=COLLECTIVE.format(fate=fate),
        command=TORCHRUN,
        ends=(1,),
        state=state,
        run_state="failed",
        cause=cause,
        processes=2,
        needs=("torch",),
        takes_s=120.0,
        **more,
    )


def by_hand(name: str, fate: str, *, state: str, cause: str, **more: Any) -> Fault:
    return Fault(
        name=name,
        program=SOCKETS.format(fate=fate),
        command=BY_HAND,
        ends=(1,),
        state=state,
        run_state="failed",
        cause=cause,
        processes=2,
        **more,
    )


FAULTS = [
    torchrun(
        "has a rank under torchrun that raises",
        "raise ValueError('bad shard on rank 1')",
        state="failed",
        cause="uncaught-exception",
    ),
    torchrun(
        "has a rank under torchrun that somebody kills",
        "mark('staying'); time.sleep(30)",
        state="crashed",
        cause="killed",
        strike=kill_rank,
    ),
    torchrun(
        "has a rank under torchrun that leaves with 5",
        "os._exit(5)",
        state="failed",
        cause="nonzero-exit",
    ),
    torchrun(
        "has a rank under torchrun that stands still",
        "time.sleep(60)",
        state="failed",
        cause="collective-timeout",
    ),
    by_hand(
        "has a rank that raises",
        "raise ValueError('bad shard on rank 1')",
        state="failed",
        cause="uncaught-exception",
    ),
    by_hand(
        "has a rank that kills itself",
        "os.kill(os.getpid(), signal.SIGKILL)",
        state="crashed",
        cause="killed",
    ),
    by_hand(
        "has a rank that fails an allocation",
        "bytearray(1 << 50)",
        state="failed",
        cause="allocation-refused",
    ),
    # Rank 1 has fewer batches and comes to its end; what rank 0 meets is a connection that closed.
    torchrun(
        "has ranks under torchrun of which one has fewer batches",
        "break",
        state="failed",
        cause="uncaught-exception",
    ),
    torchrun(
        "has ranks under torchrun whose launcher somebody terminates",
        "mark('agent', os.getppid()); time.sleep(60)",
        state="crashed",
        cause="terminated",
        strike=terminate_agent,
    ),
    Fault(
        name="has ranks under torchrun that are started again and fail again",
        program="import os, time\nfrom training import begin, log\nbegin()\n"
        "for step in range(20):\n    log(loss=1 / (step + 1)); time.sleep(0.02)\n"
        "attempt = os.environ['TORCHELASTIC_RESTART_COUNT']\n"
        "raise OverflowError(f'too many tokens in attempt {attempt}')\n",
        command=(*TORCHRUN[:-1], "--max-restarts=1", SCRIPT),
        ends=(1,),
        state="failed",
        cause="uncaught-exception",
        processes=2,
        needs=("torch",),
        takes_s=120.0,
    ),
]
