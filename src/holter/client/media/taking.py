"""Takes media out of a row: their bytes go into the spool, numbers of histograms into the journal."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holter.client.media.bare import as_media
from holter.client.media.bundle import Bundle
from holter.client.media.medium import Media, why
from holter.errors import NotKept, UsageError
from holter.journal.spool import ENDING, Entry, spooled_bytes, write_entry
from holter.model.media_records import HistogramLogged, MediaLogged, MediaLost
from holter.model.record import Record

MOST_SPOOLED_BYTES = 2 << 30
# What is still to be made must not take what rows and made media need.
SHARE_OF_LIMIT = 4
MOST_DEPTH = 16

Complain = Callable[[str, str], object]


class MediaTaker:
    """Owns what one process leaves in the spool of a run; the caller holds the journal's lock.

    Args:
        record: keeps a sentence in the journal, within that lock.
        complain: takes a cause and a sentence for the user; says each cause once.
    """

    def __init__(
        self, directory: str, journal: str, *, record: Callable[[Record], None], complain: Complain, limit_bytes: int
    ) -> None:
        self._directory = directory
        self._journal = journal
        self._record = record
        self._complain = complain
        self._most = MOST_SPOOLED_BYTES if limit_bytes < 0 else min(MOST_SPOOLED_BYTES, limit_bytes // SHARE_OF_LIMIT)
        self._written = 0
        self._is_measured = False
        self._numbers = itertools.count(1)

    def take(self, data: Mapping[Any, Any], step: int, at_ns: int, /) -> dict[Any, Any]:
        """Keep the media of a row; returns all else. What can't be kept is said, and never raised."""
        return self._take(data, "", step, at_ns, 0)

    def keep(self, value: Any, key: str, *, step: int, at_ns: int, place: str) -> str | None:
        """Keep one value; returns the name that it has in the spool, empty for numbers; None where it is no medium."""
        media = as_media(value)
        if media is None:
            return None
        try:
            return self._keep(media, key, step=step, at_ns=at_ns, place=place)
        except NotKept as error:
            self._lose(key, step, media, str(error), at_ns=at_ns)
        except Exception as error:  # noqa: BLE001  the boundary: users' objects may raise anything
            self._lose(key, step, media, why(error), at_ns=at_ns)
        return ""

    def _take(self, data: Mapping[Any, Any], prefix: str, step: int, at_ns: int, depth: int, /) -> dict[Any, Any]:
        rest: dict[Any, Any] = {}
        for key, value in data.items():
            name = f"{prefix}{key}"
            if isinstance(value, Mapping) and depth < MOST_DEPTH:
                rest[key] = self._take(value, name + ".", step, at_ns, depth + 1)
            elif isinstance(value, str | int | float | None) or (
                self.keep(value, name, step=step, at_ns=at_ns, place="row") is None
            ):
                rest[key] = value
        return rest

    def _keep(self, media: "Media | Sequence[Media]", key: str, *, step: int, at_ns: int, place: str) -> str:
        several = [media] if isinstance(media, Media) else list(media)
        if wrong := next((each.trouble for each in several if each.trouble), ""):
            raise UsageError(wrong)
        kinds = {each.kind for each in several}
        if len(kinds) != 1:
            raise UsageError(f"a list holds media of one type; got {', '.join(sorted(kinds))}")
        [kind] = kinds
        if kind == "histogram":
            for each in several:
                counts, low, high, edges = each.numbers()  # type: ignore[attr-defined]  # as its kind says
                told = HistogramLogged(at_ns=at_ns, step=step, key=key, counts=counts, low=low, high=high, edges=edges)
                self._record(told)
            return ""
        bundle = Bundle()
        items = [each.pack(bundle) for each in several]
        self._check_room(bundle.size)
        entry = Entry(
            kind=kind, key=key, step=step, at_ns=at_ns, about={"items": items}, parts=tuple(bundle.parts), place=place
        )
        name = f"{at_ns:020d}-{self._journal[:12]}-{next(self._numbers):06d}{ENDING}"
        self._written += write_entry(self._directory, name, entry, sources=bundle.sources)
        for each in several:
            each.was_logged()
        self._record(MediaLogged(at_ns=at_ns, step=step, key=key, type=kind, count=len(several), spool=name))
        if bundle.missing:
            self._tell_missing(bundle.missing, key, step, at_ns)
        return name

    def _tell_missing(self, missing: list[str], key: str, step: int, at_ns: int, /) -> None:
        because = f"{len(missing):,} of its cells can't be kept and are empty, the first one: {missing[0]}"
        self._complain(f"media:cells:{key}", f"of {key!r} {because}")
        self._record(MediaLost(at_ns=at_ns, key=key, step=step, count=len(missing), because=because[:1000]))

    def _check_room(self, size: int) -> None:
        if not self._is_measured or self._written + size > self._most:
            self._written, self._is_measured = spooled_bytes(self._directory), True
        if self._written + size > self._most:
            raise NotKept(
                f"{self._written:,} bytes of media still wait to be made, and {self._most:,} are the most: media come"
                " faster than they can be encoded, or the disk is slow; log fewer or smaller ones"
            )

    def _lose(self, key: str, step: int, media: "Media | Sequence[Media]", because: str, /, *, at_ns: int) -> None:
        kind = "spool" if "still wait to be made" in because else key
        self._complain(f"media:{kind}", f"{key!r} is not kept: {because}")
        count = 1 if isinstance(media, Media) else len(media)
        try:
            self._record(MediaLost(at_ns=at_ns, key=key, step=step, count=count, because=because[:1000]))
        except NotKept:
            return  # the journal counts what a full disk costs
