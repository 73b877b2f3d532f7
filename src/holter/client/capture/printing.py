"""Copies what Python's own standard streams were given, after they have taken it.

Nothing is replaced: the streams stay the objects that they are, and only their `write` and `flush` are wrapped. Not
those of the binary layer below: CPython before 3.12.4 mixes texts up when a thread switch falls between the two layers
(https://github.com/python/cpython/issues/119506), and code of ours there would make such switches frequent.
"""

import contextlib
import io
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from holter.console.files import STDERR, STDOUT, claim_name
from holter.console.transcript import TranscriptWriter
from holter.model.clock import Clock
from holter.recording.launched import Launched
from holter.recording.outlets import NAMES, follow, kind_of, stream_id
from holter.wire.way_back import Followed

_STREAMS = {1: STDOUT, 2: STDERR}
_OUR_OWN = "holter: "
# A line comes in pieces: print() hands over the text and its end one after the other.
MOST_PIECES = 64
_NOTHING = object()


class Printing(msgspec.Struct):
    """How the output of this process is kept for one run."""

    kept: dict[str, str]
    """Each stream in the words of the `Console` record."""
    followed: list[Followed] = []
    copied: list[int] = []
    """Descriptors whose Python streams are to be copied."""


def choose_printing(run: str, launched: Launched | None, *, limit_bytes: int) -> Printing:
    """Decide for each stream: the launcher has it, the sidecar reads its file, we copy what Python prints, or none."""
    found = Printing({})
    files: dict[str, list[int]] = {}
    for fd, name in NAMES.items():
        identity, kind = stream_id(fd), kind_of(fd)
        if not limit_bytes:
            found.kept[name] = "none: the limit is 0"
        elif launched is not None and launched.run == run and identity in launched.captured:
            found.kept[name] = "launcher"
        elif kind == "file" and not _is_of_kernel(_stream(fd)):
            files.setdefault(identity, []).append(fd)
        elif because := _not_copied(fd, kind):
            found.kept[name] = f"none: {because}"
        else:
            found.kept[name] = "python"
            found.copied.append(fd)
    for fds in files.values():
        found.kept |= _follow(found, tuple(fds))
    return found


def _follow(found: Printing, fds: tuple[int, ...]) -> dict[str, str]:
    try:
        found.followed.append(follow(fds))
    except OSError as error:
        return {NAMES[fd]: f"none: {error.strerror}" for fd in fds}
    return {NAMES[fd]: "file" for fd in fds}


def _not_copied(fd: int, kind: str) -> str:
    if kind == "closed":
        return "it is closed"
    return "" if _stream(fd) is not None else "Python's stream is not the standard one"


def _stream(fd: int) -> Any:
    """Python's own stream, whoever wraps it; None where there is none that can be told from others.

    In a notebook's kernel the one that sends to the browser, which is given also what other code prints.
    """
    if _is_of_kernel(shown := sys.stdout if fd == 1 else sys.stderr):
        return shown
    stream = sys.__stdout__ if fd == 1 else sys.__stderr__
    try:
        return stream if type(stream) is io.TextIOWrapper and stream.fileno() == fd else None
    except (OSError, ValueError):  # closed, or without a descriptor
        return None


def _is_of_kernel(stream: Any) -> bool:
    return type(stream).__module__ == "ipykernel.iostream"


class Copy:
    """The copy for one run. Begins its transcript with the first bytes; never raises."""

    def __init__(self, directory: str, *, limit_bytes: int, clock: Clock) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes
        self._clock = clock
        self._lock = threading.RLock()  # a signal handler may print in the middle of the first line
        self._writer: TranscriptWriter | None = None
        self._is_broken = False

    def keep(self, data: bytes, stream: int) -> None:
        """Append what was printed."""
        if self._is_broken:
            return
        try:
            (self._writer or self._begin()).append(data, stream)
        except Exception:  # noqa: BLE001  the boundary: printing goes on, and what failed is not tried at each line
            self._is_broken = True

    def after_fork(self) -> None:
        """In a forked child: a transcript of its own, for the lock of this one may be held by a thread that is gone."""
        self._lock = threading.RLock()
        self._writer = None

    def _begin(self) -> TranscriptWriter:
        with self._lock:
            if self._writer is None:
                name = claim_name(self._directory)
                limit = self._limit_bytes
                self._writer = TranscriptWriter(self._directory, name, limit_bytes=limit, clock=self._clock)
            return self._writer


