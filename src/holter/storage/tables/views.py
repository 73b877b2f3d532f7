"""Series in tables as one who does not digest them sees them: what others sealed, and tails that are never sealed."""

from holter.storage.tables.sealed_offsets import SealedOffsets
from holter.storage.tables.sealing import CHUNK
from holter.storage.tables.series import SeriesTables
from holter.storage.tables.tails import JournalTails, Tail


class SeriesViews(SeriesTables):
    """The port `SeriesStore`, but that nothing is written: what is appended is seen here only, for a while."""

    def delete(self, run: str) -> None:
        """Forget the tails of a run."""
        self.let_go(run)

    def sync(self, run: str | None = None) -> None:
        """Whoever digests it does that."""

    def _seal(self, journal: JournalTails, due: list[Tail], *, is_forced: bool = False) -> None:
        """Drop what others have sealed meanwhile."""
        if not due:
            return
        with self._database.read() as connection:
            sealed = SealedOffsets(connection, journal.run)
        for tail in due:
            before = tail.size_bytes
            tail.drop(sealed.up_to(tail.journal, tail.digest))
            tail.limit = tail.count + CHUNK
            self._tail_bytes += tail.size_bytes - before

    def _seal_longest(self) -> None:
        """Too much was looked at: it is read again."""
        for run in list(self._runs):
            self._forget(run)
