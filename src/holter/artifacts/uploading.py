"""Sends versions to a server: the pieces that it lacks, in batches, then the manifest that makes a version of them.

What waits is a file for each version; an interrupted upload goes on with the pieces that are missing there.
"""

import contextlib
import os
import struct
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from holter.artifacts.manifest import encode
from holter.artifacts.store import Store
from holter.artifacts.wishes import Wanted
from holter.errors import ArtifactDamaged, HolterError, NoArtifact, Refused, Unreachable, UsageError
from holter.journal.kept_files import replace_file
from holter.journal.rundir import make_private

RATE = "HOLTER_ARTIFACT_RATE"
"""The variable that bounds how many bytes a second are sent."""
USUAL_RATE = 50 << 20
MOST_BATCH = 16 << 20
_MOST_PIECES = 10_000
_ENDING = ".upload"
_FRAME = struct.Struct("<32sBI")


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A version that is to be sent, and where to."""

    url: str
    wanted: Wanted
    number: int
    directory: str = ""
    attempt: int = 1
    is_use: bool = False
    """It is not sent: the server is told that the run took it as its input."""


class Published(msgspec.Struct, frozen=True):
    """What the server made of it; versions there have numbers of their own."""

    version: str
    digest: str


class Batch(msgspec.Struct, frozen=True):
    """A manifest that makes a version, as it is sent."""

    wanted: Wanted
    manifest: bytes
    digest: str
    new_bytes: int = 0


Ask = Callable[..., Any]
"""`Connection.ask`."""


def folder_of(data: str) -> str:
    """Where they wait."""
    return os.path.join(data, "artifacts", "uploads")


def enqueue(data: str, waiting: Waiting) -> None:
    """Have a sealed version sent, now or later. Raises OSError."""
    make_private(folder_of(data))
    name = f"{waiting.wanted.at_ns:020d}-{waiting.wanted.ask}{_ENDING}"
    replace_file(os.path.join(folder_of(data), name), msgspec.msgpack.encode(waiting))


def list_waiting(data: str) -> list[tuple[str, Waiting]]:
    """What waits, oldest first, with its file."""
    try:
        names = sorted(name for name in os.listdir(folder_of(data)) if name.endswith(_ENDING) and name[0] != ".")
    except OSError:
        return []
    found = []
    for name in names:
        path = os.path.join(folder_of(data), name)
        with contextlib.suppress(OSError, msgspec.MsgspecError), open(path, "rb") as file:
            found.append((path, msgspec.msgpack.decode(file.read(), type=Waiting)))
    return found


def is_waited_for(data: str, url: str) -> bool:
    """Whether something waits for this server."""
    return any(waiting.url == url for _, waiting in list_waiting(data))


class Uploader:
    """Sends what waits for one server. Used by one thread.

    Args:
        ask: of a connection to that server.
        rate: bytes a second.
        should_stop: asked between requests; what is under way then waits for the next time.
    """

    def __init__(self, store: Store, ask: Ask, *, rate: float, should_stop: Callable[[], bool] = lambda: False) -> None:
        self._store = store
        self._ask = ask
        self._rate = rate
        self._should_stop = should_stop
        self.sent_bytes = 0

    def send(self, waiting: Waiting) -> Published | None:
        """Send a version; None where it was interrupted, or is not there any more. Raises Refused, Unreachable."""
        wanted = waiting.wanted
        try:
            version = self._store.book(wanted.project, wanted.name).of_number(waiting.number)
            manifest = self._store.manifest(version.digest)
        except NoArtifact:
            return Published("", "")
        if waiting.is_use:
            self._tell_use(wanted, version.digest)
            return Published("", "")
        pieces = [piece for piece, _ in manifest.pieces]
        for _ in range(3):
            if not self._send_pieces(wanted.project, pieces):
                return None
            batch = Batch(wanted, encode(manifest), version.digest, version.new_bytes)
            try:
                answer = self._ask(
                    "POST",
                    "/artifact/publish",
                    query={"project": wanted.project},
                    data=msgspec.msgpack.encode(batch),
                    media="application/octet-stream",
                )
            except Refused as error:
                if error.status != 409:
                    raise
                continue  # pieces went there meanwhile
            found: Published = answer.json(Published)
            return found
        raise Unreachable("the server forgets pieces as fast as they come")

    def _tell_use(self, wanted: Wanted, digest: str) -> None:
        used = {"project": wanted.project, "name": wanted.name, "by": wanted.run, "digest": digest}
        try:
            self._ask("POST", "/artifact/use", data=msgspec.json.encode(used))
        except Refused as error:
            if error.status not in (403, 404):  # it is not theirs to know, or was never sent there
                raise

    def _send_pieces(self, project: str, pieces: list[str]) -> bool:
        for start in range(0, len(pieces), _MOST_PIECES):
            asked = {"project": project, "pieces": pieces[start : start + _MOST_PIECES]}
            answer = self._ask("POST", "/artifact/missing", data=msgspec.json.encode(asked))
            for body in self._batches(answer.json(dict[str, list[str]])["missing"]):
                if self._should_stop():
                    return False
                began = time.monotonic()
                media = "application/octet-stream"
                self._ask("POST", "/artifact/pieces", query={"project": project}, data=body, media=media)
                self.sent_bytes += len(body)
                time.sleep(max(0.0, len(body) / self._rate - (time.monotonic() - began)))
        return True

    def _batches(self, pieces: list[str]) -> Iterator[bytes]:
        body = bytearray()
        for digest in pieces:
            try:
                data, is_compressed = self._store.pieces.read_stored(digest)
            except OSError as error:
                raise ArtifactDamaged(f"the piece {digest[:12]} is missing ({error.strerror})") from error
            if body and len(body) + len(data) > MOST_BATCH:
                yield bytes(body)
                body.clear()
            body += frame(digest, data, is_compressed=is_compressed)
        if body:
            yield bytes(body)


def frame(digest: str, data: bytes, *, is_compressed: bool) -> bytes:
    """A piece in a batch."""
    return _FRAME.pack(bytes.fromhex(digest), is_compressed, len(data)) + data


def read_frames(body: bytes) -> Iterator[tuple[str, bool, bytes]]:
    """The pieces of a batch. Raises UsageError."""
    at = 0
    while at < len(body):
        if len(body) - at < _FRAME.size:
            raise UsageError("the batch of pieces ends in the middle of one: send it again")
        digest, is_compressed, length = _FRAME.unpack_from(body, at)
        at += _FRAME.size
        if length > len(body) - at or is_compressed > 1:
            raise UsageError("the batch of pieces ends in the middle of one: send it again")
        yield digest.hex(), bool(is_compressed), body[at : at + length]
        at += length


def upload_all(
    data: str,
    connect: Callable[[str], Ask | None],
    *,
    should_stop: Callable[[], bool] = lambda: False,
    tell: Callable[[Waiting, str], None] = lambda waiting, why: None,
) -> bool:
    """Send all that waits; false where something is left because a server does not answer, or somebody interrupts.

    Args:
        connect: gives the way to a server; None for one to which nothing is sent now.
        tell: told why a version is refused; that one is not tried again.
    """
    rate = float(os.environ.get(RATE) or USUAL_RATE)
    is_all = True
    for path, waiting in list_waiting(data):
        if (ask := connect(waiting.url)) is None:
            continue
        try:
            done = Uploader(Store(data), ask, rate=max(1.0, rate), should_stop=should_stop).send(waiting)
            if done is None:
                return False
        except Unreachable:
            is_all = False
            continue
        except HolterError as error:
            if isinstance(error, Refused) and (error.status >= 500 or error.status in (401, 429)):
                is_all = False  # it passes, or somebody logs in again
                continue
            tell(waiting, str(error))
            os.replace(path, f"{path}.refused")
            continue
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    return is_all
