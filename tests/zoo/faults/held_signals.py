"""Signals that somebody sent to programs which have just said, or done, something that looks like the reason."""

import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.killed import TRAINING
from tests.zoo.faults.signals import hang_up, struck
from tests.zoo.scene import Scene

KILLED, TERMINATED, INTERRUPTED, HANGUP = "killed", "terminated", "interrupted", "hangup"
TERMINAL = Place(has_terminal=True)
OWN_GROUP = "import os\nos.setpgid(0, 0)\n" + TRAINING


def launched(name: str, command: tuple[str, ...], *, ends: tuple[int, ...], cause: str, **more: Any) -> Fault:
    """Somebody's script or tool ends it, and goes on."""
    return Fault(name=name, program=TRAINING, command=command, ends=ends, cause=cause, **{"state": "crashed", **more})


def timed(number: str, code: int, cause: str, **more: Any) -> Fault:
    command = ("timeout", "-s", number, "9", PYTHON, SCRIPT)
    return launched(f"is ended by timeout -s {number}", command, ends=(code,), cause=cause, run_state="failed", **more)


def pkill_group(number: str) -> Callable[[Scene], None]:
    def strike(scene: Scene) -> None:
        scene.await_mark("staying")
        subprocess.run(["pkill", f"-{number}", "-g", str(scene.pid)], check=True)

    return strike


def interrupt_twice(scene: Scene) -> None:
    scene.await_mark("staying")
    time.sleep(0.3)
    scene.type(b"\x03")
    scene.await_mark("asked")
    time.sleep(0.4)
    scene.type(b"\x03")


def terminate_then_kill(scene: Scene) -> None:
    scene.await_mark("staying")
    scene.kill(signal.SIGTERM)
    scene.await_mark("saving")
    time.sleep(1.0)
    scene.kill(signal.SIGKILL)


def hang_up_then_kill(scene: Scene) -> None:
    scene.await_mark("staying")
    scene.kill(signal.SIGHUP)
    time.sleep(1.0)
    scene.kill(signal.SIGKILL)


# Something goes wrong again and again, is caught, and is told with its traceback; every other step.
TROUBLED = """
def troubled(error):
    mark("staying")
    while True:
        log(loss=0.3)
        try:
            raise error
        except Exception:
            logging.exception("skipping this batch")
        time.sleep(0.1)
"""

