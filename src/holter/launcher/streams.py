"""What the command gets for standard output and standard error: each a thing of the kind that it would have had."""

import fcntl
import os
import termios
from collections.abc import Iterator

import msgspec

from holter.recording.outlets import NAMES, follow, kind_of, stream_id, stream_of
from holter.wire.way_back import Followed

_OPOST_FLAGS = 1  # the place of the output flags in what tcgetattr returns


class Channel(msgspec.Struct):
    """A pipe or pseudo-terminal of ours in front of one of the user's. Closed by whoever made it."""

    kind: str
    fds: tuple[int, ...]
    """Which of the command's descriptors it stands for: both where both were the same."""
    source: int
    """Our end."""
    far: int
    """The command's end."""

    @property
    def stream(self) -> int:
        """For the transcript."""
        return stream_of(self.fds)

    def resize(self) -> None:
        """Make a pseudo-terminal as large as the terminal behind it."""
        if self.kind != "terminal":
            return
        try:
            size = fcntl.ioctl(self.fds[0], termios.TIOCGWINSZ, bytes(8))
            fcntl.ioctl(self.source, termios.TIOCSWINSZ, size)
        except OSError:
            return  # the terminal is gone; the command learns it from its next write

    def close_far(self) -> None:
        """Idempotent. Of a pipe at once, so that a command which closes its output is seen to do so.

        Of a pseudo-terminal when the command has ended: until then it may open it anew.
        """
        if self.far >= 0:
            os.close(self.far)
            self.far = -1

    def close(self) -> None:
        """Both ends, before anybody has used them."""
        os.close(self.source)
        self.close_far()


class Streams(msgspec.Struct):
    """All that was decided about the command's output."""

    channels: list[Channel] = []
    followed: list[Followed] = []
    kept: dict[str, str] = {}
    """How each stream is kept, in the words of the `Console` record."""

    @property
    def captured(self) -> tuple[str, ...]:
        """What a program that joins the run need not keep again."""
        files = [fd for fd, name in NAMES.items() if self.kept.get(name) == "file"]
        return tuple(stream_id(fd) for fd in [*(channel.far for channel in self.channels), *files])

    def targets(self) -> Iterator[tuple[int, int]]:
        """Which descriptor goes where in the command."""
        for channel in self.channels:
            for fd in channel.fds:
                yield channel.far, fd

    def resize(self) -> bool:
        """True where there is a terminal."""
        for channel in self.channels:
            channel.resize()
        return any(channel.kind == "terminal" for channel in self.channels)


def occupy_standard() -> None:
    """Put something where 0, 1 or 2 was closed: no file of ours may be taken for the command's. It gets them closed."""
    while (fd := os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)) <= 2:
        continue
    os.close(fd)


def open_streams(closed: tuple[int, ...], *, is_kept: bool) -> Streams:
    """Look at our own descriptors and make what the command needs. What can't be made is inherited as it is."""
    found = Streams()
    groups: dict[str, list[int]] = {}
    for fd in NAMES:
        kind = "closed" if fd in closed else kind_of(fd)
        found.kept[NAMES[fd]] = kind if is_kept and kind in ("terminal", "pipe", "file") else f"none: {_reason(kind)}"
        if is_kept and kind in ("terminal", "pipe", "file"):
            groups.setdefault(f"{kind} {stream_id(fd)}", []).append(fd)
    for group, fds in groups.items():
        kind = group.partition(" ")[0]
        try:
            if kind == "file":
                found.followed.append(follow(tuple(fds)))
            else:
                found.channels.append(_open_channel(kind, tuple(fds)))
        except OSError as error:
            found.kept |= {NAMES[fd]: f"none: {error.strerror}" for fd in fds}
    return found


def closed_descriptors() -> tuple[int, ...]:
    """Which of 0, 1 and 2 the command would find closed; asked before anything else is opened."""
    return tuple(fd for fd in (0, 1, 2) if not stream_id(fd))


def _open_channel(kind: str, fds: tuple[int, ...]) -> Channel:
    if kind == "pipe":
        source, far = os.pipe()
        return Channel(kind, fds, source, far)
    source, far = os.openpty()
    try:
        # Bytes pass unchanged; the real terminal does to them what it always does.
        attributes = termios.tcgetattr(fds[0])
        attributes[_OPOST_FLAGS] &= ~termios.OPOST
        termios.tcsetattr(far, termios.TCSANOW, attributes)
    except termios.error as error:
        os.close(source)
        os.close(far)
        raise OSError(*error.args) from error
    channel = Channel(kind, fds, source, far)
    channel.resize()
    return channel


def _reason(kind: str) -> str:
    return {"closed": "it is closed", "device": "it is a device such as /dev/null"}.get(kind, "the limit is 0")
