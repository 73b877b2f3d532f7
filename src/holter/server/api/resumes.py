"""Where runs went on from a checkpoint, and the work that was lost before."""

import contextlib
import threading
from collections import OrderedDict
from typing import Annotated

import msgspec

from holter.errors import NewerJournal
from holter.model.run_row import RunRow
from holter.server.query.resumes import Resume, find_resumes
from holter.server.transport.routing import Route, Visit

MOST_RUNS = 100
MOST_KEPT = 200


class AskedResumes(msgspec.Struct, frozen=True, kw_only=True):
    """Of some runs, separated by commas."""

    runs: Annotated[str, msgspec.Meta(max_length=10_000)]
    keys: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    """Whose lost points are wanted, separated by commas; a comma within a key is `%2C`, and a percent sign `%25`."""


class ResumesOfRun(msgspec.Struct, frozen=True):
    """One run's resumes in order."""

    run: str
    resumes: list[Resume]


class Resumes(msgspec.Struct, frozen=True):
    """Those of the runs that are there; one that never went on has none."""

    runs: list[ResumesOfRun]


class _Kept:
    """What was read of journals, as long as nobody has gone on since: what was lost stays so. Thread-safe."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, int], list[Resume]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, directory: str, attempt: int) -> list[Resume]:
        found = self._kept.get((directory, attempt))
        if found is None:
            found = find_resumes(directory)
            # The newest attempt has logged, so that it is told where it began.
            if found and found[-1].attempt == attempt:
                with self._lock:
                    self._kept[directory, attempt] = found
                    while len(self._kept) > MOST_KEPT:
                        self._kept.popitem(last=False)
        return found


_KEPT = _Kept()


def resumes(visit: Visit, asked: AskedResumes) -> Resumes:
    """At which step each attempt of a run went on, how many steps were done again, and what they had been before"""
    keys = {key.replace("%2C", ",").replace("%25", "%") for key in asked.keys.split(",") if key}
    wanted = list(dict.fromkeys(run for run in asked.runs.split(",") if run))[:MOST_RUNS]
    rows = (visit.services.storage.runs.get(run) for run in wanted)
    return Resumes([ResumesOfRun(row.id, _of_run(visit, row, keys)) for row in rows if row is not None])


def _of_run(visit: Visit, row: RunRow, keys: set[str]) -> list[Resume]:
    if row.attempt < 2:
        return []
    told: list[Resume] = []
    with contextlib.suppress(FileNotFoundError, NewerJournal):  # deleted meanwhile, or written by a newer holter
        told = _KEPT.find(visit.services.verdicts.files(row.id), row.attempt)
    return [
        msgspec.structs.replace(each, lost={key: curve for key, curve in each.lost.items() if key in keys})
        for each in told
    ]


ROUTES = [Route(method="GET", path="/resumes", touches="runs", answer=resumes, asked=AskedResumes, result=Resumes)]
