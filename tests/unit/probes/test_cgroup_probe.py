"""Cgroups of version 1, of version 2, and of both at once."""

import math
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.probes.cgroups import Cgroup, find_chain, parse_mounts
from holter.probes.live.cgroup import CgroupProbe, open_probe
from holter.probes.probe import Target
from tests.unit.probes.recordings import stat_line, watch, write_files

# In the shape of the kernel's documentation; no machine with memory in version 2 was at hand to record.
OWN_V2 = {
    "memory.current": "104857600\n",
    "memory.max": "max\n",
    "memory.peak": "157286400\n",
    "memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 2\noom_group_kill 0\n",
    "memory.stat": "anon 90000000\nfile 9000000\ninactive_anon 0\ninactive_file 4096\nactive_file 8192\n",
    "cpu.max": "max 100000\n",
    "pids.current": "31\n",
    "pids.max": "max\n",
}
POD_V2 = OWN_V2 | {
    "memory.current": "209715200\n",
    "memory.max": "268435456\n",
    "memory.events": "low 0\nhigh 0\nmax 212\noom 3\noom_kill 2\noom_group_kill 0\n",
    "cpu.max": "150000 100000\n",
    "cpu.stat": "usage_usec 9\nnr_throttled 4\nthrottled_usec 2500000\n",
    "pids.max": "1024\n",
}
SLICE_V2 = OWN_V2 | {"memory.events": "low 0\nhigh 0\nmax 0\noom 0\noom_kill 7\n", "pids.max": "100\n"}
MOUNT_V2 = "31 23 0:28 {root} {point} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
MOUNT_V1 = "35 31 0:32 {root} {point} rw,relatime - cgroup cgroup rw,{controllers}\n"


@pytest.fixture
def proc(tmp_path: Path) -> str:
    """A process in /slice/pod/own of a version 2 hierarchy."""
    write_files(tmp_path / "cgroup/slice/pod/own", OWN_V2)
    write_files(tmp_path / "cgroup/slice/pod", POD_V2)
    write_files(tmp_path / "cgroup/slice", SLICE_V2)
    mount = MOUNT_V2.format(root="/", point=tmp_path / "cgroup")
    return write_files(
        tmp_path / "proc", {"self/mountinfo": mount, "10/cgroup": "0::/slice/pod/own\n", "10/stat": stat_line()}
    )


def known_values(row: dict[str, float | int]) -> dict[str, float | int]:
    return {key: value for key, value in row.items() if not math.isnan(value)}


def test_every_ancestor_counts_kills_and_those_with_a_limit_tell_the_rest(proc: str) -> None:
    assert known_values(CgroupProbe(proc).sample(watch(10))) == {
        "cgroup/0/oom_kill": 2.0,
        "cgroup/0/usage_bytes": 104857600.0,
        "cgroup/0/peak_bytes": 157286400.0,
        "cgroup/0/oom": 0.0,
        "cgroup/0/limit_hits": 0.0,
        "cgroup/1/oom_kill": 2.0,
        "cgroup/1/usage_bytes": 209715200.0,
        "cgroup/1/limit_bytes": 268435456.0,
        "cgroup/1/peak_bytes": 157286400.0,
        "cgroup/1/inactive_file_bytes": 4096.0,
        "cgroup/1/active_file_bytes": 8192.0,
        "cgroup/1/oom": 3.0,
        "cgroup/1/limit_hits": 212.0,
        "cgroup/2/oom_kill": 7.0,
        "cgroup/cpu_quota_cores": 1.5,
        "cgroup/cpu_throttled_s": 2.5,
        "cgroup/pids_current": 31.0,
        "cgroup/pids_max": 100.0,
    }


def test_no_limit_of_its_own_is_not_a_number(proc: str) -> None:
    row = CgroupProbe(proc).sample(watch(10))
    assert math.isnan(row["cgroup/0/limit_bytes"])
    assert math.isnan(row["cgroup/0/inactive_file_bytes"])


def test_counters_are_still_read_after_the_process_is_gone(proc: str, tmp_path: Path) -> None:
    probe = CgroupProbe(proc)
    probe.sample(watch(10))
    Path(proc, "10/cgroup").unlink()
    events = tmp_path / "cgroup/slice/pod/own/memory.events"
    events.write_text("oom_kill 3\n")
    assert probe.sample(watch())["cgroup/0/oom_kill"] == 3


