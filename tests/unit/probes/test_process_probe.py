"""CPU, memory, threads, files and I/O of a process tree."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from holter.probes.live.process import ProcessProbe, open_probe, ticks_between
from holter.probes.portable import PortableProcessProbe
from holter.probes.probe import Probe
from holter.probes.procfs import Stat, parse_stat
from tests.unit.probes.recordings import stat_line, watch, write_files

STATUS = """Name:	python3
VmRSS:	  2048 kB
RssAnon:	  1024 kB
RssFile:	   896 kB
RssShmem:	   128 kB
VmSwap:	    64 kB
"""
IO = "rchar: 9\nwchar: 9\nsyscr: 1\nsyscw: 1\nread_bytes: {}\nwrite_bytes: {}\ncancelled_write_bytes: 0\n"
HOLDER = "held = b'x' * (50 << 20); print('ready', flush=True); input()"


@pytest.mark.parametrize(
    "probe",
    [
        pytest.param(
            ProcessProbe(), marks=pytest.mark.skipif(sys.platform != "linux", reason="not on this platform: no /proc")
        ),
        PortableProcessProbe(),
    ],
)
def test_a_process_that_holds_fifty_megabytes_is_seen_to_hold_them(probe: Probe) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        row = probe.sample(watch(child.pid))
        child.communicate(b"\n")
    assert 50 << 20 < row["process/rss_bytes"] < 150 << 20
    assert math.isnan(row["process/anon_bytes"]) or 50 << 20 < row["process/anon_bytes"] < 150 << 20
    assert row["process/processes"] == 1
    assert row["process/threads"] >= 1
    assert row["process/open_files"] >= 3


def test_a_recorded_tree_is_added_up(tmp_path: Path) -> None:
    proc = write_files(
        tmp_path,
        {
            "10/stat": stat_line(threads=4, majflt=3),
            "10/status": STATUS,
            "10/io": IO.format(4096, 8192),
            "10/fd/0": "",
            "10/fd/1": "",
            "11/stat": stat_line(parent=10, majflt=2),
            "11/status": STATUS,
            "11/io": IO.format(100, 200),
            "12/stat": stat_line(parent=10, state="Z"),
        },
    )
    row = ProcessProbe(proc, uptime_s=lambda: 1.0).sample(watch(10, 11, 12, 13))
    assert row.pop("process/open_files") > 0
    assert math.isnan(row.pop("process/cpu_percent"))
    assert row == {
        "process/rss_bytes": 4096 * 1024,
        "process/anon_bytes": 2304 * 1024.0,
        "process/swap_bytes": 128 * 1024.0,
        "process/threads": 5,
        "process/read_bytes": 4196.0,
        "process/write_bytes": 8392.0,
        "process/major_faults": 5.0,
        "process/processes": 2,
    }


def test_a_process_of_another_user_hides_its_files_and_bytes_but_not_its_memory(tmp_path: Path) -> None:
    proc = write_files(tmp_path, {"10/stat": stat_line(), "10/status": STATUS})
    row = ProcessProbe(proc).sample(watch(10))
    assert row["process/rss_bytes"] == 2048 * 1024
    assert math.isnan(row["process/open_files"])
    assert math.isnan(row["process/read_bytes"])


def test_bytes_that_an_ended_worker_wrote_are_not_taken_back(tmp_path: Path) -> None:
    proc = write_files(
        tmp_path, {"10/stat": stat_line(), "10/io": IO.format(0, 10), "11/stat": stat_line(), "11/io": IO.format(0, 90)}
    )
    probe = ProcessProbe(proc)
    probe.sample(watch(10, 11))
    assert probe.sample(watch(10))["process/write_bytes"] == 100


def test_cpu_is_in_percent_of_one_core(tmp_path: Path) -> None:
    times_s = iter([50.0, 52.0])
    proc = write_files(tmp_path, {"10/stat": stat_line(utime=100, started=7)})
    probe = ProcessProbe(proc, uptime_s=lambda: next(times_s))
    probe.sample(watch(10))
    write_files(tmp_path, {"10/stat": stat_line(utime=300, stime=200, started=7)})
    assert probe.sample(watch(10))["process/cpu_percent"] == 200.0


def stat(cpu: int, reaped: int = 0, started: int = 0) -> Stat:
    return parse_stat(stat_line(utime=cpu, cutime=reaped, started=started).encode())


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param({1: stat(10)}, {1: stat(15)}, 5, id="one process"),
        pytest.param({1: stat(10)}, {1: stat(10), 2: stat(4, started=999)}, 4, id="a child was born"),
        pytest.param({1: stat(10)}, {1: stat(10), 2: stat(4000, started=5)}, 0, id="an old process joined"),
        pytest.param({1: stat(10), 2: stat(70)}, {1: stat(10, reaped=73)}, 3, id="a child ended and was waited for"),
        pytest.param({1: stat(10), 2: stat(70)}, {1: stat(12)}, 2, id="a child left the tree"),
        pytest.param({1: stat(10)}, {1: stat(10, reaped=6)}, 6, id="a child lived between the looks"),
        pytest.param({1: stat(10, started=5)}, {1: stat(2, started=999)}, 2, id="the pid went to another process"),
        pytest.param({1: stat(10)}, {}, 0, id="all are gone"),
    ],
)
def test_cpu_time_between_two_looks(before: dict[int, Stat], after: dict[int, Stat], expected: int) -> None:
    assert ticks_between(before, after, since=500) == expected


def test_without_proc_psutil_is_asked(tmp_path: Path) -> None:
    assert isinstance(open_probe(str(tmp_path)), PortableProcessProbe)


def test_psutil_measures_cpu_between_two_looks() -> None:
    times_s = iter([1.0, 2.0])
    probe = PortableProcessProbe(now_s=lambda: next(times_s))
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        first, second = probe.sample(watch(child.pid)), probe.sample(watch(child.pid))
        child.communicate(b"\n")
    assert math.isnan(first["process/cpu_percent"])
    assert 0 <= second["process/cpu_percent"] < 100
