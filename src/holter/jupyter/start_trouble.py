"""Why a kernel could not start. Its own words went past us into the Jupyter server's log: its Python is asked again."""

import contextlib
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence

import msgspec

from holter.model.records import Raised

LAUNCHER = "ipykernel_launcher"
IMPORT = "import ipykernel.kernelapp"
WITHIN_S = 10.0
MOST_TEXT = 8 << 10
# A server starts a kernel that dies at once some times more.
SAME_S = 60.0
_EXCEPTION = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
_known: dict[str, tuple[float, Raised | None]] = {}


def find_trouble(command: Sequence[str], *, cwd: str, env: Mapping[str, str], at_ns: int) -> Raised | None:
    """The exception with which the kernel's Python fails before any notebook could run; None where it does not.

    Only imports what every Python kernel begins with. Blocks for a second or so. Raises nothing.
    """
    if LAUNCHER not in command:
        return None  # of another language, or started in a way of its own
    python = command[0]
    known = _known.get(python)
    if known is None or time.monotonic() - known[0] > SAME_S:
        with contextlib.suppress(OSError, ValueError):
            _known[python] = known = (time.monotonic(), _ask(python, cwd=cwd, env=env))
    found = known[1] if known is not None else None
    return msgspec.structs.replace(found, at_ns=at_ns) if found is not None else None


def _ask(python: str, *, cwd: str, env: Mapping[str, str]) -> Raised | None:
    asked = subprocess.Popen(
        [python, "-c", IMPORT],
        cwd=cwd or None,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        said = asked.communicate(timeout=WITHIN_S)[1]
    except subprocess.TimeoutExpired:
        os.killpg(asked.pid, signal.SIGKILL)
        asked.communicate()
        return None
    return read_trouble(said.decode("utf-8", "replace")) if asked.returncode else None


def read_trouble(text: str) -> Raised | None:
    """The exception that a traceback ends with. Pure."""
    text = text.strip()[-MOST_TEXT:]
    match = _EXCEPTION.match(text.rpartition("\n")[2])
    if match is None:
        return None
    return Raised(at_ns=0, type=match["type"], message=match["message"] or "", traceback=f"{text}\n")