def test_a_process_that_exits_is_not_taken_for_one_that_moves(proc: str) -> None:
    probe = CgroupProbe(proc)
    before = probe.sample(watch(10))
    write_files(Path(proc), {"10/cgroup": "0::/\n", "10/stat": stat_line(flags=0x40000C)})
    assert probe.sample(watch(10))["cgroup/0/usage_bytes"] == before["cgroup/0/usage_bytes"]


def test_a_process_that_moves_is_followed_and_the_new_place_brings_no_old_kills(proc: str, tmp_path: Path) -> None:
    probe = CgroupProbe(proc)
    probe.sample(watch(10))
    events = {"memory.events": "oom_kill 40\n", "memory.current": "77\n"}
    write_files(tmp_path / "cgroup/job", OWN_V2 | events)
    write_files(Path(proc), {"10/cgroup": "0::/job\n"})
    row = probe.sample(watch(10))
    assert row["cgroup/0/usage_bytes"] == 77
    assert row["cgroup/0/oom_kill"] == 2


def test_tasks_in_several_cgroups_are_counted_together(tmp_path: Path) -> None:
    for task, limit, kills in (("0", "1000", "1"), ("1", "200", "4")):
        files = {"memory.max": limit, "memory.current": "100", "memory.events": f"oom_kill {kills}\n"}
        write_files(tmp_path / f"cgroup/step/task_{task}", OWN_V2 | files)
    mount = MOUNT_V2.format(root="/", point=tmp_path / "cgroup")
    members = {"10/cgroup": "0::/step/task_0\n", "11/cgroup": "0::/step/task_1\n"}
    members |= {"10/stat": stat_line(), "11/stat": stat_line()}
    probe = CgroupProbe(write_files(tmp_path / "proc", {"self/mountinfo": mount} | members))
    row = probe.sample(Target(roots=(10, 11), tree=(10, 11), directory="/"))
    assert row["cgroup/0/oom_kill"] == 5
    assert row["cgroup/0/limit_bytes"] == 200


def test_version_one_beside_version_two_keeps_the_memory(tmp_path: Path) -> None:
    write_files(
        tmp_path / "memory/job_7/task_0",
        {
            "memory.usage_in_bytes": "52428800\n",
            "memory.limit_in_bytes": "104857600\n",
            "memory.max_usage_in_bytes": "104857600\n",
            "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
            "memory.failcnt": "76\n",
            "memory.memsw.failcnt": "4\n",
            "memory.stat": "inactive_file 1\ntotal_inactive_file 12288\n",
        },
    )
    unlimited = {"memory.limit_in_bytes": "9223372036854771712\n", "memory.usage_in_bytes": "1\n"}
    write_files(tmp_path / "memory/job_7", unlimited | {"memory.oom_control": "oom_kill 0\n"})
    write_files(
        tmp_path / "cpu",
        {"cpu.cfs_quota_us": "50000\n", "cpu.cfs_period_us": "100000\n", "cpu.stat": "throttled_time 1500000000\n"},
    )
    (tmp_path / "unified").mkdir()
    mounts = (
        MOUNT_V1.format(root="/", point=tmp_path / "memory", controllers="memory")
        + MOUNT_V1.format(root="/", point=tmp_path / "cpu", controllers="cpu,cpuacct")
        + MOUNT_V2.format(root="/", point=tmp_path / "unified")
    )
    members = "4:memory:/job_7/task_0\n2:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n"
    proc = write_files(tmp_path / "proc", {"self/mountinfo": mounts, "10/cgroup": members, "10/stat": stat_line()})
    assert known_values(CgroupProbe(proc).sample(watch(10))) == {
        "cgroup/0/oom_kill": 1.0,
        "cgroup/0/usage_bytes": 52428800.0,
        "cgroup/0/limit_bytes": 104857600.0,
        "cgroup/0/peak_bytes": 104857600.0,
        "cgroup/0/inactive_file_bytes": 12288.0,
        "cgroup/0/limit_hits": 80.0,
        "cgroup/1/oom_kill": 0.0,
        "cgroup/cpu_quota_cores": 0.5,
        "cgroup/cpu_throttled_s": 1.5,
    }


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        pytest.param("/", "/docker/1a2b", "/docker/1a2b", id="the host"),
        pytest.param("/docker/1a2b", "/docker/1a2b", "", id="a container that sees the host's path"),
        pytest.param("/docker/1a2b", "/docker/1a2b/docker", "/docker", id="a cgroup inside such a container"),
        pytest.param("/", "/", "", id="a container with a namespace"),
        pytest.param("/../..", "/", "", id="a namespace below the mount"),
        pytest.param("/", "/../other", "", id="a process outside the namespace"),
        pytest.param("/", "/not/mounted/here", "", id="a path that is hidden"),
    ],
)
def test_the_directory_is_found_through_the_mount(tmp_path: Path, root: str, path: str, expected: str) -> None:
    (tmp_path / "cgroup/docker/1a2b").mkdir(parents=True)
    mount = MOUNT_V2.format(root=root, point=tmp_path / "cgroup")
    proc = write_files(tmp_path / "proc", {"self/mountinfo": mount, "10/cgroup": f"0::{path}\n"})
    assert find_chain(10, "memory", proc=proc).directories[0] == f"{tmp_path}/cgroup{expected}"


