"""Starts the sidecar and keeps the way back from it."""

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

from holter.client.voice import Voice
from holter.wire.way_back import Ended, Lines, Watch, decode_to_client, encode

if TYPE_CHECKING:
    import socket

SOCKET_FD = 3
PIDFD_FD = 4
# The shell leaves at once, so that the sidecar is nobody's child: a program that waits for all its children
# must not wait for us.
_DETACH = '"$@" &'


class SidecarLink:
    """This process's sidecar: started with the first run, reused by the runs that follow. Never waits for it."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._socket: socket.socket | None = None

    def watch(self, message: Watch) -> None:
        """Have the run recorded: by the sidecar that is there, or by a new one. Raises OSError."""
        if not self._send(encode(message)):
            self._start(message)

    def ended(self, journal: str, *, lost: int, because: str, is_leaving: bool) -> None:
        """Tell it that the program ended this run, or is leaving, and what it could not keep."""
        self._send(encode(Ended(journal=journal, lost=lost, because=because, is_leaving=is_leaving)))

    def after_fork(self) -> None:
        """In a forked child: the link is the parent's."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, line: bytes) -> bool:
        if self._socket is None:
            return False
        import socket  # three milliseconds that only those pay who record

        try:
            self._socket.send(line, socket.MSG_DONTWAIT | getattr(socket, "MSG_NOSIGNAL", 0))
        except BlockingIOError:
            return True  # a stopped sidecar with a full mailbox; the journal says it all the same
        except OSError:
            self._socket.close()
            self._socket = None
            return False
        return True

    def _start(self, message: Watch) -> None:
        import socket

        ours, theirs = socket.socketpair()
        try:
            pidfd = os.pidfd_open(os.getpid()) if hasattr(os, "pidfd_open") else -1
        except OSError:
            pidfd = -1  # a kernel before 5.3, or a sandbox that forbids it: the sidecar polls instead
        try:
            _spawn(message, theirs.fileno(), pidfd)
        finally:
            theirs.close()
            if pidfd >= 0:
                os.close(pidfd)
        self._socket = ours
        self._listen(ours)

    def _listen(self, ours: "socket.socket") -> None:
        thread = threading.Thread(target=self._receive, args=(ours,), name="holter-way-back", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            self._voice.warn("thread", f"no thread for warnings from the sidecar ({error}); recording goes on")

    def _receive(self, ours: "socket.socket") -> None:
        lines = Lines()
        try:
            while data := ours.recv(65536):
                for line in lines.feed(data):
                    said = decode_to_client(line)
                    self._voice.warn(said.cause, said.text)
        except (OSError, ValueError):
            return  # the link is closed, or the other end is not one of ours


def _spawn(message: Watch, socket_fd: int, pidfd: int) -> None:
    """Start a sidecar that is in its own session and not a child of this process. Raises OSError."""
    import fcntl

    # Sources above 100: the targets 3 and 4 can then not overwrite each other.
    sources = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in (socket_fd, pidfd) if fd >= 0]
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    try:
        actions: list[tuple[int, int, int]] = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
        actions += [
            (os.POSIX_SPAWN_DUP2, fd, target) for fd, target in zip(sources, (SOCKET_FD, PIDFD_FD), strict=False)
        ]
        command = [sys.executable, "-P", "-m", "holter.sidecar", encode(message).decode()]
        shell = ["/bin/sh", "-c", _DETACH, "sh", *command]
        pid = os.posix_spawn("/bin/sh", shell, _environment(), file_actions=actions, setsid=True)
    finally:
        for fd in (*sources, null):
            os.close(fd)
    with contextlib.suppress(ChildProcessError):  # the program reaps all its children by itself
        os.waitpid(pid, 0)


def _environment() -> dict[str, str]:
    """The program's environment, with the way to this package where it is not installed but found by sys.path."""
    environment = dict(os.environ)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not package.endswith(("site-packages", "dist-packages")):
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (package, environment.get("PYTHONPATH", ""))))
    return environment
