"""Ends a command as Ctrl-C in a terminal does."""

import contextlib
import os
import signal


def interrupt(pid: int) -> None:
    """End a command and what it started: all of its process group, and nobody else.

    One that was started in the background ignores SIGINT, and so do we then: it gets SIGTERM.
    """
    from holter.probes.tree import open_tree

    number = signal.SIGTERM if signal.getsignal(signal.SIGINT) is signal.SIG_IGN else signal.SIGINT
    try:
        group = os.getpgid(pid)
    except ProcessLookupError:
        return
    for each in open_tree()([pid]):
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it is gone, or has become somebody else
            if os.getpgid(each) == group:
                os.kill(each, number)