FAULTS = [
    struck(
        "is killed by hand while it logs errors that it caught",
        TROUBLED + "troubled(RuntimeError('CUDA error: an illegal memory access was encountered'))",
        number=signal.SIGKILL,
        cause=KILLED,
    ),
    struck(
        "is killed by hand just after it caught a MemoryError",
        TROUBLED + "troubled(MemoryError('Unable to allocate 7.45 GiB for an array with shape (1000000000,)'))",
        number=signal.SIGKILL,
        cause=KILLED,
        place=Place(memory_bytes=220 * MIB),
    ),
    struck(
        "is terminated while it cannot write for want of room",
        TROUBLED + "troubled(OSError(28, 'No space left on device'))",
        number=signal.SIGTERM,
        cause=TERMINATED,
    ),
    struck(
        "is sent SIGSEGV with Python's fault handler on",
        "stay()",
        number=signal.SIGSEGV,
        cause=KILLED,
        place=Place(environ=(("PYTHONFAULTHANDLER", "1"),)),
    ),
    struck("is sent the first real-time signal", "stay()", number=34, cause=KILLED),
    struck("is sent SIGPROF", "stay()", number=signal.SIGPROF, cause=KILLED),
    struck("is sent SIGSYS", "stay()", number=signal.SIGSYS, cause=KILLED),
    struck(
        "is killed by hand while it prints that it was killed for memory",
        "print('slurmstepd: error: Detected 1 oom-kill event(s) in StepId=77.batch', file=sys.stderr)\n"
        "held = bytearray(b'x') * (80 << 20)\nstay()",
        number=signal.SIGKILL,
        cause=KILLED,
        place=Place(memory_bytes=250 * MIB),
    ),
    struck(
        "is killed by hand right after its loss became NaN",
        "for _ in range(10):\n    log(loss=float('nan'), grad_norm=float('inf'))\n"
        "mark('staying')\nwhile True:\n    log(loss=float('nan')); time.sleep(0.05)",
        number=signal.SIGKILL,
        cause=KILLED,
    ),
    struck(
        "is still saving when whoever asked it to end loses patience",
        "def save(*_):\n    mark('saving'); print('saving ...', flush=True); time.sleep(20)\n"
        "signal.signal(signal.SIGTERM, save)\nstay()",
        number=signal.SIGKILL,
        cause=KILLED,
        strike=terminate_then_kill,
    ),
    struck(
        "hears a hangup under nohup and is killed afterwards",
        "stay()",
        number=signal.SIGKILL,
        cause=KILLED,
        command=("nohup", PYTHON, SCRIPT),
        strike=hang_up_then_kill,
    ),
    Fault(
        name="is killed by pkill with its group",
        program=OWN_GROUP,
        ends=(-signal.SIGKILL,),
        state="crashed",
        cause=KILLED,
        strike=pkill_group("KILL"),
    ),
    Fault(
        name="is terminated by pkill with its group",
        program=OWN_GROUP,
        ends=(-signal.SIGTERM,),
        state="crashed",
        cause=TERMINATED,
        strike=pkill_group("TERM"),
    ),
    Fault(
        name="is hung up by pkill with its group",
        program=OWN_GROUP,
        ends=(-signal.SIGHUP,),
        state="crashed",
        cause=HANGUP,
        strike=pkill_group("HUP"),
    ),
    struck(
        "ends its own group with SIGTERM",
        "os.setpgid(0, 0)\nprint('a worker failed, taking everybody down', file=sys.stderr, flush=True)\n"
        "os.killpg(0, signal.SIGTERM)\ntime.sleep(20)",
        number=signal.SIGTERM,
        cause=TERMINATED,
        strike=None,
    ),
    struck(
        "finishes its epoch at SIGTERM and leaves with 0",
        "told = []\nsignal.signal(signal.SIGTERM, lambda *_: told.append(1))\nmark('staying')\n"
        "while not told:\n    log(loss=0.2); time.sleep(0.05)\n"
        "for _ in range(20):\n    log(loss=0.1); time.sleep(0.05)\nprint('checkpoint saved, bye')",
        number=signal.SIGTERM,
        cause=TERMINATED,
        ends=(0,),
    ),
    struck(
        "leaves with 85 at SIGTERM, so that its queue starts it again",
        "def stop(*_):\n    raise SystemExit(85)\nsignal.signal(signal.SIGTERM, stop)\n"
        "try:\n    stay()\nexcept Exception:\n    print('not reached')",
        number=signal.SIGTERM,
        cause=TERMINATED,
        ends=(85,),
    ),
    struck(
        "takes SIGTERM for Ctrl-C and leaves with 1",
        "signal.signal(signal.SIGTERM, signal.default_int_handler)\n"
        "try:\n    stay()\nexcept KeyboardInterrupt:\n    print('interrupted, cleaning up'); sys.exit(1)",
        number=signal.SIGTERM,
        cause=TERMINATED,
        ends=(1,),
    ),
    launched(
        "is ended by timeout in a pipeline",
        ("bash", "-c", f"timeout 9 {PYTHON} {SCRIPT} | tee train.log; exit ${{PIPESTATUS[0]}}"),
        ends=(124,),
        cause=TERMINATED,
        run_state="failed",
    ),
    launched(
        "is killed by the script that waited for it",
        ("bash", "-c", f"{PYTHON} {SCRIPT} & sleep 9; kill -9 $!; wait $!"),
        ends=(137,),
        cause=KILLED,
        run_state="failed",
    ),
    timed("INT", 124, INTERRUPTED, state="failed"),
    timed("USR2", 124, KILLED),
    struck(
        "is interrupted in an event loop",
        "async def main():\n    mark('staying')\n    await asyncio.gather(asyncio.sleep(30), asyncio.sleep(31))\n"
        "asyncio.run(main())",
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
    ),
    # From outside it is a program that left with 1 and said nothing.
    struck(
        "is interrupted, saves, and leaves with 1",
        "try:\n    stay()\nexcept KeyboardInterrupt:\n    open('last.ckpt', 'wb').write(bytes(1 << 20))\n"
        "    sys.exit(1)",
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        ends=(1,),
        without_client=(INTERRUPTED, "nonzero-exit"),
    ),
    struck(
        "asks whether Ctrl-C was meant, and it was",
        "try:\n    stay()\nexcept KeyboardInterrupt:\n    print('press again to stop'); mark('asked'); time.sleep(20)",
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        strike=interrupt_twice,
        place=TERMINAL,
    ),
    launched(
        "waits in the background of a shell whose terminal goes away",
        ("bash", "-c", f"{PYTHON} {SCRIPT} & wait"),
        ends=(-signal.SIGHUP,),
        cause=HANGUP,
        strike=hang_up,
        place=TERMINAL,
    ),
]
