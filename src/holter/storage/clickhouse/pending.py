"""Points that are on their way: ClickHouse wants few inserts and many rows in each."""

import re

import msgspec
import numpy as np

from holter.errors import OffsetGap
from holter.storage.clickhouse.binary import pack_text, to_bytes
from holter.storage.series import Rows, SeriesBatch

_POINT = np.dtype(
    [
        ("step", "<i8"),
        # The version: one number of 256 bits, its lowest ones first.
        ("offset", "<u8"),
        ("journal_low", "<u8"),
        ("journal_high", "<u8"),
        ("at", "<u8"),
        ("value", "<f8"),
    ]
)
COLUMNS = ("run", "key", "step", "version", "value")
_IS_UUID = re.compile(r"[0-9a-f]{32}").fullmatch
_SIGN = 1 << 63
"""Times before 1970 are smaller than all others, as numbers without a sign, too."""


class JournalEnd(msgspec.Struct):
    """Of a journal of a run: up to where it was appended, and up to where ClickHouse has it."""

    taken: int
    durable: int


class RunPending(msgspec.Struct):
    """What was appended to one run and ClickHouse does not have."""

    journals: dict[str, JournalEnd] = {}
    keys: set[str] = set()
    """Those that ClickHouse has already."""
    new_keys: set[str] = set()
    parts: list[bytes] = []
    size_bytes: int = 0

    @property
    def is_dirty(self) -> bool:
        """Whether there is something to insert."""
        return any(end.taken > end.durable for end in self.journals.values())

    def add(self, batch: SeriesBatch) -> int:
        """Take a batch; what is in it twice is passed over. Returns its bytes. Raises OffsetGap."""
        end = self.journals[batch.journal]
        if batch.start > end.taken:
            text = f"journal {batch.journal} has come to offset {end.taken}, the batch begins at {batch.start}"
            raise OffsetGap(text, end.taken)
        if batch.stop <= end.taken:
            return 0
        before = len(self.parts)
        for rows in batch.rows:
            self._add(batch, rows, rows.offsets >= end.taken)
        end.taken = batch.stop
        size = sum(map(len, self.parts[before:]))
        self.size_bytes += size
        return size

    def taken(self) -> dict[str, int]:
        """What to note once all of it is there."""
        return {journal: end.taken for journal, end in self.journals.items() if end.taken > end.durable}

    def settle(self) -> None:
        """All of it is there."""
        self.keys |= self.new_keys
        for end in self.journals.values():
            end.durable = end.taken
        self.new_keys, self.parts, self.size_bytes = set(), [], 0

    def _add(self, batch: SeriesBatch, rows: Rows, is_new: "np.ndarray[tuple[int], np.dtype[np.bool_]]") -> None:
        count = int(is_new.sum())
        if not count:
            return
        points = np.empty((len(rows.keys), count), _POINT)
        points["step"], points["offset"] = rows.steps[is_new], rows.offsets[is_new]
        points["at"] = rows.at_ns[is_new].view(np.uint64) ^ np.uint64(_SIGN)
        points["value"] = rows.values[:, is_new]
        journal = _number(batch.journal)
        points["journal_low"], points["journal_high"] = journal & (1 << 64) - 1, journal >> 64
        run = pack_text(to_bytes(batch.run))
        for key, line in zip(rows.keys, points, strict=True):
            if key not in self.keys:
                self.new_keys.add(key)
            head = np.frombuffer(run + pack_text(to_bytes(key)), np.uint8)
            packed = np.empty((count, len(head) + _POINT.itemsize), np.uint8)
            packed[:, : len(head)] = head
            packed[:, len(head) :] = line.view(np.uint8).reshape(count, -1)
            self.parts.append(packed.tobytes())


def _number(journal: str) -> int:
    """In the order of the names."""
    if _IS_UUID(journal):
        return int(journal, 16)
    return int.from_bytes(to_bytes(journal)[:16].ljust(16, b"\0"), "big")
