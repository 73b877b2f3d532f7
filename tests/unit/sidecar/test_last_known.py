"""What is remembered of a run for the moment of its end."""

import os
import signal
from typing import TYPE_CHECKING, cast

import pytest

from holter.model.clock import Clock
from holter.model.evidence import Holder, ProcessTable
from holter.model.record import Record
from holter.probes.live.process import Reading
from holter.probes.procfs import parse_stat
from holter.sidecar.last_known import LastKnown
from tests.unit.probes.recordings import stat_line

if TYPE_CHECKING:
    from holter.model.records import Looked

ENOUGH = {"system/host/memory_available_bytes": 50.0, "system/host/memory_total_bytes": 100.0}
SCARCE = ENOUGH | {"system/host/memory_available_bytes": 5.0}


class SteppingClock(Clock):
    """Goes on when a test says so."""

    seconds = 1000

    def monotonic_ns(self) -> int:
        return self.seconds * 1_000_000_000


def reading(rss_bytes: int, flags: int = 0, caught: int = 0) -> Reading:
    stat = parse_stat(stat_line(flags=flags, caught=caught).encode())
    return Reading(stat, rss_bytes, rss_bytes, 0, open_files=3.0, read_bytes=0.0, write_bytes=0.0)


@pytest.fixture
def said() -> list[Record]:
    return []


@pytest.fixture
def known(said: list[Record]) -> LastKnown:
    return LastKnown(said.append, Clock())


def test_each_process_is_remembered_with_its_memory(known: LastKnown) -> None:
    known.tick(ENOUGH, {os.getpid(): reading(7)}, roots=[os.getpid()])
    (holder,) = known.holders.values()
    assert (holder.pid, holder.rss_bytes, holder.is_ours) == (os.getpid(), 7, True)
    assert holder.name
    assert b"Max open files" in known.limits[os.getpid()]


def test_a_process_that_is_being_ended_is_remembered_as_it_was(known: LastKnown) -> None:
    known.tick(ENOUGH, {4194305: reading(7)}, roots=[])
    known.tick(ENOUGH, {4194305: reading(3, flags=0x4)}, roots=[])
    known.tick(ENOUGH, {4194305: reading(0)}, roots=[])
    assert known.holders == {4194305: Holder(pid=4194305, name="", rss_bytes=7, is_ours=True)}


def test_all_processes_are_looked_at_only_where_memory_is_scarce(known: LastKnown, said: list[Record]) -> None:
    known.tick(ENOUGH, {}, roots=[])
    assert said == []
    known.tick(SCARCE, {}, roots=[])
    (table,) = said
    assert cast("Looked", table).source == "process-table"


def test_they_are_not_looked_at_again_at_once_and_not_written_each_time(
    said: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SteppingClock()
    known = LastKnown(said.append, clock)
    looks: list[float] = []

    def look(*arguments: object) -> ProcessTable:
        looks.append(clock.seconds)
        return ProcessTable()

    monkeypatch.setattr("holter.sidecar.last_known.look", look)
    for _ in range(100):
        clock.seconds += 1
        known.tick(SCARCE, {}, roots=[])
    assert looks[:3] == [1001, 1004, 1007]
    assert len(said) == 4


def test_a_handler_that_python_took_away_before_the_end_is_not_forgotten(known: LastKnown) -> None:
    known.tick(ENOUGH, {7: reading(7, caught=1 << 14)}, roots=[7])
    known.tick(ENOUGH, {7: reading(7)}, roots=[7])
    assert known.heeded == {7: (15,)}


def test_the_handlers_of_a_process_can_be_looked_at_between_two_ticks(known: LastKnown) -> None:
    known.look_at(os.getpid())
    known.look_at(1 << 22)  # no process has such a pid
    assert signal.SIGINT in known.heeded.pop(os.getpid())
    assert known.heeded == {}


def test_where_the_stack_of_a_process_begins_is_remembered(known: LastKnown) -> None:
    known.look_at(os.getpid())
    assert known.stack_starts[os.getpid()] > 0
