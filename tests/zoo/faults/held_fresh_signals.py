"""Signals that watchdogs, launchers, siblings, guards and clean-ups send, and what programs make of them."""

import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import RAISED, failing, written
from tests.zoo.faults.held_fresh_memory import lowered
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.interrupts import press
from tests.zoo.faults.killed import kill
from tests.zoo.faults.memory import limit
from tests.zoo.scene import Scene

KILLED, TERMINATED, INTERRUPTED, HANGUP = "killed", "terminated", "interrupted", "hangup"
BEGIN_AND_STAY = "begin()\nstay()\n"

# Ends whoever has not written for three seconds so that it leaves a core.
WATCHDOG = """
import os, signal, subprocess, sys, time
training = subprocess.Popen([sys.executable, sys.argv[1]])
while not os.path.exists(os.environ["ZOO_STAGE"] + "/stuck"):
    time.sleep(0.05)
time.sleep(3)
print("watchdog: no heartbeat for 3 s, sending SIGABRT to get a core", flush=True)
training.send_signal(signal.SIGABRT)
print("training left with", training.wait())
sys.exit(1)
"""

# The sibling waits until the training is under way.
SIBLING = f"""
{PYTHON} {SCRIPT} &
training=$!
( until [ -e "$ZOO_STAGE/staying" ]; do sleep 0.1; done; sleep 0.5
  echo "evaluator: lost the lease, fencing the other writer" >&2; kill -9 $training ) &
wait $training
"""

# Whatever ends first takes all the others with it.
TOGETHER = f"""
trap 'trap - TERM; kill -TERM 0' EXIT
{PYTHON} {SCRIPT} &
until [ -e "$ZOO_STAGE/staying" ]; do sleep 0.1; done
sleep 0.5
echo "tensorboard: port 6006 is in use" >&2
exit 4
"""


def crashed(name: str, body: str, *, number: int, cause: str, **more: Any) -> Fault:
    """Ended by a signal from outside."""
    usual = {"ends": (-number,), "state": "crashed", "strike": kill(number)}
    return written(name, body, cause=cause, **{**usual, **more})


def terminate_group(scene: Scene) -> None:
    """As a scheduler of somebody's own: everything that the job started."""
    scene.await_mark("staying")
    time.sleep(0.3)
    subprocess.run(["bash", "-c", f"kill -TERM -- -{os.getpgid(scene.pid)}"], check=True)


def terminate_then_kill(scene: Scene) -> None:
    scene.await_mark("staying")
    time.sleep(0.5)
    scene.kill(signal.SIGTERM)
    time.sleep(2.0)
    scene.kill(signal.SIGKILL)


def kill_marked(mark: str) -> Callable[[Scene], None]:
    """Of the process whose pid the program left there."""

    def strike(scene: Scene) -> None:
        pid = scene.pid_of(mark)
        scene.await_mark("staying")
        time.sleep(0.3)
        scene.kill(signal.SIGKILL, pid)

    return strike


def ask_to_stop(scene: Scene) -> None:
    port = scene.await_mark("port")
    scene.await_mark("staying")
    urllib.request.urlopen(f"http://127.0.0.1:{port}/stop", timeout=10).close()


