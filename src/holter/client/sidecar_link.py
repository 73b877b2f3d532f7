"""Starts the sidecar and keeps the way back from it."""

import os
import threading
from typing import TYPE_CHECKING

from holter.recording.spawning import open_pidfd, spawn_sidecar
from holter.recording.voice import Voice
from holter.wire.way_back import Ended, Lines, Look, Watch, decode_to_client, encode

if TYPE_CHECKING:
    import socket


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
        pidfd = open_pidfd(os.getpid())
        try:
            spawn_sidecar(message, theirs.fileno(), pidfd=pidfd)
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
