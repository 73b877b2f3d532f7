"""Which parameters tell how the runs of a table came out."""

import contextlib
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from typing import Annotated

import msgspec

from holter.errors import Refused
from holter.server.query.importance import Importance, Trial, importance_of
from holter.server.transport.routing import Route, Visit
from holter.storage.filter_text import parse_query
from holter.storage.filters import Compare
from holter.storage.run_fields import NUMBERS, flat_fields, plain_fields

MOST_RUNS = 2000
MOST_KEPT = 64
MOST_WAITING = 4
RETRY_S = 5
CONFIG = "config."


class AskedImportance(msgspec.Struct, frozen=True, kw_only=True):
    """Of which runs, and for what: `summary.…`, or a field that is a number.

    Among all parameters, or some, separated by commas. Of more than 2,000 runs the newest are taken.
    """

    project: str
    target: Annotated[str, msgspec.Meta(max_length=4_000)]
    filter: Annotated[str, msgspec.Meta(max_length=20_000)] = ""
    parameters: Annotated[str, msgspec.Meta(max_length=20_000)] = ""


class Answers:
    """What was computed, by what it was computed from: other runs or other values are another question.

    One is computed at a time, and few wait for it: threads are for all who read.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[bytes, Importance] = OrderedDict()
        self._turn = threading.Lock()
        self._waiting = threading.Lock()
        self.free_places = 1 + MOST_WAITING

    def answer(self, trials: list[Trial], *, target: str, only: list[str]) -> Importance:
        """Raises Refused."""
        question = hashlib.sha256(msgspec.msgpack.encode((trials, target, only))).digest()
        found = self._kept.get(question)
        if found is not None:
            return found
        with self._place(), self._turn:
            return self._kept.get(question) or self._compute(question, trials, target=target, only=only)

    @contextlib.contextmanager
    def _place(self) -> Iterator[None]:
        with self._waiting:
            if not self.free_places:
                raise Refused(503, "others wait for their importances", do="ask again in a moment", retry_s=RETRY_S)
            self.free_places -= 1
        try:
            yield
        finally:
            with self._waiting:
                self.free_places += 1

    def _compute(self, question: bytes, trials: list[Trial], *, target: str, only: list[str]) -> Importance:
        found = self._kept[question] = importance_of(trials, target=target, only=only)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return found


_ANSWERS = Answers()


def importance(visit: Visit, asked: AskedImportance) -> Importance:
    """How much each parameter tells of a summary value: a random forest's word, with the correlation beside it"""
    query = visit.services.question(where=Compare("project", "=", asked.project), count=MOST_RUNS)
    page = visit.runs.query(parse_query(query, where=asked.filter, sort="-started_at"))
    only = [CONFIG + name.strip().removeprefix(CONFIG) for name in asked.parameters.split(",") if name.strip()]
    trials = []
    for row in page.runs:
        fields = (plain_fields(row) if asked.target in NUMBERS else {}) | flat_fields(row)
        outcome = fields.get(asked.target)
        trials.append(
            Trial(
                {name: value for name, value in fields.items() if name.startswith(CONFIG) and name != asked.target},
                float(outcome) if isinstance(outcome, int | float) else None,
            )
        )
    found = _ANSWERS.answer(trials, target=asked.target, only=only)
    return msgspec.structs.replace(found, total=page.total or len(trials))


ROUTES = [
    Route(
        method="GET",
        path="/importance",
        touches="listing",
        answer=importance,
        asked=AskedImportance,
        result=Importance,
    )
]
