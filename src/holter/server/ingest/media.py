"""What a piece of a journal says of media, as the storage port takes it; and back again."""

from typing import Any

import msgspec

from holter.journal.decoding import Told
from holter.model.media_records import HistogramLogged, MediaItem, MediaMade
from holter.storage.media import MediaEntry

HISTOGRAM = "histogram"
MOST_ITEMS = 10_000
MOST_EXACT = 1 << 53
_encode = msgspec.msgpack.Encoder().encode
_items = msgspec.msgpack.Decoder(list[MediaItem]).decode


class Histogram(msgspec.Struct, frozen=True):
    """How many values lie between each edge and the next one."""

    counts: list[float]
    low: float
    high: float
    edges: list[float] = []


_histogram = msgspec.msgpack.Decoder(Histogram).decode


def media_of(told: Told) -> list[MediaEntry]:
    """The media that are whole, and the histograms, of a piece of a journal."""
    found = []
    for _, record in told.records:
        match record:
            case MediaMade() if record.place == "row":
                data = _encode([item for item in record.items[:MOST_ITEMS] if item.is_sound])
                found.append(_entry(record, record.type, record.logged_ns, data))
            case HistogramLogged() if record.counts and len(record.edges) in (0, len(record.counts) + 1):
                # Whole numbers take a byte or two, and nine as they are.
                counts: list[float] = [
                    int(each) if each % 1 == 0 and abs(each) < MOST_EXACT else each for each in record.counts
                ]
                data = _encode(Histogram(counts, record.low, record.high, list(record.edges)))
                found.append(_entry(record, HISTOGRAM, record.at_ns, data))
    return found


def items_of(entry: MediaEntry) -> list[MediaItem]:
    """The files of an entry."""
    return [] if entry.type == HISTOGRAM else _items(entry.data)


def histogram_of(entry: MediaEntry) -> Histogram:
    """The numbers of an entry that is a histogram."""
    return _histogram(entry.data)


def _short(count: float) -> float:
    return int(count) if count % 1 == 0 and abs(count) < MOST_EXACT else count


def _entry(record: Any, kind: str, logged_ns: int, data: bytes, /) -> MediaEntry:
    return MediaEntry(key=record.key, step=record.step, logged_ns=logged_ns, type=kind, data=data)
