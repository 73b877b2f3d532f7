"""What all kinds of media do in the same way: one file for each, and one record for all."""

from collections.abc import Callable
from typing import Any

from holter.errors import UsageError
from holter.model.media_records import MediaItem, MediaMade
from holter.model.record import Record
from holter.worker.work import Work

MakeOne = Callable[[Work, dict[str, Any]], MediaItem]


def made(work: Work, make_one: MakeOne, *, type: str = "") -> list[Record]:  # noqa: A002  the record's own word
    """The media of an entry, each made by itself: if one can't be, none is there."""
    items = tuple(make_one(work, about) for about in work.items)
    entry = work.entry
    return [
        MediaMade(
            at_ns=entry.at_ns,
            step=entry.step,
            key=entry.key,
            type=type or entry.kind,
            logged_ns=entry.at_ns,
            items=items,
            spool=work.name,
            place=entry.place,
        )
    ]


def meta_of(about: dict[str, Any], *names: str) -> dict[str, Any]:
    """What of the client's words is told to everybody."""
    return {name: about[name] for name in ("caption", *names) if about.get(name) is not None}


def ending_in(about: dict[str, Any], allowed: tuple[str, ...]) -> str:
    """The ending that the client named. Raises UsageError for one that no file of this kind has."""
    ending = str(about.get("ending", ""))
    if ending not in allowed:
        raise UsageError(f"a file that ends in {ending[:20]!r} is none of these: {', '.join(allowed)}")
    return ending