def test_a_deep_hierarchy_is_cut_at_eight_levels(tmp_path: Path) -> None:
    (tmp_path / "cgroup/a/b/c/d/e/f/g/h/i/j").mkdir(parents=True)
    mount = MOUNT_V2.format(root="/", point=tmp_path / "cgroup")
    proc = write_files(tmp_path / "proc", {"self/mountinfo": mount, "10/cgroup": "0::/a/b/c/d/e/f/g/h/i/j\n"})
    assert len(find_chain(10, "memory", proc=proc).directories) == 8


def test_a_mount_point_with_a_space_in_it_is_read() -> None:
    mount = parse_mounts(b"31 23 0:28 / /mnt/my\\040cgroups rw master:1 - cgroup2 none rw\n")[0]
    assert mount.point == "/mnt/my cgroups"


def test_a_machine_without_cgroups_has_no_probe(tmp_path: Path) -> None:
    assert open_probe(str(tmp_path)) is None


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    """A real cgroup of 40 MB beside or below our own."""
    chain = find_chain(os.getpid(), "memory")
    limit, swap = ("memory.max", "memory.swap.max") if chain.is_unified else ("memory.limit_in_bytes", "")
    for directory in chain.directories:
        cgroup = Path(directory, f"holter-test-{uuid.uuid4().hex[:8]}")
        try:
            cgroup.mkdir()
        except OSError:
            continue
        try:
            if (cgroup / limit).exists():
                (cgroup / limit).write_text(str(40 << 20))
                (cgroup / swap if swap else cgroup / "memory.swappiness").write_text("0")
                yield cgroup
                return
        finally:
            if cgroup.exists():
                cgroup.rmdir()
    pytest.skip("not on this platform: no memory cgroup may be made here")


HOG = "input(); held = b'x' * (120 << 20)"


def test_a_real_kill_is_counted_and_a_removed_cgroup_says_nothing(small_cgroup: Path) -> None:
    probe = CgroupProbe()
    with subprocess.Popen([sys.executable, "-c", HOG], stdin=subprocess.PIPE) as child:
        (small_cgroup / "cgroup.procs").write_text(str(child.pid))
        before = probe.sample(watch(child.pid))
        assert child.stdin is not None
        child.stdin.write(b"\n")
        child.stdin.flush()
        # The zombie, which version 1 shows outside its cgroup, is still watched.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        after = probe.sample(watch(child.pid))
    small_cgroup.rmdir()
    removed = probe.sample(watch())
    probe.close()
    assert child.returncode == -9
    assert before["cgroup/0/limit_bytes"] == 40 << 20
    assert (before["cgroup/0/oom_kill"], after["cgroup/0/oom_kill"]) == (0, 1)
    assert math.isnan(removed["cgroup/0/oom_kill"])
    assert before.keys() == after.keys() == removed.keys()


@pytest.mark.skipif(sys.platform != "linux", reason="not on this platform: it has no /proc")
def test_open_files_do_not_leak(proc: str) -> None:
    probe = CgroupProbe(proc)
    probe.sample(watch(10))
    before = len(os.listdir("/proc/self/fd"))
    for name in ("/slice", "/slice/pod", "/slice/pod/own"):
        write_files(Path(proc), {"10/cgroup": f"0::{name}\n"})
        probe.sample(watch(10))
    after = len(os.listdir("/proc/self/fd"))
    probe.close()
    assert after == before


def test_a_file_that_is_not_there_is_not_a_number(tmp_path: Path) -> None:
    cgroup = Cgroup(str(tmp_path))
    assert math.isnan(cgroup.number("memory.current"))
    cgroup.close()
    cgroup.close()
