"""Starts the sidecar and keeps the way back from it."""

import importlib
import os
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING

from holter.client.shell import is_kernel
from holter.client.threads import start_quietly
from holter.recording.spawning import open_pidfd, spawn_sidecar
from holter.recording.voice import Voice
from holter.wire.way_back import Ended, Look, OnServer, Say, Stop, ToClient, Watch, encode, messages

if TYPE_CHECKING:
    import _socket


class SidecarLink:
    """This process's sidecar: started with the first run, reused by the runs that follow. Never waits for it."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self.on_server: dict[str, OnServer] = {}
        """How much of each journal has reached a server, as far as the sidecar has said."""
        self._stoppable: set[str] = set()
        self._socket: _socket.socket | None = None

    def watch(self, message: Watch) -> None:
        """Have the run recorded: by the sidecar that is there, or by a new one. Raises OSError."""
        if not self._send(encode(message)):
            self._start(message)

    def allow_stop(self, run: str) -> None:
        """Let a person's wish that this run stops interrupt the main thread."""
        self._stoppable.add(run)

    def ended(self, journal: str, *, lost: int, because: str, is_leaving: bool) -> None:
        """Tell it that the program ended this run, or is leaving, and what it could not keep."""
        self._send(encode(Ended(journal=journal, lost=lost, because=because, is_leaving=is_leaving)))

    def look(self, directory: str) -> bool:
        """Tell it that a run's journal has something that should not wait; false where there is no sidecar."""
        return self._send(encode(Look(directory=directory)))

    def after_fork(self) -> None:
        """In a forked child: the link is the parent's."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, line: bytes) -> bool:
        if self._socket is None:
            return False
        sockets = _sockets()
        try:
            self._socket.send(line, sockets.MSG_DONTWAIT | getattr(sockets, "MSG_NOSIGNAL", 0))
        except BlockingIOError:
            return True  # a stopped sidecar with a full mailbox; the journal says it all the same
        except OSError:
            self._socket.close()
            self._socket = None
            return False
        return True

    def _start(self, message: Watch) -> None:
        ours, theirs = _sockets().socketpair()
        pidfd = open_pidfd(os.getpid())
        try:
            spawn_sidecar(message, theirs.fileno(), pidfd=pidfd)
        finally:
            theirs.close()
            if pidfd >= 0:
                os.close(pidfd)
        self._socket = ours
        self._listen(ours)

    def _listen(self, ours: "_socket.socket") -> None:
        thread = threading.Thread(target=self._receive, args=(ours,), name="holter-way-back", daemon=True)
        try:
            start_quietly(thread)
        except RuntimeError as error:
            self._voice.warn("thread", f"no thread for warnings from the sidecar ({error}); recording goes on")

    def _receive(self, ours: "_socket.socket") -> None:
        for message in messages(ours):
            self._understand(message)

    def _understand(self, message: ToClient) -> None:
        match message:
            case OnServer():
                self.on_server[message.journal] = message
            case Say() if not message.is_by_the_way:
                self._voice.warn(message.cause, message.text)
            case Say():
                if not is_kernel():  # there it would be shown below any cell that happens to run
                    self._voice.mention(message.cause, message.text)
            case Stop():
                if message.run not in self._stoppable:
                    self._voice.warn(
                        f"stop {message.run}", f"{message.wish}; it goes on, because allow_stop is not set"
                    )
                    return
                self._voice.warn(f"stop {message.run}", f"{message.wish}; interrupting the main thread")
                _interrupt_main_thread()


def _sockets() -> ModuleType:
    """The module `socket` where the program has loaded it, and may have changed it; else what lies beneath it.

    To load it takes three of the forty milliseconds that `init()` may take.
    """
    return sys.modules.get("socket") or importlib.import_module("_socket")


def _interrupt_main_thread() -> None:
    """Raise KeyboardInterrupt in the main thread, as Ctrl-C does: also out of a system call that blocks.

    A program that was started in the background ignores the signal; there it is raised with the next line of Python.
    """
    import ctypes
    import signal

    main = threading.main_thread()
    if not main.is_alive() or main.ident is None:
        return
    if callable(signal.getsignal(signal.SIGINT)):
        signal.pthread_kill(main.ident, signal.SIGINT)
    else:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main.ident), ctypes.py_object(KeyboardInterrupt))
