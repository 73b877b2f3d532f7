"""Moves a program's output on to where it was meant to go, and keeps a copy of it on the way."""

import contextlib
import errno
import fcntl
import os
import select
import stat
import sys
import termios
import time
from collections.abc import Callable, Iterable

from holter.console.claims import Area, Claims
from holter.console.envelope import Envelope
from holter.console.transcript import TranscriptWriter

# What a sink that may block is given at once: a pipe that is ready for any takes so many.
PIPE_BUF = 4096
PTMX = os.makedev(5, 2)
# Many small pieces in a row are let gather for a moment: the program is not held up, and the rest of the machine gains.
SMALL_BYTES = 2048
GATHER_S = 0.0002
# What a pseudo-terminal holds at least before it blocks the program; a pipe holds more.
PRESSING_BYTES = 2048
_GONE = (errno.EPIPE, errno.EIO, errno.ECONNRESET, errno.ENXIO)


class Flow:
    """One stream of the program: our end of it, and the terminal, pipe or socket behind. Owns both descriptors."""

    def __init__(self, source: int, sink: int, *, stream: int, areas: tuple[Area, Area], envelope: Envelope) -> None:
        self.source = source
        self.sink = sink
        self.area, self._others = areas
        self.area.forget()
        os.set_blocking(source, False)
        self.envelope = envelope
        self.is_broken = False
        """Nobody reads behind the sink any more, and the program was told so."""
        self._stream = stream
        self._is_kept = False
        self._most = 1 << 20 if fcntl.fcntl(sink, fcntl.F_GETFL) & os.O_NONBLOCK else PIPE_BUF

    @property
    def is_open(self) -> bool:
        """Whether the program, or one that it left behind, may still print."""
        return self.source >= 0

    @property
    def is_pending(self) -> bool:
        """A part of what was read has not been handed on."""
        return self.area.written < self.area.length

    def begin(self) -> None:
        """Our side's turn begins: go on with what the other side has in its hands."""
        self._is_kept = False
        self.area.reset()
        self.area.adopt(self._others)

    def pull(self) -> bool:
        """Read what the program printed; false at the end of it."""
        try:
            return self.area.fill(self.source) > 0
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:  # EIO: nobody has the other side of the pseudo-terminal open
            return False

    def push(self, is_ours: Callable[[], bool]) -> None:
        """Hand on as much as the sink takes now, as long as it is ours to do. Never blocks where that can be had."""
        try:
            while self.is_pending and is_ours():
                piece = self.area.unwritten[: self._most]
                written = os.write(self.sink, piece)
                self.area.note_written(written)
                if written < len(piece) or self._most == PIPE_BUF:
                    return
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            if error.errno not in _GONE:
                self.area.note_written(len(self.area.unwritten))  # a device that refuses it: /dev/full and its like
                return
            self.break_off()

    def keep(self, transcript: TranscriptWriter, is_ours: Callable[[], bool]) -> None:
        """Append the chunk to the transcript, unless that was done; forget it once it is handed on, too."""
        area = self.area
        if not area.length:
            return
        if not self._is_kept:
            # Where the side before us had begun to append this chunk, the transcript tells how far it came.
            done = transcript.end - (area.kept - 1) if area.kept else 0
            if not area.kept:
                area.note_keeping(transcript.end)
            if done < area.length:
                transcript.append(area.whole[done:], self._stream, may_write=is_ours)
            self._is_kept = True
        if not self.is_pending:
            area.blank()
            self._is_kept = False

    def break_off(self) -> None:
        """Nobody reads any more: let the program know with its next write, as it would without us."""
        self.is_broken = True
        self.area.note_written(len(self.area.unwritten))
        self.close()

    def close(self) -> None:
        """Close both ends, also those in the envelope. Idempotent."""
        if self.is_open:
            self.envelope.discard()
            self.let_go()

    def let_go(self) -> None:
        """Close our own ends only; whoever has the envelope can go on. Idempotent."""
        if self.is_open:
            os.close(self.source)
            os.close(self.sink)
            self.source = self.sink = -1


