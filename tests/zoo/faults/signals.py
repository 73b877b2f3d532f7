"""Signals by other routes: supervising scripts, process groups, timers, pipes, handlers of several kinds."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.interrupts import press
from tests.zoo.faults.killed import DEAF, TRAINING, kill
from tests.zoo.scene import Scene

# Waits until the training is well under way, then does something to it.
SUPERVISOR = """
import os, subprocess, sys, time
training = subprocess.Popen([sys.executable, sys.argv[1]])
while not os.path.exists(os.environ["ZOO_STAGE"] + "/staying"):
    time.sleep(0.05)
time.sleep(0.5)
{deed}
training.wait()
sys.exit(1)
"""

TERMINAL = """
import os, pty, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.executable, [sys.executable, sys.argv[1]])
while not os.path.exists(os.environ["ZOO_STAGE"] + "/staying"):
    time.sleep(0.05)
time.sleep(0.5)
os.close(terminal)
sys.exit(os.waitpid(pid, 0)[1] != 0)
"""

OWN_GROUP = "import os\nos.setpgid(0, 0)\n" + TRAINING
DYING_PARENT = """
import ctypes, os
from training import begin, mark, stay
begin()
ctypes.CDLL(None).prctl(1, 15)
mark("parent", os.getppid())
stay()
"""


def strike_group(number: int) -> Callable[[Scene], None]:
    def strike(scene: Scene) -> None:
        scene.await_mark("staying")
        subprocess.run(["bash", "-c", f"kill -{number} -- -{scene.pid}"], check=True)

    return strike


def strike_by_pidfd(scene: Scene) -> None:
    scene.await_mark("staying")
    fd = os.pidfd_open(scene.pid)
    signal.pidfd_send_signal(fd, signal.SIGKILL)
    os.close(fd)


def strike_by_xargs(scene: Scene) -> None:
    scene.await_mark("staying")
    subprocess.run(["bash", "-c", f"echo {scene.pid} | xargs kill -KILL"], check=True)


def strike_stopped(scene: Scene) -> None:
    scene.await_mark("staying")
    scene.kill(signal.SIGSTOP)
    time.sleep(1.5)
    scene.kill(signal.SIGKILL)


def interrupt_twice(scene: Scene) -> None:
    scene.await_mark("staying")
    scene.kill(signal.SIGINT)
    scene.await_mark("cleaning")
    time.sleep(0.3)
    scene.kill(signal.SIGINT)


def strike_parent(number: int) -> Callable[[Scene], None]:
    def strike(scene: Scene) -> None:
        parent = scene.pid_of("parent")
        scene.await_mark("staying")
        scene.kill(number, parent)

    return strike


def crashed(name: str, program: str, *, ends: tuple[int, ...], cause: str, **more: Any) -> Fault:
    """Ended by a signal."""
    return Fault(name=name, program=program, ends=ends, cause=cause, **{"state": "crashed", **more})


def terminable(name: str, body: str, code: int) -> Fault:
    """Hears SIGTERM and leaves by itself."""
    program = f"import signal, sys\nfrom training import begin, log, mark, stay\nbegin()\n{body}\n"
    return crashed(name, program, ends=(code,), cause="terminated", strike=kill(signal.SIGTERM))


def supervised(name: str, deed: str, cause: str, **more: Any) -> Fault:
    """A script ends it, and fails in turn."""
    command = (PYTHON, "-c", SUPERVISOR.format(deed=deed), SCRIPT)
    return crashed(name, TRAINING, ends=(1,), cause=cause, command=command, run_state="failed", **more)


KILLED, TERMINATED = (-signal.SIGKILL,), (-signal.SIGTERM,)


def struck(name: str, body: str, *, number: int, cause: str, **more: Any) -> Fault:
    """Trains (`stay()` at its end) until somebody sends a signal from a shell."""
    imports = "import asyncio, faulthandler, logging, os, signal, sys, threading, time"
    program = f"{imports}\nfrom training import begin, log, mark, stay\nbegin()\n{body}\n"
    usual = {"ends": (-number,), "state": "crashed", "strike": kill(number)}
    return Fault(name=name, program=program, cause=cause, **{**usual, **more})


def hang_up(scene: Scene) -> None:
    scene.await_mark("staying")
    time.sleep(0.3)
    scene.hang_up()


FAULTS = [
    crashed("is killed through a pidfd", TRAINING, ends=KILLED, cause="killed", strike=strike_by_pidfd),
    crashed("is killed by xargs", TRAINING, ends=KILLED, cause="killed", strike=strike_by_xargs),
    crashed("is killed with its group", OWN_GROUP, ends=KILLED, cause="killed", strike=strike_group(9)),
    crashed("is stopped and killed while it stands", TRAINING, ends=KILLED, cause="killed", strike=strike_stopped),
    supervised("is killed by the script that started it", "training.kill()", "killed"),
    # The script fails with an exception of its own because it killed the training on purpose.
    crashed(
        "is killed by the time limit of subprocess.run",
        TRAINING,
        ends=(1,),
        cause="killed",
        command=(PYTHON, "-c", "import subprocess, sys\nsubprocess.run(sys.argv[1:], timeout=9)", PYTHON, SCRIPT),
        run_state="failed",
        without_client=("killed", "uncaught-exception"),
    ),
    crashed(
        "is deaf to timeout, which kills it then",
        DEAF,
        ends=(-signal.SIGKILL, 137),
        cause="killed",
        command=("timeout", "-k", "1", "9", PYTHON, SCRIPT),
    ),
    crashed("is sent SIGUSR2", TRAINING, ends=(-signal.SIGUSR2,), cause="killed", strike=kill(signal.SIGUSR2)),
    crashed("is sent SIGVTALRM", TRAINING, ends=(-signal.SIGVTALRM,), cause="killed", strike=kill(signal.SIGVTALRM)),
    # Nobody sent it and no cause has its name: the nearest one is as good as to say that we don't know.
    crashed(
        "lets an alarm ring that nobody handles",
        "import signal\nfrom training import begin, stay\nbegin()\nsignal.alarm(1)\nstay()\n",
        ends=(-signal.SIGALRM,),
        cause="killed",
        also=("unknown",),
    ),
    crashed(
        "writes to a pipe that nobody reads any more",
        "import signal\nfrom training import begin\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nbegin()\n"
        "for step in range(10_000):\n    print('step', step, flush=True)\n",
        ends=(141,),
        cause="killed",
        also=("unknown",),
        command=("bash", "-c", f"{PYTHON} {SCRIPT} | head -n 8; exit ${{PIPESTATUS[0]}}"),
        run_state="failed",
    ),
    crashed(
        "raises because nobody reads its output any more",
        "from training import begin\nbegin()\nfor step in range(10_000):\n    print('step', step, flush=True)\n",
        ends=(1, 120),
        state="failed",
        cause="uncaught-exception",
        command=("bash", "-c", f"{PYTHON} {SCRIPT} | head -n 8; exit ${{PIPESTATUS[0]}}"),
    ),
    supervised("is terminated by the script that started it", "training.terminate()", "terminated"),
    crashed("is terminated with its group", OWN_GROUP, ends=TERMINATED, cause="terminated", strike=strike_group(15)),
    crashed(
        "sends SIGTERM to its main thread from another",
        "import signal, threading, time\nfrom training import begin, stay\nbegin()\n"
        "def stop():\n    time.sleep(1)\n    signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)\n"
        "threading.Thread(target=stop).start()\nstay()\n",
        ends=TERMINATED,
        cause="terminated",
    ),
    # From outside the first thing to die is the shell, by SIGKILL.
    crashed(
        "asked for SIGTERM when its parent dies",
        DYING_PARENT,
        ends=KILLED,
        cause="terminated",
        without_client=("killed", "terminated"),
        command=("bash", "-c", f"{PYTHON} {SCRIPT}; echo over"),
        strike=strike_parent(9),
    ),
    crashed(
        "is told by its shell, which was told to end",
        "import os\nfrom training import begin, mark, stay\nbegin()\nmark('parent', os.getppid())\nstay()\n",
        ends=(143,),
        cause="terminated",
        run_state="failed",  # of the shell, which outlived it
        command=(
            "bash",
            "-c",
            f"trap 'kill -TERM $child' TERM; {PYTHON} {SCRIPT} & child=$!; wait $child; wait $child; exit $?",
        ),
        strike=strike_parent(15),
    ),
    terminable(
        "leaves with 143 at SIGTERM", "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\nstay()", code=143
    ),
    terminable(
        "raises an exception of its own at SIGTERM",
        "class Preempted(Exception):\n    pass\ndef stop(*_):\n    raise Preempted('asked to stop')\n"
        "signal.signal(signal.SIGTERM, stop)\nstay()",
        code=1,
    ),
    terminable(
        "hears SIGTERM in an event loop and leaves with 7",
        "import asyncio\nasync def main():\n    told = asyncio.Event()\n"
        "    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)\n"
        "    mark('staying')\n    await told.wait()\n    await asyncio.sleep(0.5)\nasyncio.run(main())\nsys.exit(7)",
        code=7,
    ),
    terminable(
        "waits for SIGTERM in sigwait and leaves with 0 by os._exit",
        "import os\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\nmark('staying')\n"
        "signal.sigwait([signal.SIGTERM])\nos._exit(0)",
        code=0,
    ),
    crashed(
        "loses a terminal that a script made for it",
        TRAINING,
        ends=(1,),
        cause="hangup",
        command=(PYTHON, "-c", TERMINAL, SCRIPT),
        run_state="failed",
    ),
    crashed("is sent SIGHUP with its group", OWN_GROUP, ends=(-1,), cause="hangup", strike=strike_group(1)),
    crashed(
        "is interrupted with its group",
        OWN_GROUP,
        ends=(-signal.SIGINT,),
        state="failed",
        cause="interrupted",
        strike=strike_group(2),
    ),
    crashed(
        "is interrupted again while it cleans up",
        "import time\nfrom training import begin, mark, stay\nbegin()\n"
        "try:\n    stay()\nfinally:\n    mark('cleaning'); time.sleep(20)\n",
        ends=(-signal.SIGINT,),
        state="failed",
        cause="interrupted",
        strike=interrupt_twice,
    ),
    crashed(
        "catches Ctrl-C and leaves with 130",
        "import sys\nfrom training import begin, stay\nbegin()\n"
        "try:\n    stay()\nexcept KeyboardInterrupt:\n    print('bye')\n    sys.exit(130)\n",
        ends=(130,),
        state="failed",
        cause="interrupted",
        strike=press(b"\x03"),
        place=Place(has_terminal=True),
    ),
    # It does not mind the hangup; what it prints next has no place to go, and that is what it fails for.
    struck(
        "ignores that its terminal went and cannot print any more",
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\nmark('staying')\n"
        "for step in range(400):\n    print('step', step, flush=True); time.sleep(0.05)",
        number=signal.SIGHUP,
        cause="uncaught-exception",
        also=("hangup",),
        ends=(1, 120),
        state="failed",
        strike=hang_up,
        place=Place(has_terminal=True),
    ),
    struck(
        "is sent SIGABRT after a library spoke of terminating",
        "print(\"terminate called after throwing an instance of 'c10::Error'\", file=sys.stderr, flush=True)\nstay()",
        number=signal.SIGABRT,
        cause="killed",
    ),
    crashed(
        "is ended by timeout -s HUP",
        TRAINING,
        command=("timeout", "-s", "HUP", "9", PYTHON, SCRIPT),
        ends=(124,),
        cause="hangup",
        run_state="failed",
    ),
    crashed(
        "is ended by timeout -s QUIT",
        TRAINING,
        command=("timeout", "-s", "QUIT", "9", PYTHON, SCRIPT),
        ends=(124,),
        cause="killed",
        run_state="failed",
    ),
]
