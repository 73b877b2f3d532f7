"""What a journal says of media: that one was logged, what became of it, what is missing; and histograms as numbers."""

import re
from typing import Any

import msgspec

from holter.model.bounds import Instant, Whole
from holter.model.record import Record

_HEXADECIMAL = frozenset("0123456789abcdef")
_ENDING = re.compile(r"[a-z0-9]{1,12}(\.[a-z0-9]{1,12})?")

FOLDER = "media"
"""Where the files of media lie in a run's directory, each named by its digest."""


class MediaLogged(Record, frozen=True, kw_only=True):
    """A row holds media under this key: copied, and not made yet. Without a `MediaMade` or `MediaLost` they wait."""

    step: Whole
    key: str
    type: str
    count: Whole = 1
    spool: str = ""
    """The file of the spool that holds the copy."""


class MediaItem(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One medium as a file of the run: complete when it is named."""

    digest: str
    """The SHA-256 of its bytes as 64 hexadecimal digits."""
    ext: str
    size: Whole = 0
    meta: str = "{}"
    """What else is known of it, as a JSON object: width, caption, boxes, columns."""

    @property
    def path(self) -> str:
        """Its file below the run's directory."""
        return f"{FOLDER}/{self.digest}.{self.ext}"

    @property
    def is_sound(self) -> bool:
        """Whether its names are what they should be: they are a part of paths."""
        return (
            len(self.digest) == 64 and _HEXADECIMAL.issuperset(self.digest) and _ENDING.fullmatch(self.ext) is not None
        )

    def about(self) -> dict[str, Any]:
        """What else is known of it; empty where that can't be read."""
        try:
            found = msgspec.json.decode(self.meta)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


class MediaMade(Record, frozen=True, kw_only=True):
    """The media of a key and step are files of the run now. For the same key and step the last one logged holds."""

    step: Whole
    key: str
    type: str
    logged_ns: Instant
    items: tuple[MediaItem, ...] = ()
    spool: str = ""
    place: str = "row"
    """`row`, or `config` or `summary` for a value that was set there."""


class MediaLost(Record, frozen=True, kw_only=True):
    """Media that were logged and are not there, and why."""

    key: str
    because: str
    step: Whole | None = None
    count: Whole = 1
    spool: str = ""


class HistogramLogged(Record, frozen=True, kw_only=True):
    """How values were distributed: so many in each of equal parts from `low` to `high`, or between the `edges`."""

    step: Whole
    key: str
    counts: tuple[float, ...]
    low: float = 0.0
    high: float = 0.0
    edges: tuple[float, ...] = ()
    """One more than counts, growing; empty where the parts are equal."""


MEDIA_KINDS: dict[int, type[Record]] = {50: MediaLogged, 51: MediaMade, 52: MediaLost, 53: HistogramLogged}
