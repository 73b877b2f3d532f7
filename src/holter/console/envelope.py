"""Leaves the ends of a flow to a process that takes them only when they are needed."""

import array
import contextlib
import os
import socket


class Envelope:
    """A message with two descriptors that nobody has read.

    While it lies in the socket's queue Linux keeps both ends of the flow open, even when the process that put it
    there is killed. That process can take it back as well: no other one has to agree, or even to be awake, for the ends
    to be closed.
    """

    def __init__(self, sealed: socket.socket) -> None:
        self._socket = sealed

    @classmethod
    def seal(cls, source: int, sink: int) -> "Envelope":
        """Put copies of both ends in. Raises OSError."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            socket.send_fds(ours, [b"ends"], [source, sink])
        return cls(theirs)

    @classmethod
    def inherited(cls, fd: int) -> "Envelope":
        """One that another process sealed."""
        return cls(socket.socket(fileno=fd))

    def fileno(self) -> int:
        """For the process that is to have it."""
        return self._socket.fileno()

    def peek(self) -> tuple[int, int] | None:
        """Copies of the ends; the envelope stays sealed. None where somebody has taken them out."""
        return self._receive(socket.MSG_PEEK)

    def take(self) -> tuple[int, int] | None:
        """The ends themselves; the envelope is empty then. None where it was empty."""
        return self._receive(0)

    def discard(self) -> None:
        """Close what is in it. Idempotent."""
        for fd in self.take() or ():
            os.close(fd)

    def close(self) -> None:
        """Let go of it without taking anything out: whoever else has it still can."""
        self._socket.close()

    def _receive(self, flags: int) -> tuple[int, int] | None:
        flags |= socket.MSG_DONTWAIT | getattr(socket, "MSG_CMSG_CLOEXEC", 0)
        found = array.array("i")
        with contextlib.suppress(OSError):  # empty, or closed
            _, ancillary, _, _ = self._socket.recvmsg(16, socket.CMSG_LEN(2 * found.itemsize), flags)
            for _, _, data in ancillary:
                found.frombytes(data[: len(data) - len(data) % found.itemsize])
        if len(found) != 2:
            for fd in found:
                os.close(fd)
            return None
        return found[0], found[1]
