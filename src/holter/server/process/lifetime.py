"""Ends this process with another one, however that one ends: who is killed can't tell its children to leave."""

import os
import select
import signal
import threading
import time

from holter.probes.identity import identify, is_alive

LOOK_EVERY_S = 1.0


def leave_with(pid: int) -> None:
    """Send ourselves SIGTERM when that process is gone. Returns at once."""
    try:
        pidfd = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1
    except ProcessLookupError:
        _leave()
        return
    except OSError:
        pidfd = -1  # an older system: then somebody has to look
    threading.Thread(target=_wait, args=(pid, pidfd), name="holter-lifetime", daemon=True).start()


def _wait(pid: int, pidfd: int) -> None:
    if pidfd >= 0:
        select.select([pidfd], [], [])
    else:
        process = identify(pid)
        while process is not None and is_alive(process) is not False:
            time.sleep(LOOK_EVERY_S)
    _leave()


def _leave() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
