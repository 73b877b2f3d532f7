"""Ctrl-C, the same signal from elsewhere, and terminals that go away."""

import signal
import time
from collections.abc import Callable

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.killed import TRAINING, kill
from tests.zoo.scene import Scene

TERMINAL = Place(has_terminal=True)
INTERRUPTED = (-signal.SIGINT,)


def press(keys: bytes) -> Callable[[Scene], None]:
    def strike(scene: Scene) -> None:
        scene.await_mark("staying")
        time.sleep(0.3)
        scene.type(keys)

    return strike


def hang_up(scene: Scene) -> None:
    scene.await_mark("staying")
    time.sleep(0.3)
    scene.hang_up()


FAULTS = [
    Fault(
        name="is stopped with Ctrl-C",
        program=TRAINING,
        ends=INTERRUPTED,
        state="failed",
        cause="interrupted",
        strike=press(b"\x03"),
        place=TERMINAL,
    ),
    Fault(
        name="is sent SIGINT",
        program=TRAINING,
        ends=INTERRUPTED,
        state="failed",
        cause="interrupted",
        strike=kill(signal.SIGINT),
    ),
    Fault(
        name="is stopped with Ctrl-C while native code works",
        program="""
        import ctypes
        from training import begin, mark
        begin()
        mark("staying")
        ctypes.CDLL(None).sleep(3)
        ctypes.CDLL(None).sleep(1)
        """,
        ends=INTERRUPTED,
        state="failed",
        cause="interrupted",
        strike=press(b"\x03"),
        place=TERMINAL,
    ),
    # The keys for a core dump: whoever presses them interrupts, and the signal is one that kills.
    Fault(
        name="is stopped with the key for SIGQUIT",
        program=TRAINING,
        ends=(-signal.SIGQUIT,),
        state="crashed",
        cause="killed",
        also=("interrupted",),
        strike=press(b"\x1c"),
        place=TERMINAL,
    ),
    Fault(
        name="loses its terminal",
        program=TRAINING,
        ends=(-signal.SIGHUP,),
        state="crashed",
        cause="hangup",
        strike=hang_up,
        place=TERMINAL,
    ),
    Fault(
        name="loses the terminal of the shell that it runs in",
        program=TRAINING,
        command=("bash", "-c", f"{PYTHON} {SCRIPT}; exit $?"),
        ends=(-signal.SIGHUP, 129),
        state="crashed",
        cause="hangup",
        strike=hang_up,
        place=TERMINAL,
    ),
    Fault(
        name="is sent SIGHUP",
        program=TRAINING,
        ends=(-signal.SIGHUP,),
        state="crashed",
        cause="hangup",
        strike=kill(signal.SIGHUP),
    ),
]