FAULTS = [
    # It stood still; whoever noticed sent the signal.
    written(
        "stands still until its watchdog wants a core of it",
        """
        begin()
        mark("stuck")
        lock = threading.Lock()
        with lock:
            lock.acquire(timeout=60)
        """,
        cause=KILLED,
        also=("stalled",),
        ends=(1,),
        state="crashed",
        run_state="failed",
        command=(PYTHON, "-c", WATCHDOG, SCRIPT),
    ),
    crashed(
        "is terminated with the shell that started it",
        BEGIN_AND_STAY,
        number=signal.SIGTERM,
        cause=TERMINATED,
        command=("setsid", "--wait", "bash", "-c", f"{PYTHON} {SCRIPT}; echo over"),
        strike=terminate_group,
    ),
    crashed(
        "is killed by a sibling that lost its lease",
        BEGIN_AND_STAY,
        number=signal.SIGKILL,
        cause=KILLED,
        command=shelled(SIBLING),
        ends=(137,),
        run_state="failed",
        strike=None,
    ),
    crashed(
        "is taken along by a script of which another part failed",
        BEGIN_AND_STAY,
        number=signal.SIGTERM,
        cause=TERMINATED,
        command=("setsid", "--wait", "bash", "-c", TOGETHER),
        strike=None,
    ),
    crashed(
        "is terminated by a loader of its own",
        """
        def load(parent):
            time.sleep(1.0)
            print("loader: no more shards, ending the training", flush=True)
            os.kill(parent, signal.SIGTERM)
        begin()
        multiprocessing.get_context("fork").Process(target=load, args=(os.getpid(),)).start()
        stay()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        strike=None,
    ),
    # The thread that hears the request sends the signal to its own process.
    crashed(
        "is asked to stop over the network and sends itself SIGTERM",
        """
        import http.server
        class Control(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200); self.end_headers()
                threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        server = http.server.HTTPServer(("127.0.0.1", 0), Control)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        begin()
        mark("port", server.server_port)
        stay()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        strike=ask_to_stop,
    ),
    crashed(
        "saves at SIGTERM and then dies of it as it would have",
        """
        def save(number, frame):
            open("last.ckpt", "wb").write(bytes(1 << 20))
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        begin()
        signal.signal(signal.SIGTERM, save)
        stay()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
    ),
    # It was told to end, and took the shortest way.
    crashed(
        "kills itself when it is told to end",
        """
        def leave(number, frame):
            print("SIGTERM: not waiting for threads", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        begin()
        signal.signal(signal.SIGTERM, leave)
        stay()
        """,
        number=signal.SIGTERM,
        cause=TERMINATED,
        also=(KILLED,),
        ends=(-signal.SIGKILL,),
    ),
    # Python would hear the first signal, did native code ever come back to it.
    crashed(
        "is in native code when it is told to end and killed for not hearing it",
        """
        import hashlib
        begin()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        mark("staying")
        hashlib.pbkdf2_hmac("sha256", b"tokens", b"salt", 200_000_000)
        """,
        number=signal.SIGKILL,
        cause=KILLED,
        strike=terminate_then_kill,
    ),
    crashed(
        "computes until somebody limits its CPU time",
        """
        begin()
        mark("working")
        value = 1.0
        while True:
            value = (value * 1.0000001) % 3.0
        """,
        number=signal.SIGXCPU,
        cause="cpu-time-limit",
        strike=lowered("--cpu=1:120"),
    ),
    crashed(
        "shows its stacks at SIGQUIT and dies of it",
        """
        import faulthandler
        faulthandler.register(signal.SIGQUIT, all_threads=True, chain=True)
        begin()
        stay()
        """,
        number=signal.SIGQUIT,
        cause=KILLED,
    ),
    crashed(
        "is killed by hand while files that it read fill its cgroup",
        """
        with open("shard.bin", "wb") as file:
            file.truncate(500 << 20)
        begin()
        with open("shard.bin", "rb") as file:
            while file.read(1 << 20):
                pass
        stay()
        """,
        number=signal.SIGKILL,
        cause=KILLED,
        place=limit(180),
    ),
    crashed(
        "had too many files open for a moment and is killed by hand",
        """
        begin()
        kept = []
        try:
            while True:
                kept.append(open("/dev/null"))
        except OSError as error:
            print(f"closing {len(kept)} shards: {error}", file=sys.stderr, flush=True)
            for file in kept:
                file.close()
        stay()
        """,
        number=signal.SIGKILL,
        cause=KILLED,
        place=Place(limits=("--nofile=160",)),
    ),
    crashed(
        "keeps what it has at an interrupt and hands the interrupt on",
        """
        begin()
        try:
            stay()
        except KeyboardInterrupt:
            print("Detected KeyboardInterrupt, saving last.ckpt ...", flush=True)
            open("last.ckpt", "wb").write(bytes(1 << 20))
            raise
        """,
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
    ),
    crashed(
        "is stopped with Ctrl-C before a program that keeps its output",
        BEGIN_AND_STAY,
        number=signal.SIGINT,
        cause=INTERRUPTED,
        state="failed",
        command=shelled(f"set -o pipefail; {PYTHON} -u {SCRIPT} 2>&1 | tee train.log"),
        strike=press(b"\x03"),
        place=Place(has_terminal=True),
    ),
    # From outside the first thing to die is the program that had made the terminal, by SIGKILL.
    crashed(
        "loses its terminal because somebody killed the program that showed it",
        """
        begin()
        mark("terminal", os.getppid())
        stay()
        """,
        number=signal.SIGHUP,
        cause=HANGUP,
        ends=(-signal.SIGKILL,),
        without_client=(KILLED, HANGUP),
        command=("script", "--quiet", "--return", "--command", f"exec {PYTHON} {SCRIPT}", "/dev/null"),
        strike=kill_marked("terminal"),
    ),
    failing(
        "shares a table whose keeper somebody kills",
        """
        begin()
        with multiprocessing.get_context("fork").Manager() as manager:
            table = manager.dict()
            mark("keeper", manager._process.pid)
            mark("staying")
            for step in range(800):
                table[step] = 1 / (step + 1)
                log(loss=table[step]); time.sleep(0.05)
        """,
        cause=KILLED,
        strike=kill_marked("keeper"),
    ),
    # timeout(1) kills its program, and then itself in the same way.
    failing(
        "gives a tool two seconds, after which it is killed",
        """
        begin()
        subprocess.run(["timeout", "-s", "KILL", "2", "sleep", "30"], check=True)
        """,
        cause=KILLED,
        also=(RAISED,),
    ),
]