class Pump:
    """Moves several flows. Used by one thread."""

    def __init__(self, flows: Iterable[Flow], transcript: TranscriptWriter, *, claims: Claims) -> None:
        self.flows = list(flows)
        self._transcript = transcript
        self._claims = claims
        self._turn = -1
        self._poll = select.poll()
        self._pulled_at = 0.0
        self._is_trickling = False
        for flow in self.flows:
            self._register(flow)

    @property
    def is_open(self) -> bool:
        """Whether anything can still come."""
        return any(flow.is_open for flow in self.flows)

    @property
    def is_pressing(self) -> bool:
        """Whether so much waits that the program may be blocked."""
        return any(flow.is_open and _waiting(flow.source) >= PRESSING_BYTES for flow in self.flows)

    @property
    def is_waiting(self) -> bool:
        """Whether anything was printed that nobody has read."""
        return any(flow.is_open and _waiting(flow.source) > 0 for flow in self.flows)

    def wake_by(self, fd: int) -> None:
        """Let `wait` return when this descriptor can be read."""
        self._poll.register(fd, select.POLLIN)

    def ignore(self, fd: int) -> None:
        """Undo `wake_by`."""
        self._poll.unregister(fd)

    def wait(self, timeout_ms: float | None = None) -> dict[int, int]:
        """Wait until something can be moved; what that is is for `move`. Empty after that time."""
        if self._is_trickling:
            time.sleep(GATHER_S)
            self._is_trickling = False
        return dict(self._poll.poll(timeout_ms))

    def move(self, events: dict[int, int]) -> None:
        """Move what can be moved. The caller has the lock, or the other side is stopped or dead with it.

        What the other side was handing on in that moment is handed on again where nobody can tell whether it had been:
        nothing is lost and nothing comes in another order, but a piece may be seen twice. It is kept once.
        """
        if not self._is_ours():
            self._begin()
            return
        pulled = 0
        for flow in self.flows:
            if flow.is_open:
                pulled += self._attend(flow, events.get(flow.source, 0), events.get(flow.sink, 0))
        if 0 < pulled < SMALL_BYTES:
            now = time.monotonic()
            self._is_trickling = now - self._pulled_at < 5 * GATHER_S
            self._pulled_at = now

    def is_drained(self) -> bool:
        """Whether everything that was printed so far has been handed on, and what is at its end is closed."""
        return not any(flow.is_open and (flow.is_pending or _has_news(flow.source)) for flow in self.flows)

    def close(self) -> None:
        """Close what is at its end, leave to others what is not."""
        for flow in self.flows:
            flow.let_go()

    def _is_ours(self) -> bool:
        return self._claims.turn == self._turn

    def _begin(self) -> None:
        self._turn = self._claims.next_turn()
        with contextlib.suppress(OSError):  # then it opens with the next bytes, or says that it could not
            self._transcript.reopen()
        for flow in self.flows:
            flow.begin()
            flow.keep(self._transcript, self._is_ours)
            self._register(flow)

    def _attend(self, flow: Flow, source: int, sink: int) -> int:
        source_fd, sink_fd, was_pending = flow.source, flow.sink, flow.is_pending
        pulled = 0
        if sink & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
            flow.break_off()
        elif was_pending and sink:
            flow.push(self._is_ours)
        elif not was_pending and source:
            if flow.pull():
                pulled = flow.area.length
                flow.push(self._is_ours)
            else:
                flow.close()
        flow.keep(self._transcript, self._is_ours)
        if not flow.is_open:
            for fd in (source_fd, sink_fd):
                with contextlib.suppress(KeyError):
                    self._poll.unregister(fd)
        elif flow.is_pending != was_pending:
            self._register(flow)
        return pulled

    def _register(self, flow: Flow) -> None:
        # While the sink is full, nothing more is read: what the program prints then waits where it would without us.
        if not flow.is_open:
            return
        if flow.is_pending:
            with contextlib.suppress(KeyError):
                self._poll.unregister(flow.source)
        else:
            self._poll.register(flow.source, select.POLLIN)
        self._poll.register(flow.sink, select.POLLOUT if flow.is_pending else 0)


def open_sink(fd: int) -> int:
    """A descriptor for the same terminal, pipe or socket that does not block, where that can be had; else a copy.

    Not the flag of the descriptor itself: whoever else has it, the user's shell for instance, would get it too.
    Raises OSError.
    """
    status = os.fstat(fd)
    # Opening the master side of a pseudo-terminal makes another pair; opening a terminal may make it ours to control.
    if status.st_rdev != PTMX and (stat.S_ISCHR(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
        with contextlib.suppress(OSError):
            flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            return os.open(f"/proc/self/fd/{fd}", flags)
    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _waiting(source: int) -> int:
    return int.from_bytes(fcntl.ioctl(source, termios.FIONREAD, bytes(4)), sys.byteorder)


def _has_news(source: int) -> bool:
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return bool(poll.poll(0))
