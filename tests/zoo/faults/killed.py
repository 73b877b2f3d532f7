"""Signals that somebody sent: SIGKILL with all that looks like it, SIGTERM with all that programs make of it."""

import signal
import subprocess
import time

from tests.zoo.cgroups import make_cgroup
from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.scene import Scene

TRAINING = """
from training import begin, stay
begin()
stay()
"""

# As much as it may, and no more.
NEARLY_FULL = """
from training import begin, mark, stay
begin()
held = []
def usage():
    import os
    for name in ("memory.usage_in_bytes", "memory.current"):
        path = os.path.join(os.environ["ZOO_CGROUP"], name)
        if os.path.exists(path):
            return int(open(path).read())
while usage() < 0.95 * (200 << 20):
    held.append(bytearray(b"x") * (1 << 20))
mark("full")
stay()
"""

GREEDY = "held = []\nwhile True: held.append(bytearray(b'x') * (4 << 20))"

TERMINABLE = """
import signal, sys
from training import begin, stay
def save(number, frame):
    print("SIGTERM: checkpoint saved")
    sys.exit({code})
begin()
signal.signal(signal.SIGTERM, save)
stay()
"""

DEAF = """
import signal
from training import begin, stay
begin()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
stay()
"""


def kill(number: int) -> "Strike":
    return Strike(number)


class Strike:
    """Sends a signal from a shell while the program trains."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __call__(self, scene: Scene) -> None:
        """Strike."""
        scene.await_mark("staying")
        time.sleep(0.2)
        scene.kill(self._number)


def kill_when_full(scene: Scene) -> None:
    scene.await_mark("full")
    time.sleep(1.5)
    scene.kill(signal.SIGKILL)


def _run_out_of_memory(procs: str) -> None:
    """Another process dies for memory in that cgroup."""
    subprocess.run(["sh", "-c", f'echo $$ > {procs}; exec "$@"', "sh", PYTHON, "-c", GREEDY], check=False)


def kill_beside_foreign_death(scene: Scene) -> None:
    """Somebody else's process dies for memory, elsewhere, at the same moment."""
    scene.await_mark("staying")
    group = make_cgroup("memory")
    try:
        group.limit_memory(60 * MIB)
        _run_out_of_memory(str(group.procs))
        scene.kill(signal.SIGKILL)
        assert group.kills == 1
    finally:
        group.remove()


def kill_after_neighbours_death(scene: Scene) -> None:
    """A process in the same cgroup dies for memory, and a little later somebody kills ours."""
    scene.await_mark("staying")
    assert scene.cgroup is not None
    _run_out_of_memory(str(scene.cgroup.procs))
    time.sleep(1.0)
    scene.kill(signal.SIGKILL)


def terminate_then_kill(scene: Scene) -> None:
    scene.await_mark("staying")
    time.sleep(0.3)
    scene.kill(signal.SIGTERM)
    time.sleep(1.0)
    scene.kill(signal.SIGKILL)


def sent(number: signal.Signals, cause: str = "killed") -> Fault:
    return Fault(
        name=f"is sent {number.name}",
        program=TRAINING,
        ends=(-number,),
        state="crashed",
        cause=cause,
        strike=kill(number),
    )


FAULTS = [
    sent(signal.SIGKILL),
    sent(signal.SIGSEGV),
    sent(signal.SIGABRT),
    sent(signal.SIGBUS),
    sent(signal.SIGFPE),
    sent(signal.SIGILL),
    sent(signal.SIGQUIT),
    sent(signal.SIGTRAP),
    sent(signal.SIGUSR1),
    sent(signal.SIGXCPU),
    sent(signal.SIGTERM, "terminated"),
    Fault(
        name="is killed by hand at 95 % of its memory limit",
        program=NEARLY_FULL,
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause="killed",
        strike=kill_when_full,
        place=Place(memory_bytes=200 * MIB),
    ),
    Fault(
        name="is killed by hand while another job dies for memory",
        program=TRAINING,
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause="killed",
        strike=kill_beside_foreign_death,
        place=Place(memory_bytes=250 * MIB),
    ),
    Fault(
        name="is killed by hand after a neighbour in its cgroup died for memory",
        program=TRAINING,
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause="killed",
        strike=kill_after_neighbours_death,
        place=Place(memory_bytes=200 * MIB),
    ),
    Fault(
        name="kills itself with SIGKILL",
        program="""
        import os, signal
        from training import begin
        begin()
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause="killed",
    ),
    Fault(
        name="is killed by timeout -s KILL",
        program=TRAINING,
        command=("timeout", "-s", "KILL", "6", PYTHON, SCRIPT),
        ends=(-signal.SIGKILL, 137),
        state="crashed",
        cause="killed",
    ),
    Fault(
        name="dies with its parent, which it asked the kernel for",
        program="""
        import ctypes, os, signal
        from training import begin, mark, stay
        begin()
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        mark("parent", os.getppid())
        stay()
        """,
        command=("bash", "-c", f"{PYTHON} {SCRIPT}; echo over"),
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause="killed",
        strike=lambda scene: scene.kill(signal.SIGKILL, scene.pid_of("parent")),
    ),
    Fault(
        name="saves at SIGTERM and leaves with 0",
        program=TERMINABLE.format(code=0),
        ends=(0,),
        state="crashed",
        cause="terminated",
        strike=kill(signal.SIGTERM),
    ),
    Fault(
        name="saves at SIGTERM and leaves with 1",
        program=TERMINABLE.format(code=1),
        ends=(1,),
        state="crashed",
        cause="terminated",
        strike=kill(signal.SIGTERM),
    ),
    Fault(
        name="does not hear SIGTERM and is killed",
        program=DEAF,
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause="killed",
        strike=terminate_then_kill,
    ),
    Fault(
        name="is ended by timeout",
        program=TRAINING,
        command=("timeout", "6", PYTHON, SCRIPT),
        ends=(124,),
        state="crashed",
        run_state="failed",
        cause="terminated",
    ),
]
