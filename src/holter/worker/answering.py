"""Finds the kind of work that an entry of the spool needs, has it done, and tells what came of it."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec

from holter.errors import HolterError, JournalError, NotKept, UsageError
from holter.journal.spool import OpenEntry
from holter.model.media_records import MediaLost
from holter.model.record import Record
from holter.model.records import NUMBERS
from holter.worker import kinds
from holter.worker.work import Work


class Told(msgspec.Struct, kw_only=True):
    """What came of an entry: records to be kept, by kind, and sentences for the user."""

    name: str
    records: list[tuple[int, Any]] = []
    warnings: list[str] = []
    failed: str = ""
    """Why nothing could be made of it."""


Make = Callable[[Work], list[Record]]


@cache
def kind_names() -> list[str]:
    """The kinds of work that there are."""
    return sorted(each.name for each in pkgutil.iter_modules(kinds.__path__))


def make(directory: str, name: str, *, limit_bytes: int) -> Told:
    """Do the work of one entry. What fails is told, and only lack of memory raised."""
    try:
        opened = OpenEntry(directory, name)
    except (JournalError, OSError) as error:
        return Told(name=name, failed=str(error))
    entry = opened.entry
    work = Work(directory, name, opened=opened, limit_bytes=limit_bytes)
    try:
        if entry.kind not in kind_names():
            raise UsageError(f"there is no work of the kind {entry.kind[:40]!r}: a newer holter left it")
        module = importlib.import_module(f"{kinds.__name__}.{entry.kind}")
        records: list[Record] = module.make(work)
        told = [(NUMBERS[type(record)], msgspec.to_builtins(record)) for record in records]
        return Told(name=name, records=told, warnings=work.warnings)
    except NotKept as error:
        because = str(error)
        count = max(1, len(entry.about.get("items", ())))
        lost = MediaLost(at_ns=entry.at_ns, key=entry.key, step=entry.step, count=count, because=because, spool=name)
        told = [(NUMBERS[MediaLost], msgspec.to_builtins(lost))]
        return Told(name=name, records=told, warnings=[*work.warnings, f"{entry.key!r} is not kept: {because}"])
    except HolterError as error:
        return Told(name=name, failed=f"{entry.key!r}: {error}", warnings=work.warnings)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  the boundary: libraries raise anything for what they can't read
        because = f"{entry.key!r} could not be made: {type(error).__name__}: {str(error)[:500]}"
        return Told(name=name, failed=because, warnings=work.warnings)
    finally:
        opened.close()
