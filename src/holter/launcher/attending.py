"""Waits for the command to end, and passes on to it what only we are told."""

import os
import resource
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

from holter.console.claims import Claims
from holter.launcher.job import is_job_of_a_shell, woken_with
from holter.probes.procfs import read_stat

# Faults of our own, and what can't be blocked; Python ignores the last two for itself.
_NOT_OURS = frozenset(
    {signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}
    | {signal.SIGTRAP, signal.SIGSYS, signal.SIGPIPE, signal.SIGXFSZ}
)
_STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
_ENDS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
# In which whoever continues a whole process group has reached all of it.
GROUP_REACHED_S = 0.03
# Descriptions of processes are followed upwards so far: a loop can't be, but a pid may be reused meanwhile.
MOST_ANCESTORS = 64


class Ending(NamedTuple):
    """How the command ended, as only its parent is told."""

    status: int
    usage: resource.struct_rusage


def hold_signals() -> tuple[frozenset[int], set[int]]:
    """Block all signals that are ours to pass on, in this thread and those that it starts.

    Returns them, and what was blocked before. What the user had us ignore (`nohup`) stays ignored, here and there.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # or nobody could wait for the command
    wanted = [number for number in signal.valid_signals() - _NOT_OURS if signal.getsignal(number) is not signal.SIG_IGN]
    held = frozenset(map(int, wanted))
    return held, {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, held)}


class Attendant:
    """Attends to one command. Used by the main thread, with the signals held."""

    def __init__(
        self,
        pid: int,
        held: frozenset[int],
        *,
        resize: Callable[[], bool],
        claims: Claims | None = None,
        heard: Callable[[signal.struct_siginfo], None] | None = None,
    ) -> None:
        """`heard` is told each signal that asks the command and us to end, before it is passed on."""
        self._pid = pid
        self._held = held
        self._resize = resize
        self._claims = claims
        self._heard = heard

    def wait(self) -> Ending:
        """Block until the command has ended."""
        while True:
            info = signal.sigwaitinfo(self._held)
            if info.si_signo in _ENDS and self._heard:
                self._heard(info)
            if info.si_signo == signal.SIGCHLD:
                ending = self._look()
                if ending is not None:
                    return ending
            elif info.si_signo == signal.SIGCONT:
                self._continue()
            elif info.si_signo == signal.SIGWINCH:
                self._change_size(info)
            elif self._is_for_us_alone(info):
                self._send(info.si_signo)

    def may_wait(self, seconds: float) -> bool:
        """After the end: wait a moment for output to be taken; false when somebody wants us to end now."""
        info = signal.sigtimedwait(self._held, seconds)
        return info is None or info.si_signo not in _ENDS

    def _look(self) -> Ending | None:
        """See what became of the command; orphans come to us where we are the first process of a container."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return None
            if pid == 0:
                return None
            if pid != self._pid:
                continue
            if not os.WIFSTOPPED(status):
                return Ending(status, usage)
            self._stop_too(os.WSTOPSIG(status))

    def _stop_too(self, number: int) -> None:
        """A shell that waits for us must see that the command has stopped, and by what. Nobody else has to."""
        if not is_job_of_a_shell():
            return
        number = number if number in _STOPS and number in self._held else int(signal.SIGSTOP)
        if self._claims:
            self._claims.stopped_itself = True
        with woken_with(self._pid):
            os.kill(os.getpid(), number)
            if number != signal.SIGSTOP:
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
                signal.pthread_sigmask(signal.SIG_BLOCK, {number})
        if self._claims:
            self._claims.stopped_itself = False

    def _continue(self) -> None:
        """Somebody continued us: the whole group, as a shell does, or us alone."""
        self._resize()
        time.sleep(GROUP_REACHED_S)
        try:
            stat = read_stat(self._pid)
        except OSError:  # no descriptor is left to look with; to continue one that runs does no harm
            self._send(signal.SIGCONT)
            return
        if stat is not None and stat.state in "Tt":
            self._send(signal.SIGCONT)

    def _change_size(self, info: signal.struct_siginfo) -> None:
        if info.si_pid == os.getpid():
            return  # our own, which went to the whole group
        if self._resize():
            # Whoever looked before our pseudo-terminal had its new size must look again: children of the command too.
            os.kill(0, signal.SIGWINCH)
        elif self._is_for_us_alone(info):
            self._send(signal.SIGWINCH)

    def _is_for_us_alone(self, info: signal.struct_siginfo) -> bool:
        """Whether the command did not get this signal as well."""
        if info.si_code > 0:
            # The terminal tells its whole foreground group; but of its end only the leader of the session.
            return bool(info.si_signo == signal.SIGHUP and os.getsid(0) == os.getpid())
        return not self._is_of_command(info.si_pid)

    def _is_of_command(self, pid: int) -> bool:
        """Whether the sender is the command or came from it, as with `kill 0` in a script: then it knows already."""
        for _ in range(MOST_ANCESTORS):
            if pid in (0, 1, os.getpid()):
                return pid == os.getpid()
            try:
                stat = read_stat(pid)
            except OSError:
                return False
            if stat is None:
                return False
            pid = stat.parent
        return False

    def _send(self, number: int) -> None:
        try:
            os.kill(self._pid, number)
        except (ProcessLookupError, PermissionError):
            return  # it is gone, or has become somebody else
