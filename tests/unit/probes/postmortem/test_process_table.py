"""Who held the most memory."""

import os
from pathlib import Path

import pytest

from holter.model.evidence import Holder
from holter.probes.postmortem.process_table import choose, is_scarce, is_within, look, parse_resident
from tests.unit.probes.recordings import stat_line, write_files

GIB = 1 << 30
PAGE = os.sysconf("SC_PAGE_SIZE")


def test_a_name_may_hold_anything() -> None:
    found = parse_resident(7, stat_line(name="a) (b c", rss_pages=3).encode())
    assert (found.pid, found.name, found.rss_bytes) == (7, "a) (b c", 3 * PAGE)


def test_the_dead_are_listed_with_what_they_had(tmp_path: Path) -> None:
    proc = write_files(
        tmp_path,
        {
            "7/stat": stat_line(state="Z"),
            "8/stat": stat_line(name="chrome", rss_pages=10),
            "8/cmdline": "chrome\0--password\0hunter2\0",
            "9/stat": stat_line(name="kthreadd", rss_pages=0),
        },
    )
    ours = {7: Holder(pid=7, name="python train.py", rss_bytes=5 * PAGE, is_ours=True)}
    table = look(ours, (), proc=proc)
    assert table.holders == (
        Holder(pid=8, name="chrome --password …", rss_bytes=10 * PAGE),
        Holder(pid=7, name="python train.py", rss_bytes=5 * PAGE, is_ours=True),
    )


def test_neighbours_in_the_same_cgroup_are_listed_even_if_others_are_larger() -> None:
    large = [Holder(pid=pid, name="x", rss_bytes=1000 + pid) for pid in range(100, 130)]
    neighbour = Holder(pid=1, name="neighbour", rss_bytes=5, is_within=True)
    chosen = choose([*large, neighbour])
    assert len(chosen) == 11
    assert chosen[0].pid == 129
    assert chosen[-1] == neighbour


@pytest.mark.parametrize(
    ("membership", "answer"),
    [
        ("4:memory:/job\n0::/\n", True),
        ("4:memory:/job/step\n", True),
        ("4:memory:/jobs\n", False),
        ("4:memory:/\n0::/job\n", False),
        ("0::/job/task\n", True),
        ("", False),
    ],
)
def test_a_process_shares_the_limit_where_it_is_in_the_cgroup_or_below(
    tmp_path: Path, membership: str, answer: bool
) -> None:
    proc = write_files(tmp_path, {"7/cgroup": membership})
    assert is_within(7, {"/job"}, proc=proc) is answer


HOST = {"system/host/memory_available_bytes": 20 * GIB, "system/host/memory_total_bytes": 100 * GIB}
CGROUP = {
    "system/cgroup/1/limit_bytes": 10.0,
    "system/cgroup/1/usage_bytes": 9.5,
    "system/cgroup/1/inactive_file_bytes": 0.2,
}


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        (HOST, False),
        (HOST | {"system/host/memory_available_bytes": 10 * GIB}, True),
        (HOST | CGROUP, True),
        (HOST | CGROUP | {"system/cgroup/1/inactive_file_bytes": 5.0}, False),
        (HOST | CGROUP | {"system/cgroup/1/limit_bytes": float("nan")}, False),
        ({}, False),
    ],
    ids=[
        "enough",
        "the machine is full",
        "the cgroup is full",
        "of what can be given back",
        "no limit",
        "nothing known",
    ],
)
def test_memory_is_scarce_where_the_machine_or_a_cgroup_is_nearly_full(row: dict[str, float], answer: bool) -> None:
    assert is_scarce(row) is answer


def test_this_machine_has_processes() -> None:
    table = look({}, ())
    assert table.holders
    assert os.getpid() not in [holder.pid for holder in table.holders]
