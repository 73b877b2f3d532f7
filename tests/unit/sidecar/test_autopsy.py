"""Whom the sidecar asks about which death."""

import os
import signal
import time
from pathlib import Path

import pytest

from holter.model.clock import Clock
from holter.model.evidence import ALL_ASKED, Counters, MemoryLevel
from holter.model.record import Record
from holter.model.records import Looked
from holter.model.witnesses import KERNEL_LOG
from holter.probes.postmortem.scene import Death
from holter.sidecar.autopsy import MOST_CHILDREN, Autopsy

EXIT_1 = 1 << 8
KILLED, TERMINATED, FAULTED = int(signal.SIGKILL), int(signal.SIGTERM), int(signal.SIGSEGV)


def death(status: int | None, *, is_child: bool = False, pid: int = 7, heeded: tuple[int, ...] | None = None) -> Death:
    counters = Counters(levels=(MemoryLevel(level=0, kills=0),), host_kills=0)
    return Death(pid=pid, at_ns=1, status=status, is_child=is_child, counters=counters, heeded=heeded)


@pytest.fixture
def said() -> list[Looked]:
    return []


@pytest.fixture
def autopsy(tmp_path: Path, said: list[Looked], monkeypatch: pytest.MonkeyPatch) -> Autopsy:
    for name in ("SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "PBS_JOBID", "LSB_JOBID"):
        monkeypatch.delenv(name, raising=False)

    def keep(record: Record) -> None:
        assert isinstance(record, Looked)
        said.append(record)

    return Autopsy(str(tmp_path), keep, clock=Clock(), without=frozenset({KERNEL_LOG}))


def finish(autopsy: Autopsy) -> None:
    deadline = time.monotonic() + 60
    while not autopsy.finish():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("status", "is_child", "is_clean"),
    [
        (0, False, True),
        (EXIT_1, False, False),
        (KILLED, False, False),
        (TERMINATED, False, False),
        (None, False, False),
        (0, True, True),
        (EXIT_1, True, False),
        (KILLED, True, False),
        (TERMINATED, True, True),
        (FAULTED, True, False),
        (None, True, False),
    ],
)
def test_a_child_that_was_told_to_leave_left_cleanly(status: int | None, is_child: bool, is_clean: bool) -> None:
    assert death(status, is_child=is_child).is_clean is is_clean


def test_of_a_killed_process_everything_is_asked_and_the_end_of_it_is_said(
    autopsy: Autopsy, said: list[Looked]
) -> None:
    autopsy.begin(death(KILLED))
    finish(autopsy)
    sources = [record.source for record in said]
    assert sources == ["counters", "kernel-log", "process-table", "surroundings", "oom-daemon", ALL_ASKED]
    assert [record.pid for record in said if record.source in ("counters", "surroundings", ALL_ASKED)] == [7, 7, 7]


def test_a_program_that_left_with_an_error_could_look_around_itself_or_was_last_seen_by_us(
    autopsy: Autopsy, said: list[Looked]
) -> None:
    autopsy.begin(death(EXIT_1, heeded=(2, 15)))
    finish(autopsy)
    assert [record.source for record in said] == ["counters", "kernel-log", "last-seen", ALL_ASKED]
    assert said[2].found["heeded"] == (2, 15)


def test_a_good_end_is_only_worth_a_word_where_somebody_could_ask_for_it(autopsy: Autopsy, said: list[Looked]) -> None:
    autopsy.begin(death(0, heeded=(2,)))
    autopsy.begin(death(0, heeded=(2, 15)))
    assert autopsy.finish()
    assert [(record.source, record.found) for record in said] == [("last-seen", {"heeded": (2, 15)})]


def test_a_good_end_is_nobodys_business(autopsy: Autopsy, said: list[Looked]) -> None:
    autopsy.begin(death(0))
    autopsy.begin(death(TERMINATED, is_child=True))
    assert autopsy.finish()
    assert said == []


def test_of_many_children_only_the_first_are_asked_about(autopsy: Autopsy, said: list[Looked]) -> None:
    for pid in range(100, 100 + 3 * MOST_CHILDREN):
        autopsy.begin(death(KILLED, is_child=True, pid=pid))
    finish(autopsy)
    assert len({record.pid for record in said if record.source == "counters"}) == MOST_CHILDREN
    autopsy.begin(death(KILLED))
    finish(autopsy)
    assert 7 in {record.pid for record in said if record.source == "counters"}


def test_whoever_answers_after_the_end_is_not_heard(autopsy: Autopsy, said: list[Looked]) -> None:
    autopsy.close()
    autopsy.begin(death(KILLED))
    finish(autopsy)
    assert said == []


def test_one_source_that_fails_does_not_cost_the_others(
    autopsy: Autopsy, said: list[Looked], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*arguments: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("holter.probes.postmortem.process_table.look", fail)
    autopsy.begin(death(KILLED))
    finish(autopsy)
    assert [record.source for record in said][-1] == ALL_ASKED
    assert "surroundings" in [record.source for record in said]
    assert any("ZeroDivisionError" in path.read_text() for path in tmp_path.iterdir())


def test_without_counters_it_is_said_that_nobody_could_look(autopsy: Autopsy, said: list[Looked]) -> None:
    autopsy.begin(Death(pid=os.getpid(), at_ns=1, status=KILLED))
    finish(autopsy)
    assert said[0].source == "counters"
    assert said[0].because == "the process's memory limit (cgroup) could not be found"
