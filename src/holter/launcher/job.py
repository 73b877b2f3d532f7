"""The launcher as part of a shell's job: when it has to stop with its command, and who continues it then."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator

from holter.launcher import waker


def is_job_of_a_shell() -> bool:
    """Whether somebody may wait for us to stop: a parent of our session, and a terminal that stops whole jobs."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
        return os.getsid(os.getppid()) == os.getsid(0)
    except OSError:  # there is no terminal, or the parent is none that we can see
        return False


@contextlib.contextmanager
def woken_with(command: int) -> Iterator[None]:
    """Within this, we may stop: somebody continues us when the command goes on or is gone."""
    pid = _start_waker(command)
    try:
        yield
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _start_waker(command: int) -> int:
    """Returns its pid; 0 where it can't be started. In a session of its own: what stops the job must not stop it."""
    arguments = [sys.executable, "-I", "-S", waker.__file__, str(os.getpid()), str(command)]
    silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    try:
        return os.posix_spawn(
            sys.executable, arguments, dict(os.environ), file_actions=silent, setsid=True, setsigmask=()
        )
    except (OSError, NotImplementedError):  # then only `fg` continues us, as it does for whoever stopped
        return 0
