"""The media of a run, read from its journals and its directory; no index is needed."""

import os
from collections.abc import Iterable

import msgspec

from holter.catalog.read.row_follower import RunFollower
from holter.journal.spool import FOLDER as SPOOL
from holter.journal.spool import list_entries
from holter.model.media_records import FOLDER as MEDIA
from holter.model.media_records import HistogramLogged, MediaItem, MediaLost, MediaMade


class KeptMedia(msgspec.Struct, kw_only=True):
    """What journals say of the media of a run."""

    made: list[MediaMade] = []
    """For each key and step the one logged last, by key and step."""
    histograms: list[HistogramLogged] = []
    lost: list[MediaLost] = []
    waiting: int = 0
    """How many are still to be made."""


class LostMedia(msgspec.Struct, frozen=True, kw_only=True):
    """Media of a key that were logged and are not there, for one reason."""

    key: str
    because: str
    count: int
    last: int | None = None
    """The last step of them."""


def gathered(lost: Iterable[MediaLost]) -> list[LostMedia]:
    """By key and reason, in the order in which they came first. Pure."""
    found: dict[tuple[str, str], LostMedia] = {}
    for each in lost:
        before = found.get((each.key, each.because))
        steps = [step for step in (each.step, before.last if before else None) if step is not None]
        found[each.key, each.because] = LostMedia(
            key=each.key,
            because=each.because,
            count=each.count + (before.count if before else 0),
            last=max(steps, default=None),
        )
    return list(found.values())


def lost_media(directory: str) -> list[LostMedia]:
    """What a run has lost of its media; nothing where it never had any. Raises NewerJournal, OSError."""
    # Journals are read from their beginning for it.
    has_media = any(os.path.isdir(os.path.join(directory, name)) for name in (MEDIA, SPOOL))
    return gathered(read_media(directory).lost) if has_media else []


def read_media(directory: str) -> KeptMedia:
    """All media of a run. Raises NewerJournal, OSError."""
    records = RunFollower(directory).hear(is_final=True).records
    made: dict[tuple[str, str, int], MediaMade] = {}
    histograms: dict[tuple[str, int], HistogramLogged] = {}
    lost = []
    for record in records:
        match record:
            case MediaMade():
                place = (record.place, record.key, record.step)
                if place not in made or made[place].logged_ns <= record.logged_ns:
                    made[place] = record
            case HistogramLogged():
                spot = (record.key, record.step)
                if spot not in histograms or histograms[spot].at_ns <= record.at_ns:
                    histograms[spot] = record
            case MediaLost():
                lost.append(record)
    return KeptMedia(
        made=[made[place] for place in sorted(made)],
        histograms=[histograms[spot] for spot in sorted(histograms)],
        lost=lost,
        waiting=len(list_entries(directory)),
    )


def path_of(directory: str, item: MediaItem) -> str | None:
    """Where its file is; None where it is not there, or its names lead elsewhere."""
    path = os.path.join(directory, *item.path.split("/"))
    return path if item.is_sound and os.path.isfile(path) and not os.path.islink(path) else None
