"""Logs a value as a training process does and has it made as the worker does, in this process."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from holter.client.media.taking import MediaTaker
from holter.journal.spool import list_entries
from holter.model.media_records import HistogramLogged, MediaItem, MediaLost, MediaMade
from holter.worker.answering import Told, make

if TYPE_CHECKING:
    from holter.model.record import Record


class Bench:
    """A run's directory in which media are logged and made."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.said: list[Record] = []
        self.complaints: list[str] = []
        self.warnings: list[str] = []
        self._taker = MediaTaker(
            str(directory),
            "0" * 32,
            record=self.said.append,
            complain=lambda cause, text: self.complaints.append(text),
            limit_bytes=-1,
        )

    def log(self, value: Any, key: str = "x", step: int = 0) -> dict[Any, Any]:
        """What is left in the row."""
        return self._taker.take({key: value}, step, 1_000 + step)

    def make(self) -> list[Told]:
        """All that waits."""
        told = [make(str(self.directory), name, limit_bytes=-1) for name in list_entries(str(self.directory))]
        for name in list_entries(str(self.directory)):
            (self.directory / "spool" / name).unlink()
        self.warnings += [text for each in told for text in each.warnings]
        return told

    def made(self, value: Any, key: str = "x", step: int = 0) -> MediaMade:
        """What becomes of one value."""
        assert self.log(value, key, step) == {}
        [told] = self.make()
        assert not told.failed, told.failed
        [(number, fields)] = told.records
        assert number == 51
        return msgspec.convert(fields, MediaMade)

    def one(self, value: Any) -> tuple[MediaItem, bytes]:
        """The only item of it, and its bytes."""
        [item] = self.made(value).items
        return item, self.read(item)

    def read(self, item: MediaItem) -> bytes:
        return (self.directory / item.path).read_bytes()

    def lost(self) -> list[MediaLost]:
        return [each for each in self.said if isinstance(each, MediaLost)]

    def histograms(self) -> list[HistogramLogged]:
        return [each for each in self.said if isinstance(each, HistogramLogged)]
