"""Ranks of which nobody logs: who waits for whom, and what is written down of each."""

import subprocess
from collections.abc import Iterator

import pytest

from holter.guards.limits import Limits
from holter.guards.progress import Progress
from holter.guards.seen import Standing
from holter.model.warning_records import Stood
from holter.sidecar.standing import operation_in
from holter.sidecar.standstill import Silent, Standstill
from tests.clocks import FakeClock

WAITS = "thread MainThread:\n  /site-packages/torch/distributed/distributed_c10d.py:2810 all_reduce\n  train.py:9 step"
BROADCASTS = (
    "thread MainThread:\n  /site-packages/torch/distributed/distributed_c10d.py:2700 broadcast\n"
    "  /site-packages/torch/distributed/c10d_logger.py:81 wrapper\n  train.py:11 step"
)
READS = "thread MainThread:\n  data.py:3 read"


@pytest.fixture
def pids() -> Iterator[list[int]]:
    programs = [subprocess.Popen(["sleep", "600"]) for _ in range(3)]
    yield [program.pid for program in programs]
    for program in programs:
        program.kill()
        program.wait()


def logged() -> Progress:
    progress = Progress()
    for at in range(20):
        progress.advance(float(at), rows=1, step=at)
    return progress


def test_the_rank_that_is_behind_is_found_and_each_is_written_down(pids: list[int]) -> None:
    kept: list[object] = []
    progress = logged()
    still = Standstill(kept.append, clock=FakeClock(), limits=Limits())

    def look(now_s: float) -> Standing | None:
        ranks = dict(zip(pids, range(3), strict=True))
        return still.look(Silent(now_s=now_s, progress=progress, roots=pids, ranks=ranks, readings={}, row={}))

    assert look(50.0) is None
    assert not still.wants_stacks
    assert look(70.0) is not None
    assert still.wants_stacks
    for pid, stack in zip(pids, (WAITS, READS, WAITS), strict=True):
        still.hear(pid, stack)
    found = look(81.0)

    assert found is not None
    assert found.kind == "collective"
    assert [(rank, each.pid) for rank, each in found.ranks] == [(1, pids[1])]
    stood = [each for each in kept if isinstance(each, Stood)]
    assert [(each.rank, each.pid, each.kind, each.is_over) for each in stood] == [
        (0, pids[0], "collective", False),
        (1, pids[1], "", False),
        (2, pids[2], "collective", False),
    ]

    progress.advance(90.0, rows=1, step=21)
    assert look(91.0) is None
    assert [each.is_over for each in kept if isinstance(each, Stood)] == [False] * 3 + [True] * 3


@pytest.mark.parametrize(
    ("stacks", "operations"),
    [
        ((BROADCASTS, WAITS, WAITS), [(0, "broadcast"), (1, "all_reduce")]),
        ((WAITS, WAITS, WAITS), []),
        ((WAITS, BROADCASTS, READS), []),
    ],
    ids=["two kinds", "one kind", "one is elsewhere"],
)
def test_collectives_that_do_not_match_are_told_once_all_ranks_wait(
    pids: list[int], stacks: tuple[str, ...], operations: list[tuple[int, str]]
) -> None:
    still = Standstill(lambda record: None, clock=FakeClock(), limits=Limits())
    ranks, progress = dict(zip(pids, range(3), strict=True)), logged()

    def look(now_s: float) -> Standing | None:
        return still.look(Silent(now_s=now_s, progress=progress, roots=pids, ranks=ranks, readings={}, row={}))

    look(70.0)
    for pid, stack in zip(pids, stacks, strict=True):
        still.hear(pid, stack)
    found = look(81.0)
    assert found is not None
    assert [(rank, each.operation) for rank, each in found.ranks if found.is_mismatch] == operations


@pytest.mark.parametrize(
    ("stack", "operation"),
    [
        (WAITS, "all_reduce"),
        (BROADCASTS, "broadcast"),
        (READS, ""),
    ],
)
def test_a_collective_is_named_as_its_user_calls_it(stack: str, operation: str) -> None:
    assert operation_in(stack) == operation
