"""Signals that debuggers, terminals, multiplexers, timers, watchers and clean-ups send, and what came of them."""

import os
import signal
import subprocess
import time
from collections.abc import Callable

from tests.zoo.fault import PYTHON, SCRIPT, Place
from tests.zoo.faults.held_fourth_signals import then
from tests.zoo.faults.held_fresh_exceptions import LEFT, failing, written
from tests.zoo.faults.held_fresh_signals import BEGIN_AND_STAY, crashed
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.killed import kill
from tests.zoo.faults.memory import limit
from tests.zoo.scene import Scene

KILLED, TERMINATED, INTERRUPTED, HANGUP = "killed", "terminated", "interrupted", "hangup"
ABORTED, STALLED = "aborted", "stalled"
TERMINAL = Place(has_terminal=True)

# The window is the terminal; the server that holds it is no child of whoever waits here.
MULTIPLEXER = f"""
export TMUX_TMPDIR="$ZOO_STAGE"
tmux -L zoo -f /dev/null new-session -d -s train '{PYTHON} {SCRIPT} > pane.log 2>&1'
while tmux -L zoo has-session -t train 2> /dev/null; do sleep 0.1; done
exit 1
"""

# Ends whatever has the word in its command line, as an impatient person does.
TIDY = f"""
{PYTHON} {SCRIPT} &
until [ -e "$ZOO_STAGE/staying" ]; do sleep 0.1; done
sleep 0.3
for pid in /proc/[0-9]*; do
  if [ "${{pid#/proc/}}" = "$!" ]; then echo "tidying up $!" >&2; kill -9 "$!"; fi
done
wait $!
"""

# Runs something for so long at most, and says so in its own words.
RUNNER = """
import subprocess, sys
training = subprocess.Popen([sys.executable, sys.argv[1]])
try:
    training.wait(float(sys.argv[2]))
except subprocess.TimeoutExpired:
    print(f"Task train exceeded its time limit of {sys.argv[2]} s, sending SIGTERM", flush=True)
    training.terminate()
    print("Task exited with return code Negsignal.SIGTERM", training.wait(), flush=True)
sys.exit(1)
"""


def end_session(scene: Scene) -> None:
    """Somebody closes the window of the multiplexer."""
    scene.await_mark("staying")
    time.sleep(0.3)
    where = {**os.environ, "TMUX_TMPDIR": str(scene.stage)}
    uid = scene.stage.stat().st_uid
    command = ["tmux", "-L", "zoo", "kill-session", "-t", "train"]
    subprocess.run(command, env=where, check=True, user=uid, group=uid, extra_groups=())


def debug(scene: Scene) -> None:
    """Somebody attaches a debugger, looks, and ends what he looked at."""
    scene.await_mark("staying")
    command = ["gdb", "-p", str(scene.pid), "-batch", "-nx", "-ex", "set auto-load off", "-ex", "kill"]
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)


def interrupt_script(scene: Scene) -> None:
    """Of the two only the script hears it."""
    scene.await_mark("staying")
    time.sleep(0.3)
    scene.kill(signal.SIGINT, scene.pid_of("script"))


def press_twice(keys: bytes, pause_s: float) -> Callable[[Scene], None]:
    """The second time because nothing seemed to happen."""

    def strike(scene: Scene) -> None:
        scene.await_mark("staying")
        time.sleep(0.3)
        scene.type(keys)
        time.sleep(pause_s)
        scene.type(keys)

    return strike


