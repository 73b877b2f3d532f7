"""Copies what Python's own standard streams were given, after they have taken it.

Nothing is replaced: the streams stay the objects that they are, and only the `write` of the binary layer below the
text is wrapped. There all text arrives, whoever wraps or tees it above, and no lock of the streams is held.
"""

import sys
from typing import Any

import msgspec

from holter.console.files import STDERR, STDOUT, claim_name
from holter.console.transcript import TranscriptWriter
from holter.model.clock import Clock
from holter.recording.launched import Launched
from holter.recording.outlets import NAMES, follow, kind_of, stream_id
from holter.wire.way_back import Followed

_STREAMS = {1: STDOUT, 2: STDERR}
_OUR_OWN = b"holter: "


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
        elif kind == "file":
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
    if "ipykernel" in sys.modules:
        return "a notebook shows its output itself"
    return "" if _binary_layer(fd) is not None else "Python's stream is not the standard one"


def _binary_layer(fd: int) -> Any:
    stream = sys.__stdout__ if fd == 1 else sys.__stderr__
    try:
        return stream.buffer if stream is not None and stream.fileno() == fd else None
    except (AttributeError, OSError, ValueError):  # replaced by somebody, or closed
        return None


class Copy:
    """The copy for one run. Begins its transcript with the first bytes; never raises."""

    def __init__(self, directory: str, *, limit_bytes: int, clock: Clock) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes
        self._clock = clock
        self._writer: TranscriptWriter | None = None
        self._is_broken = False

    def keep(self, data: Any, stream: int) -> None:
        """Append what was printed."""
        try:
            if self._writer is None:
                self._writer = self._begin()
            if self._writer is not None:
                self._writer.append(data if type(data) is bytes else bytes(data), stream)
        except Exception:  # noqa: BLE001  the boundary: printing goes on
            self._is_broken = True

    def after_fork(self) -> None:
        """In a forked child: a transcript of its own, for the lock of this one may be held by a thread that is gone."""
        self._writer = None

    def _begin(self) -> TranscriptWriter | None:
        if self._is_broken:
            return None
        self._is_broken = True  # until it worked: a directory that can't be written is not asked at each line
        name = claim_name(self._directory)
        self._is_broken = False
        return TranscriptWriter(self._directory, name, limit_bytes=self._limit_bytes, clock=self._clock)


class _Tap:
    """Our wrapper around one stream's `write`, with the copies that want to know."""

    def __init__(self, fd: int, layer: Any) -> None:
        self.layer = layer
        self.copies: tuple[Copy, ...] = ()
        self.ending: tuple[Copy, ...] = ()
        self._stream = _STREAMS[fd]
        self._real = layer.write
        layer.write = self.write

    def write(self, data: Any, /) -> Any:
        count = self._real(data)
        if count is not None and count < len(data):
            data = data[:count]
        if data[:8] != _OUR_OWN:
            for copy in self.copies:
                copy.keep(data, self._stream)
        if self.ending:
            self.drop_ending()
        return count

    def drop_ending(self) -> None:
        self.copies = tuple(copy for copy in self.copies if copy not in self.ending)
        self.ending = ()
        if not self.copies:
            self.restore()

    def restore(self) -> None:
        """Take our wrapper off, unless somebody has put theirs around it."""
        if vars(self.layer).get("write") == self.write:
            del self.layer.write


class PrintedStreams:
    """The taps of this process."""

    def __init__(self) -> None:
        self.is_leaving = False
        """The interpreter exits: it will still write what is in its buffers."""
        self._taps: dict[int, _Tap] = {}

    def copy(self, copy: Copy, fds: list[int]) -> None:
        """Begin to copy these streams."""
        for fd in fds:
            layer = _binary_layer(fd)
            tap = self._taps.get(fd)
            if layer is not None and (tap is None or not tap.copies):
                tap = self._taps[fd] = _Tap(fd, layer)
            if tap is not None:
                tap.copies = (*tap.copies, copy)

    def stop(self, copy: Copy) -> None:
        """The run has ended. What the text layer still holds was printed before: it comes with the next write."""
        if self.is_leaving:
            return
        for fd, tap in self._taps.items():
            if copy in tap.copies:
                tap.ending = (*tap.ending, copy)
                if not _may_hold_back(fd):
                    tap.drop_ending()

    def after_fork(self) -> None:
        """In a forked child."""
        for tap in self._taps.values():
            for copy in tap.copies:
                copy.after_fork()


def _may_hold_back(fd: int) -> bool:
    stream = sys.__stdout__ if fd == 1 else sys.__stderr__
    return not (getattr(stream, "line_buffering", False) or getattr(stream, "write_through", False))
