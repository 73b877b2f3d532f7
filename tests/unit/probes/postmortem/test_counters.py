"""Counters of out-of-memory kills in cgroups of both versions, before and after."""

from pathlib import Path

from holter.model.evidence import Counters, MemoryLevel, Unseen
from holter.probes.postmortem.counters import CgroupCounters, look_later, since
from tests.unit.probes.recordings import write_files

MIB = 1 << 20


def mountinfo(kind: str, point: Path, options: str) -> str:
    return f"35 31 0:32 / {point} rw,relatime - {kind} {kind} {options}\n"


def of_v1(root: Path, path: str, *, kills: int, failures: int, limit: int = 1 << 63) -> None:
    write_files(
        root / "memory" / path.strip("/"),
        {
            "memory.oom_control": f"oom_kill_disable 0\nunder_oom 0\noom_kill {kills}\n",
            "memory.failcnt": f"{failures}\n",
            "memory.memsw.failcnt": "0\n",
            "memory.limit_in_bytes": f"{limit}\n",
            "memory.max_usage_in_bytes": f"{100 * MIB}\n",
            "memory.usage_in_bytes": "5\n",
        },
    )


def of_v2(root: Path, path: str, *, kills: int, hits: int, limit: str = "max") -> None:
    events = f"low 0\nhigh 0\nmax {hits + 10}\noom {kills}\noom_kill {kills}\noom_group_kill 0\n"
    write_files(
        root / "memory" / path.strip("/"),
        {
            "memory.events": events,
            "memory.events.local": f"low 0\nhigh 0\nmax {hits}\noom 0\noom_kill 0\noom_group_kill 0\n",
            "memory.max": f"{limit}\n",
            "memory.peak": f"{100 * MIB}\n",
            "memory.current": "5\n",
        },
    )


def proc_of(root: Path, membership: str, mounts: str, *, kills: int = 3) -> str:
    return write_files(
        root / "proc", {"7/cgroup": membership, "self/mountinfo": mounts, "vmstat": f"pgfault 1\noom_kill {kills}\n"}
    )


def test_version_1_counts_where_the_victim_was_and_fails_where_the_limit_is(tmp_path: Path) -> None:
    of_v1(tmp_path, "/job/step", kills=2, failures=0)
    of_v1(tmp_path, "/job", kills=0, failures=5, limit=100 * MIB)
    of_v1(tmp_path, "/", kills=0, failures=0)
    proc = proc_of(tmp_path, "4:memory:/job/step\n0::/\n", mountinfo("cgroup", tmp_path / "memory", "rw,memory"))
    counters = CgroupCounters(7, host_kills_before=3, proc=proc)
    of_v1(tmp_path, "/job/step", kills=3, failures=0)
    of_v1(tmp_path, "/job", kills=0, failures=98, limit=100 * MIB)
    proc_of(tmp_path, "", "", kills=5)
    found = counters.look()
    counters.close()
    assert found.host_kills == 2
    assert [(level.level, level.path, level.kills, level.limit_hits) for level in found.levels] == [
        (0, "/job/step", 1, 0),
        (1, "/job", 0, 93),
        (2, "/", 0, 0),
    ]
    assert [level.limit_bytes for level in found.levels] == [None, 100 * MIB, None]
    assert found.levels[0].kills_lately == 1


def test_version_2_counts_hits_of_a_limit_only_where_the_limit_is(tmp_path: Path) -> None:
    of_v2(tmp_path, "/pod/c", kills=0, hits=0)
    of_v2(tmp_path, "/pod", kills=0, hits=0, limit=str(100 * MIB))
    write_files(tmp_path / "memory", {"cgroup.controllers": "memory"})
    proc = proc_of(tmp_path, "0::/pod/c\n", mountinfo("cgroup2", tmp_path / "memory", "rw"))
    counters = CgroupCounters(7, host_kills_before=3, proc=proc)
    of_v2(tmp_path, "/pod/c", kills=1, hits=0)
    of_v2(tmp_path, "/pod", kills=1, hits=40, limit=str(100 * MIB))
    found = counters.look()
    counters.close()
    assert [(level.path, level.kills, level.limit_hits) for level in found.levels] == [
        ("/pod/c", 1, 0),
        ("/pod", 1, 40),
    ]


def test_kills_of_long_ago_are_told_from_those_of_now(tmp_path: Path) -> None:
    of_v1(tmp_path, "/job", kills=0, failures=0)
    proc = proc_of(tmp_path, "4:memory:/job\n", mountinfo("cgroup", tmp_path / "memory", "rw,memory"))
    counters = CgroupCounters(7, host_kills_before=3, proc=proc)
    of_v1(tmp_path, "/job", kills=1, failures=9)
    for _ in range(10):
        counters.tick()
    own = counters.look().levels[0]
    counters.close()
    assert (own.kills, own.kills_lately) == (1, 0)


def test_a_kill_that_a_process_has_outlived_was_not_its_own(tmp_path: Path) -> None:
    of_v1(tmp_path, "/job", kills=0, failures=0)
    proc = proc_of(tmp_path, "4:memory:/job\n", mountinfo("cgroup", tmp_path / "memory", "rw,memory"))
    counters = CgroupCounters(7, host_kills_before=3, proc=proc)
    assert counters.tick() is None
    of_v1(tmp_path, "/job", kills=1, failures=9)
    outlived = counters.tick()
    spared, another = counters.look(outlived).levels[0], counters.look().levels[0]
    counters.close()
    assert (outlived, spared.kills_lately, another.kills_lately) == (1, 0, 1)


def test_what_was_before_is_kept_for_whoever_looks_later(tmp_path: Path) -> None:
    of_v1(tmp_path, "/job", kills=4, failures=9, limit=100 * MIB)
    proc = proc_of(tmp_path, "4:memory:/job\n", mountinfo("cgroup", tmp_path / "memory", "rw,memory"))
    counters = CgroupCounters(7, host_kills_before=3, proc=proc)
    before = counters.baseline()
    counters.close()
    assert before.is_first
    assert (before.levels[0].kills, before.levels[0].kills_before) == (None, 4)
    of_v1(tmp_path, "/job", kills=5, failures=10, limit=100 * MIB)
    later = look_later(before, proc)
    assert isinstance(later, Counters)
    assert not later.is_first
    assert (later.levels[0].kills, later.levels[0].limit_hits, later.host_kills) == (1, 1, 0)


def test_a_cgroup_that_is_gone_has_no_counters_and_neither_has_another_in_its_place(tmp_path: Path) -> None:
    of_v1(tmp_path, "/job", kills=4, failures=9)
    gone = MemoryLevel(level=0, path="/x", directory=str(tmp_path / "x"), inode=5, kills_before=0)
    replaced = MemoryLevel(level=0, path="/job", directory=str(tmp_path / "memory" / "job"), inode=5, kills_before=0)
    proc = str(tmp_path / "nothing")
    for level in (gone, replaced):
        assert look_later(Counters(levels=(level,), host_kills_before=3), proc) == Unseen(
            because="the run's container or job (cgroup) is gone, and its counters with it"
        )


def test_a_counter_that_could_not_be_read_twice_has_not_moved_by_nothing() -> None:
    assert since(None, 3) is None
    assert since(3, None) is None
    assert since(3, 3) == 0
