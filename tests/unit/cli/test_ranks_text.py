"""Several processes of one run: who died first, who followed."""

import signal
import time
from collections.abc import Iterator

import pytest

from holter.catalog.judge.ranks import ranks_of
from holter.cli.ranks_text import ranks_lines
from holter.model.evidence import End, Evidence
from holter.model.verdicts import Diagnosis, Explanation

AT = 1_700_000_000
NS = 1_000_000_000


@pytest.fixture(autouse=True)
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def rank(number: int, status: int | None, *, after_s: float, last_step: int = 41) -> End:
    at_ns = AT * NS + int(after_s * NS)
    return End(
        pid=100 + number, role="rank", rank=number, host="gpu-03", status=status, at_ns=at_ns, last_step=last_step
    )


def told(*ranks: End) -> list[str]:
    diagnosis = Diagnosis(cause="killed", confidence=1.0, title="", state="crashed")
    found = ranks_of(Evidence(subject=ranks[0], ranks=ranks))
    return ranks_lines(Explanation(diagnosis=diagnosis, ranks=found), now=AT)


def test_one_process_needs_no_list() -> None:
    alone = rank(0, int(signal.SIGKILL), after_s=0)
    assert told(alone) == []


def test_who_died_first_and_who_was_dragged_along() -> None:
    first = rank(1, int(signal.SIGKILL), after_s=0, last_step=40)
    second = rank(0, int(signal.SIGTERM), after_s=0.5)
    lines = told(first, second)
    assert lines[0].startswith("rank 1 on gpu-03  22:13:20.0  step 40, SIGKILL (signal 9): died first")
    assert lines[1].startswith("rank 0 on gpu-03  22:13:20.5  step 41, SIGTERM (signal 15): dragged along 0.5 s later")
