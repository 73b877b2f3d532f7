"""One digest for all that a storage says of a run: two that say the same have the same one."""

import hashlib
import re
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from holter.model.run_row import RunRow
from holter.storage.blobs import BlobStore
from holter.storage.console import ConsoleRange, ConsoleStore
from holter.storage.journals import JournalStore
from holter.storage.media import MediaQuery, MediaStore
from holter.storage.opening import Storage
from holter.storage.series import Floats, Line, SeriesReader

PIECE_BYTES = 4 << 20
LINES_AT_ONCE = 20_000
ENTRIES_AT_ONCE = 1000
ROW_FIELDS = "project name entity group job_type notes tags host attempt config summary rows steps last_step".split()
"""What a row says that depends on nothing but the run's journals."""
# Not every engine can hold these in a text; those that can't have this in their place.
_NOT_TEXT = re.compile("[\x00\ud800-\udfff]")
_encode = msgspec.msgpack.Encoder(enc_hook=str, order="sorted").encode


def journals_digest(journals: JournalStore, run: str, sizes: Mapping[str, int], /) -> str:
    """Of the bytes of a run's journals and texts, each up to a size. Raises StorageError, OSError."""
    found = hashlib.sha256()
    for name, size in sorted(sizes.items()):
        found.update(_encode((name, size)))
        for start in range(0, size, PIECE_BYTES):
            found.update(journals.read(run, name, start=start, stop=min(size, start + PIECE_BYTES)))
    return found.hexdigest()


def blob_digest(blobs: BlobStore, digest: str) -> str:
    """Of a blob's bytes as they are there. Raises NoBlob, StorageError, OSError."""
    found, at = hashlib.sha256(), 0
    while piece := blobs.read(digest, start=at, count=PIECE_BYTES):
        found.update(piece)
        at += len(piece)
    return found.hexdigest()


def index_digests(storage: Storage, run: str) -> dict[str, str]:
    """Of what the index says of a run, by port. Raises StorageError."""
    parts = {
        "runs": _row(storage.runs.get(run)),
        "series": _series(storage.series, run),
        "console": _console(storage.console, run),
        "media": _media(storage.media, run),
    }
    return {port: _digest(said) for port, said in parts.items()}


def _digest(said: Iterator[bytes]) -> str:
    found = hashlib.sha256()
    for each in said:
        found.update(each)
    return found.hexdigest()


def _row(row: RunRow | None) -> Iterator[bytes]:
    if row is not None:
        yield _encode([_plain(getattr(row, name)) for name in ROW_FIELDS])


def _series(series: SeriesReader, run: str) -> Iterator[bytes]:
    for info in sorted(series.list_series(run), key=lambda each: each.key):
        yield _encode((_plain(info.key), info.points, info.first_step, info.last_step))
        points = series.points(Line(run, info.key))
        yield from (points.steps.tobytes(), points.at_ns.tobytes(), _bytes(points.values))


def _bytes(values: Floats) -> bytes:
    """A NaN is a NaN, and zero has no sign."""
    return np.where(np.isnan(values), np.nan, values + 0.0).tobytes()


def _console(console: ConsoleStore, run: str) -> Iterator[bytes]:
    for name, offset in sorted(console.transcripts(run).items()):
        yield _encode((name, offset, [msgspec.structs.astuple(gap) for gap in console.gaps(run, name)]))
        start = 0
        while lines := console.lines(run, name, wanted=ConsoleRange(LINES_AT_ONCE, start)):
            yield from (_encode((line.number, line.at_ns, line.stream, _plain(line.text))) for line in lines)
            start = lines[-1].number + 1
    events = [_encode((each.at_ns, each.journal, each.kind, _plain(each.fields))) for each in console.events(run)]
    yield from sorted(events)


def _media(media: MediaStore, run: str) -> Iterator[bytes]:
    for key in media.keys(run):
        first: int | None = None
        while entries := media.select(run, MediaQuery(key=key.key, first=first, most=ENTRIES_AT_ONCE)):
            for each in entries:
                yield _encode((_plain(each.key), each.step, each.logged_ns, each.type, each.data))
            first = entries[-1].step + 1


def _plain(what: object) -> object:
    match what:
        case str():
            return _NOT_TEXT.sub("�", what)
        case Mapping():
            return {str(_plain(name)): _plain(value) for name, value in what.items()}
        case list() | tuple():
            return [_plain(each) for each in what]
        case float() if what != what:
            return "NaN"
    return what
