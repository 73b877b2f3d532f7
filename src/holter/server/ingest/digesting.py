"""What a journal says about its run, kept up to date from the pieces that are fed."""

import msgspec

from holter.catalog.read.run_view import PROGRAM
from holter.journal.digest import Digest, add_record
from holter.model.records import LASTING, Flushed, Opened
from holter.server.ingest.feed import Fed
from holter.storage.console import Event
from holter.storage.series import Rows

SYSTEM = "system/"
"""What a sidecar measured under `system/process/rss_bytes` is the series `system/<host>/process/rss_bytes`."""
_MS = 1_000_000


class GrowingDigest:
    """The digest of one journal. Each segment begins with what the earlier ones add up to, so each begins anew."""

    def __init__(self, journal: str) -> None:
        self.digest: Digest | None = None
        self._journal = journal
        self._fresh: Digest | None = None

    def add(self, fed: Fed) -> None:
        """Take in a piece."""
        if fed.is_new_segment:
            self._fresh = None
        for _, record in fed.records:
            if isinstance(record, Opened):
                self._fresh = self._fresh or Digest(self._journal, record)
            elif self._fresh is not None:
                add_record(self._fresh, record)
        if self._fresh is None and self.digest is not None:
            self._fresh = self.digest  # the record that says who writes is damaged: it is who wrote before
        if self._fresh is not None:
            _count(self._fresh, fed)
        self.digest = self._fresh or self.digest

    def rows(self, fed: Fed) -> tuple[Rows, ...]:
        """The rows under the keys of their series: what a sidecar measured is apart from what the program logged."""
        if self.digest is None or self.digest.opened.writer in PROGRAM:
            return tuple(fed.rows)
        host = self.digest.opened.host
        return tuple(
            Rows(
                tuple(f"{SYSTEM}{host}/{key.removeprefix(SYSTEM)}" for key in rows.keys),
                # Its own count begins anew with each attempt; milliseconds go on.
                rows.at_ns // _MS,
                rows.at_ns,
                rows.offsets,
                rows.values,
            )
            for rows in fed.rows
        )


def events_of(journal: str, fed: Fed) -> list[Event]:
    """The lasting records of a piece, and where the program made sure of its rows."""
    return [
        Event(record.at_ns, journal, offset, type(record).__name__, msgspec.to_builtins(record))
        for offset, record in fed.records
        if isinstance(record, (*LASTING, Flushed))
    ]


def _count(digest: Digest, fed: Fed) -> None:
    digest.rows += fed.count
    for row in fed.last_rows:
        digest.last.update(row.values)
        digest.last_at_ns, digest.last_step = row.at_ns, row.step
    steps = [int(rows.steps.max()) for rows in fed.rows if len(rows.steps)]
    if digest.highest_step is not None:
        steps.append(digest.highest_step)
    digest.highest_step = max(steps, default=None)