FAULTS = [
    # Where only the command is watched, it is a shell that waited for something and leaves with 1.
    crashed(
        "is in a window of a multiplexer that somebody closes",
        BEGIN_AND_STAY,
        number=signal.SIGHUP,
        cause=HANGUP,
        command=shelled(MULTIPLEXER),
        ends=(1,),
        strike=end_session,
        run_state="failed",
        without_client=(LEFT, HANGUP, "unknown"),
        needs=("tmux",),
    ),
    crashed(
        "is ended by somebody who looks at it with a debugger",
        BEGIN_AND_STAY,
        number=signal.SIGKILL,
        cause=KILLED,
        strike=debug,
        needs=("gdb",),
    ),
    crashed(
        "is stopped with Ctrl-C a second time while it saves",
        """
        begin()
        try:
            stay()
        except KeyboardInterrupt:
            print("saving, press Ctrl-C again to leave at once", flush=True)
            mark("saving")
            time.sleep(20)
        """,
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        strike=press_twice(b"\x03", 0.8),
        place=TERMINAL,
    ),
    crashed(
        "is killed by a script that tidies up",
        BEGIN_AND_STAY,
        number=signal.SIGKILL,
        cause=KILLED,
        command=shelled(TIDY),
        ends=(137,),
        strike=None,
        run_state="failed",
    ),
    crashed(
        "takes longer than its runner allows",
        BEGIN_AND_STAY,
        number=signal.SIGTERM,
        cause=TERMINATED,
        command=(PYTHON, "-c", RUNNER, SCRIPT, "3"),
        ends=(1,),
        strike=None,
        run_state="failed",
    ),
    # What it prints is what the interpreter prints when a library aborts; a person asked for it.
    crashed(
        "shows its stacks because timeout sends it SIGABRT",
        "import faulthandler\nfaulthandler.enable()\n" + BEGIN_AND_STAY,
        number=signal.SIGABRT,
        cause=KILLED,
        command=("timeout", "-s", "ABRT", "4", PYTHON, SCRIPT),
        ends=(124,),
        strike=None,
        run_state="failed",
    ),
    # It was asked to end; that it could not save is why it did not leave well.
    crashed(
        "cannot save for want of room when it is told to end",
        """
        def save(number, frame):
            with open("disk/last.ckpt", "wb") as file:
                file.write(bytes(9 << 20))
            sys.exit(0)
        begin()
        signal.signal(signal.SIGTERM, save)
        stay()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        also=("disk-full",),
        ends=(1,),
        place=Place(disks=(("disk", "size=2m"),)),
    ),
    crashed(
        "faults while it cleans up after SIGTERM",
        """
        def clean(number, frame):
            print("SIGTERM: closing the environment", flush=True)
            ctypes.string_at(0)
        begin()
        signal.signal(signal.SIGTERM, clean)
        stay()
        """,
        number=signal.SIGSEGV,
        cause="segmentation-fault",
        also=(TERMINATED,),
        strike=kill(signal.SIGTERM),
    ),
    # The thread that looks after its collectives gives up on the main one.
    crashed(
        "has a monitor that sees no heartbeat and aborts",
        """
        def monitor():
            time.sleep(1.2)
            print("[Rank 0] Heartbeat monitor timed out! Process will be terminated after dumping debug info. "
                  "workMetaList_.size()=1", file=sys.stderr, flush=True)
            os.abort()
        begin()
        log(loss=0.5)
        threading.Thread(target=monitor, daemon=True).start()
        threading.Event().wait(30)
        """,
        number=signal.SIGABRT,
        cause=ABORTED,
        also=(STALLED, "collective-timeout"),
        strike=None,
    ),
    crashed(
        "is warned twice, is asked to end, and is killed at last",
        """
        begin()
        for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
            signal.signal(number, lambda number, frame: print("heard", signal.Signals(number).name, flush=True))
        stay()
        """,
        number=signal.SIGKILL,
        cause=KILLED,
        strike=then((signal.SIGUSR1, 0.2), (signal.SIGUSR2, 0.2), (signal.SIGTERM, 0.2), (signal.SIGKILL, 0.8)),
    ),
    # Its memory is nearly full and its loss is NaN; neither ended it.
    crashed(
        "is terminated with its memory nearly full and its loss not a number",
        """
        begin()
        held = bytearray(b"x") * (140 << 20)
        for step in range(30):
            log(loss=math.nan); time.sleep(0.02)
        print("WARNING: memory usage 88 %, loss is nan", file=sys.stderr, flush=True)
        stay()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        place=limit(260),
    ),
    crashed(
        "is killed while it waits for a lock that it holds itself",
        """
        begin()
        log(loss=0.5)
        mark("staying")
        lock = threading.Lock()
        with lock:
            lock.acquire()
        """,
        number=signal.SIGKILL,
        cause=KILLED,
        also=(STALLED,),
        strike=then((signal.SIGKILL, 2.0)),
    ),
    # Nobody presses anything: its own code asks for what Ctrl-C does, because of a file.
    crashed(
        "raises what Ctrl-C raises because a budget is used up",
        """
        begin()
        for step in range(40):
            log(loss=0.5); time.sleep(0.02)
            if step == 30:
                raise KeyboardInterrupt("budget of 30 steps is used up")
        """,
        number=signal.SIGINT,
        cause="uncaught-exception",
        also=(INTERRUPTED,),
        state="failed",
        strike=None,
    ),
    failing(
        "is told to end by a lease that it lost, and leaves with 75",
        """
        def watch():
            time.sleep(0.8)
            print("lease lost to another worker (was this node preempted?), leaving with EX_TEMPFAIL", file=sys.stderr,
                  flush=True)
            os._exit(75)
        begin()
        threading.Thread(target=watch, daemon=True).start()
        stay()
        """,
        cause=LEFT,
        code=75,
    ),
    # The shell had told its children to ignore Ctrl-C, and hands SIGTERM on when it is interrupted itself.
    written(
        "is terminated by a script that was interrupted",
        BEGIN_AND_STAY,
        cause=TERMINATED,
        command=shelled(
            f"echo $$ > $ZOO_STAGE/script\n"
            f"trap 'echo stopping >&2; kill $pid; wait $pid; exit 130' INT\n{PYTHON} {SCRIPT} & pid=$!; wait $pid"
        ),
        ends=(130,),
        state="crashed",
        run_state="failed",
        strike=interrupt_script,
    ),
]
