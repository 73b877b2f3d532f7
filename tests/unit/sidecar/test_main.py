"""A sidecar that fails is gone, and says in the run's directory what happened."""

import subprocess
import sys
from pathlib import Path

FAILS = """
import socket, sys, threading
import holter.sidecar.watching as sidecar
from holter.sidecar.loop import Sidecar

def fail(self, watch, lead):
    threading.Thread(target=threading.Event().wait).start()  # as one of the watch that nobody ends
    raise ZeroDivisionError("mine")

Sidecar.run = fail
sidecar._settle_in = lambda first: None
sidecar._inherited = lambda: (socket.socketpair()[0], -1)
sys.exit(sidecar.main())
"""


def test_a_watch_that_fails_ends_and_leaves_word(tmp_path: Path) -> None:
    from holter.wire.way_back import Watch, encode

    watch = Watch(run="r1", directory=str(tmp_path), journal="0" * 32, pid=1, process_started=1)
    done = subprocess.run([sys.executable, "-c", FAILS, encode(watch).decode()], timeout=60, check=False)
    assert done.returncode == 1
    assert "the sidecar ends: Traceback" in (said := (tmp_path / "debug-internal.log").read_text())
    assert "ZeroDivisionError: mine" in said