class _NoEcho:
    """Where a kernel's output goes besides to the browser, usually."""

    def write(self, text: str, /) -> int:
        return len(text)

    def flush(self) -> None:
        return


class _Echo(NamedTuple):
    """What a stream of a kernel hands all text to at once, while the browser has to wait for it."""

    write: Callable[[str], int]
    flush: Callable[[], None]


class _Tap:
    """Our wrapper around one stream's `write` and `flush`, with the copies that want to know."""

    def __init__(self, fd: int, stream: Any) -> None:
        self.copies: tuple[Copy, ...] = ()
        self._code = _STREAMS[fd]
        self._stream = stream
        self._pieces: deque[str] = deque()
        if _is_of_kernel(stream):
            # IPython replaces the `write` of this one with each cell, and puts back what it found.
            echo = stream.echo or _NoEcho()
            self._wrappers: dict[str, Any] = {"echo": _Echo(self._wrap_write(echo.write), self._wrap_flush(echo.flush))}
        else:
            self._wrappers = {"write": self._wrap_write(stream.write), "flush": self._wrap_flush(stream.flush)}
        self._before = {name: vars(stream).get(name, _NOTHING) for name in self._wrappers}
        for name, wrapper in self._wrappers.items():
            setattr(stream, name, wrapper)

    def _wrap_write(self, real: Callable[[str], int]) -> Callable[[str], int]:
        # What it needs is in its closure: print() calls it for each of its arguments and what is between them.
        pieces, append, hand_on = self._pieces, self._pieces.append, self.hand_on

        def write(text: str, /) -> int:
            count = real(text)
            append(text)
            # As a terminal would be given it: a progress bar has no line ends, and flushes late or never.
            if text[-1:] == "\n" or "\r" in text or len(pieces) > MOST_PIECES:
                hand_on()
            return count

        return write

    def _wrap_flush(self, real: Callable[[], None]) -> Callable[[], None]:
        def flush() -> None:
            real()
            self.hand_on()

        return flush

    def hand_on(self) -> None:
        """Give all pieces so far to the copies; each of several threads gives what it finds."""
        pieces = []
        with contextlib.suppress(IndexError):
            while True:
                pieces.append(self._pieces.popleft())
        text = "".join(pieces)
        if text and not text.startswith(_OUR_OWN):
            data = text.encode("utf-8", "replace")
            for copy in self.copies:
                copy.keep(data, self._code)

    def restore(self) -> None:
        """Take our wrapper off, unless somebody has put theirs around it."""
        for name, wrapper in self._wrappers.items():
            if vars(self._stream).get(name) is wrapper:
                if self._before[name] is _NOTHING:
                    delattr(self._stream, name)
                else:
                    setattr(self._stream, name, self._before[name])

    def after_fork(self) -> None:
        """In a forked child: what was not handed on yet is the parent's."""
        self._pieces.clear()
        for copy in self.copies:
            copy.after_fork()


class PrintedStreams:
    """The taps of this process."""

    def __init__(self) -> None:
        self.is_leaving = False
        """The interpreter exits: what is printed on the way out belongs to the run."""
        self._taps: dict[int, _Tap] = {}

    def copy(self, copy: Copy, fds: list[int]) -> None:
        """Begin to copy these streams."""
        for fd in fds:
            if fd not in self._taps and (stream := _stream(fd)) is not None:
                self._taps[fd] = _Tap(fd, stream)
            if fd in self._taps:
                self._taps[fd].hand_on()
                self._taps[fd].copies = (*self._taps[fd].copies, copy)

    def stop(self, copy: Copy) -> None:
        """The run has ended."""
        if self.is_leaving:
            return
        for fd, tap in list(self._taps.items()):
            tap.hand_on()
            tap.copies = tuple(each for each in tap.copies if each is not copy)
            if not tap.copies:
                self._taps.pop(fd).restore()

    def after_fork(self) -> None:
        """In a forked child."""
        for tap in self._taps.values():
            tap.after_fork()
