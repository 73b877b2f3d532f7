"""Which cgroups' counters are within reach when a process dies."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
import pytest

from holter.model.clock import Clock
from holter.model.evidence import Counters
from holter.model.record import Record
from holter.sidecar.counting import Counting
from tests.unit.probes.recordings import stat_line, write_files

if TYPE_CHECKING:
    from holter.model.records import Looked

EXITING = 0x4


class Host:
    """A tree of files like those of a machine with cgroups of version 1."""

    def __init__(self, root: Path) -> None:
        self.root = root
        mounts = f"35 31 0:32 / {root}/memory rw,relatime - cgroup cgroup rw,memory\n"
        self.proc = write_files(root / "proc", {"self/mountinfo": mounts, "vmstat": "oom_kill 0\n"})

    def put(self, pid: int, cgroup: str, *, flags: int = 0) -> None:
        write_files(
            self.root / "proc", {f"{pid}/cgroup": f"4:memory:{cgroup}\n", f"{pid}/stat": stat_line(flags=flags)}
        )

    def count(self, cgroup: str, kills: int) -> None:
        text = f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n"
        write_files(self.root / "memory" / cgroup.strip("/"), {"memory.oom_control": text, "memory.failcnt": "0\n"})


@pytest.fixture
def host(tmp_path: Path) -> Host:
    host = Host(tmp_path)
    host.count("/a", 0)
    host.count("/b", 0)
    return host


@pytest.fixture
def said() -> list[Record]:
    return []


@pytest.fixture
def counting(host: Host, said: list[Record]) -> Counting:
    return Counting(said.append, Clock(), proc=host.proc)


def kills(counting: Counting, pid: int) -> int | None:
    found = counting.look(pid)
    return found.levels[0].kills if found else None


def test_what_was_at_the_beginning_is_written_once_for_each_cgroup(
    host: Host, counting: Counting, said: list[Record]
) -> None:
    for pid, cgroup in ((1, "/a"), (2, "/a"), (3, "/b")):
        host.put(pid, cgroup)
        counting.follow(pid)
        counting.follow(pid)
    found = [msgspec.convert(cast("Looked", record).found, Counters) for record in said]
    assert [counters.levels[0].path for counters in found] == ["/a", "/b"]
    assert all(counters.is_first for counters in found)
    assert counting.paths == {"/a", "/b"}


def test_each_process_has_the_counters_of_its_own_cgroup(host: Host, counting: Counting) -> None:
    host.put(1, "/a")
    host.put(2, "/b")
    counting.follow(1)
    counting.follow(2)
    host.count("/b", 1)
    assert (kills(counting, 1), kills(counting, 2)) == (0, 1)
    counting.close()


def test_a_process_that_came_and_went_too_fast_was_where_the_others_are(host: Host, counting: Counting) -> None:
    host.put(1, "/a")
    counting.follow(1)
    host.count("/a", 1)
    assert kills(counting, 99) == 1


def test_a_process_on_its_way_out_is_where_it_was(host: Host, counting: Counting) -> None:
    host.put(1, "/a")
    counting.follow(1)
    host.put(1, "/", flags=EXITING)
    counting.follow(1)
    host.count("/a", 1)
    assert kills(counting, 1) == 1


def test_a_process_that_moved_has_the_counters_of_its_new_cgroup(host: Host, counting: Counting) -> None:
    host.put(1, "/a")
    counting.follow(1)
    host.put(1, "/b")
    counting.follow(1)
    host.count("/b", 2)
    assert kills(counting, 1) == 2


def test_where_nobody_could_look_nothing_is_known(counting: Counting) -> None:
    counting.follow(1)
    assert counting.look(1) is None


def test_thousands_of_children_that_came_and_went_do_not_hide_a_new_one(host: Host, counting: Counting) -> None:
    for pid in range(1, 1200):
        host.put(pid, "/a")
        counting.follow(pid)
        shutil.rmtree(host.root / "proc" / str(pid))
    host.put(5000, "/b")
    counting.follow(5000)
    host.count("/b", 1)
    assert kills(counting, 5000) == 1


def lately(counting: Counting, pid: int) -> int | None:
    found = counting.look(pid)
    return found.levels[0].kills_lately if found else None


def test_who_lives_on_after_a_kill_for_memory_was_not_its_victim(host: Host, counting: Counting) -> None:
    host.put(7, "/a")
    host.put(8, "/a")
    counting.follow(7)
    counting.follow(8)
    host.put(8, "/a", flags=EXITING)
    host.count("/a", 1)
    counting.tick()
    assert (lately(counting, 7), lately(counting, 8)) == (0, 1)
    host.count("/a", 2)
    assert lately(counting, 7) == 1
