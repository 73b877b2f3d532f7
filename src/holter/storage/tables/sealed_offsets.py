"""Up to where the rows of each key set of a journal are sealed, as the file says it in one transaction."""

from typing import NamedTuple

from holter.storage.merging import Writes
from holter.storage.tables.database import Connection


class Taken(NamedTuple):
    """A copy of the rows of one key set of one journal that a process has in memory."""

    journal: str
    key_set: bytes
    writes: Writes


class SealedOffsets:
    """Of one run. Two processes may seal the same rows: the one that comes second sees it here."""

    def __init__(self, connection: Connection, run: str) -> None:
        self._connection = connection
        rows = connection.execute("SELECT id, journal, replay_from FROM journal WHERE run = ?", (run,)).fetchall()
        self._starts: dict[str, int] = {journal: start for _, journal, start in rows}
        self._of: dict[str, dict[bytes, int]] = {
            journal: dict(connection.execute("SELECT keys, up_to FROM sealed WHERE journal = ?", (number,)).fetchall())
            for number, journal, _ in rows
        }

    def start(self, journal: str) -> int:
        """Everything of the journal before this offset is sealed."""
        return self._starts.get(journal, 0)

    def of(self, journal: str) -> dict[bytes, int]:
        """By key set, where that is further than the start."""
        return self._of.get(journal, {})

    def up_to(self, journal: str, key_set: bytes) -> int:
        """Rows of this key set before this offset are sealed."""
        return max(self.start(journal), self.of(journal).get(key_set, 0))

    def left_of(self, taken: list[Taken]) -> list[Writes]:
        """The writes that are not sealed."""
        found = []
        for journal, key_set, writes in taken:
            up_to = self.up_to(journal, key_set)
            first = int(writes.offsets.searchsorted(up_to))
            if first < len(writes.offsets):
                found.append(writes.take(slice(first, None)) if first else writes)
        return found

    def advance(self, number: int, up_to: dict[bytes, int], *, replay_from: int) -> None:
        """Write down what this transaction seals."""
        self._connection.executemany(
            "INSERT INTO sealed (journal, keys, up_to) VALUES (?, ?, ?)"
            " ON CONFLICT (journal, keys) DO UPDATE SET up_to = excluded.up_to WHERE excluded.up_to > sealed.up_to",
            [(number, key_set, offset) for key_set, offset in up_to.items()],
        )
        self._connection.execute(
            "UPDATE journal SET replay_from = ? WHERE id = ? AND replay_from < ?", (replay_from, number, replay_from)
        )
        self._connection.execute("DELETE FROM sealed WHERE journal = ? AND up_to <= ?", (number, replay_from))
