"""`debug-internal.log` of a run: what the sidecar did, and what went wrong with it."""

import os
import sys
import time

NAME = "debug-internal.log"
MOST_BYTES = 1 << 20


def write_down_failure(directory: str, text: str = "") -> None:
    """Append the exception that is being handled. Never raises."""
    failure = sys.exception()
    try:
        import traceback  # nobody needs it as long as all is well

        what = traceback.format_exc()
    except Exception:  # noqa: BLE001  no memory or no descriptor left for that: its name at least
        what = repr(failure)
    write_down(directory, f"ERROR {text}{what}")


def write_down(directory: str, text: str) -> None:
    """Append a line with its time, as long as the file is not too long. Never raises."""
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} [{os.getpid()}] {text}\n"
    try:
        fd = os.open(os.path.join(directory, NAME), os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            if os.fstat(fd).st_size < MOST_BYTES:
                os.write(fd, line.encode(errors="replace"))
        finally:
            os.close(fd)
    except OSError:
        sys.stderr.write(line)
