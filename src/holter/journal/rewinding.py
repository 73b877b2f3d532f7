"""Which rows of a run count after it went back to an earlier step: those behind it, of earlier attempts, are abandoned.

They stay in their journals. Pure, but for `history_at`, which reads journals without numpy: training processes ask it.
"""

import os
from collections.abc import Callable, Iterable, Mapping

import msgspec

from holter.journal.aggregating import add_to_aggregates
from holter.journal.decoding import LoggedRow, Told
from holter.journal.digest import Digest, GrowingDigest, digest
from holter.journal.rundir import list_segments
from holter.model.artifact_records import WentOn
from holter.model.metric_definitions import Aggregate, MetricDefinition, add_rows, definition_of, is_aggregated

REWIND, FORK = "rewind", "fork"
_MOST_GENERATIONS = 100


class History(msgspec.Struct):
    """What the rows up to a step add up to."""

    last: dict[str, tuple[int, object]] = {}
    """By key, when its last value was logged, and that value."""
    aggregates: dict[str, Aggregate] = {}
    metrics: dict[str, MetricDefinition] = {}
    last_step: int | None = None
    last_at_ns: int = 0

    def values(self) -> dict[str, object]:
        """The last value of each key."""
        return {key: value for key, (_, value) in self.last.items()}


def rewinds_of(digests: Iterable[Digest]) -> dict[int, int]:
    """By the attempts that went back, the last step of the earlier ones that still counts."""
    found: dict[int, int] = {}
    for each in digests:
        for record in each.said:
            if isinstance(record, WentOn) and record.how == REWIND:
                found[each.opened.attempt] = min(record.step, found.get(each.opened.attempt, record.step))
    return found


def cut_of(attempt: int, rewinds: Mapping[int, int]) -> int | None:
    """The last step of an attempt's rows that counts; None where all of them do."""
    return min((step for later, step in rewinds.items() if later > attempt), default=None)


def fork_of(digests: Iterable[Digest]) -> WentOn | None:
    """Whose history the run goes on from; None for a run of its own."""
    said = [record for each in digests for record in each.said if isinstance(record, WentOn) and record.how == FORK]
    return min(said, key=lambda record: record.at_ns, default=None)


def history_at(find: Callable[[str], str], run: str, *, step: int, generations: int = 0) -> History:
    """What a run's rows up to a step add up to, with those of the run that it was forked from.

    `find` gives the directory of a run. Raises NewerJournal, OSError.
    """
    directory = find(run)
    journals = list_segments(directory) if os.path.isdir(directory) else {}
    digests = [found for journal, paths in journals.items() if (found := digest(journal, paths)) is not None]
    parent, rewinds = fork_of(digests), rewinds_of(digests)
    history = History()
    if parent is not None and generations < _MOST_GENERATIONS:
        history = history_at(find, parent.run, step=min(step, parent.step), generations=generations + 1)
    for each in sorted(digests, key=lambda found: (found.opened.at_ns, found.journal)):
        if each.opened.writer != "sidecar":
            cut = cut_of(each.opened.attempt, rewinds)
            _add_journal(history, each.journal, journals[each.journal], step if cut is None else min(step, cut))
    return history


def _add_journal(history: History, journal: str, paths: list[str], cut: int, /) -> None:
    growing = GrowingDigest(journal, lambda: paths)
    growing.place.start(paths, 0)
    metrics: dict[str, MetricDefinition] = {}
    for told in growing.read(paths, is_final=True):
        highest = told.highest_step()
        if highest is not None and highest <= cut:
            add_to_aggregates(history.aggregates, told, before=metrics)
            for row in told.last_rows():
                _add_row(history, row)
        elif highest is not None:
            _add_some(history, told, cut, growing.digest.metrics if growing.digest is not None else metrics)
        metrics = growing.digest.metrics if growing.digest is not None else metrics
    history.metrics |= metrics


def _add_some(history: History, told: Told, cut: int, metrics: Mapping[str, MetricDefinition], /) -> None:
    for _, row in told.rows():
        if row.step <= cut:
            _add_row(history, row)
            counted = ((key, value) for key, value in row.values.items() if _is_counted(key, metrics))
            add_rows(history.aggregates, counted)


def _is_counted(key: str, metrics: Mapping[str, MetricDefinition]) -> bool:
    return bool(metrics) and is_aggregated(definition_of(key, metrics))


def _add_row(history: History, row: LoggedRow) -> None:
    for key, value in row.values.items():
        if key not in history.last or history.last[key][0] <= row.at_ns:
            history.last[key] = (row.at_ns, value)
    if row.at_ns >= history.last_at_ns:
        history.last_at_ns, history.last_step = row.at_ns, row.step
