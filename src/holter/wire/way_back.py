"""The socket pair between a training process and its sidecar: one JSON message a line, either way."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import _socket

SOCKET_FD, PIDFD_FD, FIRST_CONSOLE_FD = 3, 4, 5
"""Where a new sidecar finds what it was given; at the last and behind it, what belongs to a `Pumped` console."""


class Followed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file into which the program prints, from this byte on."""

    path: str
    device: int
    inode: int
    offset: int
    stream: int


class Pumped(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A console that a launcher moves, and that the sidecar must move when the launcher can't.

    The descriptors are the shared memory, and for each stream an envelope.
    """

    transcript: str
    streams: tuple[int, ...]
    launcher_pid: int
    launcher_started: int


class Upload(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The server to which a run is sent. The key is never part of a command line, where everybody could read it."""

    url: str
    key: str = ""


class Watch(msgspec.Struct, tag="watch", frozen=True, kw_only=True, omit_defaults=True):
    """To the sidecar: record this run for the process at the other end."""

    run: str
    directory: str
    journal: str
    pid: int
    process_started: int
    attempt: int = 1
    rank: int | None = None
    limit_bytes: int = -1
    linger_s: float = 60.0
    collect_facts: bool = True
    cwd: str = ""
    main_file: str = ""
    """Where the process was when it said so, and its main script; empty where it has none or could not be asked."""
    console_bytes: int = 0
    """How much of the console may be kept."""
    followed: tuple[Followed, ...] = ()
    pumped: Pumped | None = None
    upload: Upload | None = None
    """None where the run stays on this machine."""
    by_launcher: bool = False
    """The other end is `holter run`, and not the process: it listens for a program that does not do so itself."""
    not_secret: tuple[str, ...] = ()
    """Names whose values are not masked."""
    silenced: tuple[str, ...] = ()
    """Guards of which nobody wants to hear."""
    server_pid: int = 0
    """Of a notebook's kernel: the Jupyter server that started it, without which it leaves."""
    alerts: str = ""
    """The directory with the user's `alerts.toml`; empty where there is none."""
    is_offline: bool = False
    """Nothing may go over the network."""


class Ended(msgspec.Struct, tag="ended", frozen=True, kw_only=True, omit_defaults=True):
    """To the sidecar: the program ended this run by itself; `lost` records could not be kept."""

    journal: str
    lost: int = 0
    because: str = ""
    is_leaving: bool = False
    """The interpreter exits: the run ends with the process, whose exit status is still to come."""


class Look(msgspec.Struct, tag="look", frozen=True, kw_only=True, omit_defaults=True):
    """To the sidecar: the run in this directory has something in its journal that should not wait."""

    directory: str


class Events(msgspec.Struct, tag="events", frozen=True, kw_only=True, omit_defaults=True):
    """To the sidecar: this process writes for TensorBoard into a folder; what it writes are rows of the run."""

    directory: str
    folder: str
    pid: int
    prefix: str = ""
    """What stands before the names of that folder's tags."""


class Say(msgspec.Struct, tag="say", frozen=True, kw_only=True, omit_defaults=True):
    """To the client: a line for the user's terminal, once per cause."""

    cause: str
    text: str
    is_by_the_way: bool = False
    """Something nice to know, and no warning."""


class Warn(msgspec.Struct, tag="warn", frozen=True, kw_only=True, omit_defaults=True):
    """To the client: a guard warns of something about this run."""

    run: str
    guard: str
    text: str
    subject: str = ""
    advice: tuple[str, ...] = ()
    is_said: bool = True
    """People are to hear of it; false where they did."""
    is_pressing: bool = False
    """There is no time left for a person to act: memory is about to be gone."""


class Stop(msgspec.Struct, tag="stop", frozen=True, kw_only=True, omit_defaults=True):
    """To the client: somebody wants this run to stop."""

    run: str
    by: str
    reason: str = ""

    @property
    def wish(self) -> str:
        """For people, without what will become of it."""
        because = f": {self.reason}" if self.reason else ""
        return f"{self.by} asks run {self.run} to stop{because}"


class WhereAreYou(msgspec.Struct, tag="where-are-you", frozen=True, kw_only=True, omit_defaults=True):
    """To the client: this run logs nothing; tell where the threads of the program are."""

    run: str


class Here(msgspec.Struct, tag="here", frozen=True, kw_only=True, omit_defaults=True):
    """To the sidecar: where the threads of the program are."""

    directory: str
    stack: str
    pid: int = 0


class OnServer(msgspec.Struct, tag="on-server", frozen=True, kw_only=True, omit_defaults=True):
    """To the client: so many rows of this journal are on the server."""

    journal: str
    rows: int = 0
    is_stuck: bool = False
    """Nothing can be sent just now."""


class HowItEnded(msgspec.Struct, tag="how-it-ended", frozen=True, kw_only=True, omit_defaults=True):
    """To `holter run`: how and why the run ended, as whoever asks is told from now on."""

    name: str
    state: str
    why: str
    advice: str = ""
    rows: int = 0
    duration_s: float = 0.0
    has_status: bool = True
    """Whether the exit status was known to whoever says this."""


ToSidecar = Watch | Ended | Look | Here | Events
ToClient = Say | Stop | Warn | WhereAreYou | OnServer | HowItEnded


_encode = msgspec.json.Encoder().encode
_to_sidecar: msgspec.json.Decoder[ToSidecar] = msgspec.json.Decoder(ToSidecar)
_to_client: msgspec.json.Decoder[ToClient] = msgspec.json.Decoder(ToClient)


def encode(message: ToSidecar | ToClient) -> bytes:
    """One line."""
    return _encode(message) + b"\n"


def decode_to_sidecar(line: bytes) -> ToSidecar:
    """Raises msgspec.DecodeError."""
    return _to_sidecar.decode(line)


def decode_to_client(line: bytes) -> ToClient:
    """Raises msgspec.DecodeError."""
    return _to_client.decode(line)


class Lines:
    """Cuts a stream into lines; keeps the unfinished end. A line may have 1 MiB at most, or the stream is dropped."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Add what came; returns the lines that are whole now."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > 1 << 20:
            self._rest = b""
        return lines


def messages(link: "_socket.socket") -> Iterator[ToClient]:
    """What the sidecar says, until the link is closed or the other end turns out not to be one of ours. Blocks."""
    lines = Lines()
    try:
        while data := link.recv(65536):
            for line in lines.feed(data):
                yield decode_to_client(line)
    except (OSError, ValueError):
        return
