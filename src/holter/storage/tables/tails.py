"""Points that are not sealed yet: in memory, to be had again from the journals."""

import hashlib
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from holter.storage.merging import Writes, concatenate
from holter.storage.series import Floats, Ints, Rows

_FIRST_ROOM = 32


class Tail:
    """The newest rows of one key set of one journal. The caller holds the store's lock."""

    def __init__(self, journal: str, keys: tuple[str, ...], *, sealed: int, limit: int) -> None:
        self.journal = journal
        self.keys = keys
        self.sealed = sealed
        """Rows before this offset are sealed."""
        self.limit = limit
        """How many rows there may be before it is time to seal."""
        self.count = 0
        self.digest = hashlib.blake2b(msgspec.msgpack.encode(keys), digest_size=16).digest()
        """Stands for the key set."""
        self._lines = {key: line for line, key in enumerate(keys)}
        self._numbers = np.empty((3, _FIRST_ROOM), np.int64)
        self._values = np.empty((len(keys), _FIRST_ROOM), np.float64)

    @property
    def size_bytes(self) -> int:
        """What it takes in memory."""
        return self._numbers.nbytes + self._values.nbytes

    @property
    def first_offset(self) -> int:
        """Where in the journal its oldest row lies."""
        return int(self._numbers[2, 0])

    @property
    def next_offset(self) -> int:
        """An offset behind its last row and before any later one."""
        return int(self._numbers[2, self.count - 1]) + 1

    def add(self, rows: Rows, start: int) -> None:
        """Take the rows from an offset on, but for those that are sealed."""
        start = max(start, self.sealed)
        first = int(np.searchsorted(rows.offsets, start)) if len(rows.offsets) and rows.offsets[0] < start else 0
        added = len(rows.offsets) - first
        if not added:
            return
        following = self.count + added
        if following > self._numbers.shape[1]:
            self._grow(max(following, 2 * self._numbers.shape[1]))
        place = slice(self.count, following)
        self._numbers[0, place] = rows.steps[first:]
        self._numbers[1, place] = rows.at_ns[first:]
        self._numbers[2, place] = rows.offsets[first:]
        self._values[:, place] = rows.values[:, first:]
        self.count = following

    def writes(self, start: int = 0) -> Writes:
        """A copy of the rows from an offset on."""
        first = self._place(start)
        steps, at_ns, offsets = self._numbers[:, first : self.count].copy()
        return self._as_writes(steps, at_ns, offsets, self._values[:, first : self.count].copy())

    def writes_of(self, key: str) -> Writes | None:
        """A copy of all rows, of one key only; None where it has no such key."""
        line = self._lines.get(key)
        if line is None or not self.count:
            return None
        steps, at_ns, offsets = self._numbers[:, : self.count].copy()
        return self._as_writes(steps, at_ns, offsets, self._values[line : line + 1, : self.count].copy())

    def drop(self, offset: int) -> None:
        """Forget the rows before an offset: they are sealed."""
        first = self._place(offset)
        kept = self.count - first
        room = max(_FIRST_ROOM, kept)
        numbers, values = np.empty((3, room), np.int64), np.empty((len(self.keys), room), np.float64)
        numbers[:, :kept] = self._numbers[:, first : self.count]
        values[:, :kept] = self._values[:, first : self.count]
        self._numbers, self._values, self.count = numbers, values, kept
        self.sealed = max(self.sealed, offset)

    def _as_writes(self, steps: Ints, at_ns: Ints, offsets: Ints, values: Floats, /) -> Writes:
        return Writes(steps, at_ns, offsets, np.zeros(len(steps), np.int64), values, (self.journal,))

    def _place(self, offset: int) -> int:
        return int(np.searchsorted(self._numbers[2, : self.count], offset)) if offset else 0

    def _grow(self, room: int) -> None:
        numbers, values = np.empty((3, room), np.int64), np.empty((len(self.keys), room), np.float64)
        numbers[:, : self.count] = self._numbers[:, : self.count]
        values[:, : self.count] = self._values[:, : self.count]
        self._numbers, self._values = numbers, values


class JournalTails:
    """All tails of one journal, and up to where it was appended."""

    def __init__(self, run: str, journal: str, *, end: int) -> None:
        self.run = run
        self.journal = journal
        self.end = end
        self.durable = end
        """From here on it would have to be appended again."""
        self.tails: dict[tuple[str, ...], Tail] = {}

    def size_bytes(self) -> int:
        """What all of them take in memory."""
        return sum(tail.size_bytes for tail in self.tails.values())

    def due(self, touched: list[Tail], *, most_replayed: int) -> list[Tail]:
        """Those of the touched tails that are full; and all with old rows, where too much would have to be replayed."""
        found = [tail for tail in touched if tail.count >= tail.limit]
        if self.end - self.durable > most_replayed:
            oldest = self.end - most_replayed
            found += [tail for tail in self.tails.values() if tail.count and tail.first_offset < oldest]
        return found

    def with_loose(self, due: list[Tail]) -> list[Tail]:
        """The tails, and those of single keys that belong to them: the first row of a key set comes key by key."""
        found = {tail.keys: tail for tail in due if tail.count}
        for key in {key for tail in due if len(tail.keys) > 1 for key in tail.keys}:
            loose = self.tails.get((key,))
            if loose is not None and loose.count:
                found[loose.keys] = loose
        return list(found.values())

    def replay_from(self, sealed: list[Tail]) -> int:
        """The offset before which every row is sealed once these tails are."""
        done = {tail.keys for tail in sealed}  # a row of a million keys has a million tails
        left = [tail for tail in self.tails.values() if tail.count and tail.keys not in done]
        return min([tail.first_offset for tail in left], default=self.end)


def together(
    tails: list[Tail], starts: Mapping[bytes, int], *, default: int
) -> Iterator[tuple[tuple[str, ...], Writes]]:
    """What to seal at once: writes to series that share their steps, from the offset of each key set on."""
    writes = {tail.keys: tail.writes(max(starts.get(tail.digest, 0), default)) for tail in tails}
    loose = {keys[0]: each for keys, each in writes.items() if len(keys) == 1}
    for keys, own in writes.items():
        if len(keys) == 1:
            continue
        alike: dict[bytes, list[int]] = {}
        for line, key in enumerate(keys):
            alike.setdefault(loose[key].offsets.tobytes() if key in loose else b"", []).append(line)
        for lines in alike.values():
            names = tuple(keys[line] for line in lines)
            part = own if len(lines) == len(keys) else own.lines(lines)
            extra = [loose.pop(name) for name in names if name in loose]
            yield names, concatenate([_stacked(extra), part]) if extra else part
    for key, each in loose.items():
        yield (key,), each


def _stacked(parts: list[Writes]) -> Writes:
    return msgspec.structs.replace(parts[0], values=np.concatenate([part.values for part in parts]))
