"""What a sample says about a kernel's memory."""

import pytest

from holter.jupyter.figures import Figures, Usage, figures_of

GIB = 1 << 30
HOST = {"system/host/memory_total_bytes": 64 * GIB, "system/host/memory_available_bytes": 40 * GIB}
KERNEL = {"system/process/rss_bytes": 3 * GIB, "system/process/processes": 2}


def cgroup(level: int, *, used: int, limit: int | None, cached: int = 0) -> dict[str, float | int]:
    name = f"system/cgroup/{level}"
    row: dict[str, float | int] = {f"{name}/usage_bytes": used * GIB, f"{name}/inactive_file_bytes": cached * GIB}
    return row | ({f"{name}/limit_bytes": limit * GIB} if limit is not None else {})


def test_without_a_limit_of_its_own_it_is_the_machines_memory_that_holds() -> None:
    found = figures_of({**KERNEL, **HOST, **cgroup(0, used=3, limit=None)})
    machine = Usage(used_bytes=24 * GIB, limit_bytes=64 * GIB, of="machine", kernel_bytes=3 * GIB)
    assert found == Figures(kernel_bytes=3 * GIB, processes=2, memory=machine, gpus=(), level="ok")


def test_of_several_limits_the_one_with_the_least_room_holds() -> None:
    found = figures_of({**KERNEL, **HOST, **cgroup(0, used=3, limit=32), **cgroup(2, used=14, limit=16)})
    assert found.memory == Usage(used_bytes=14 * GIB, limit_bytes=16 * GIB, of="container", kernel_bytes=3 * GIB)
    assert found.level == "near"


def test_files_that_the_system_only_keeps_at_hand_take_no_room() -> None:
    found = figures_of({**KERNEL, **HOST, **cgroup(0, used=15, limit=16, cached=10)})
    assert found.memory is not None
    assert found.memory.used_bytes == 5 * GIB
    assert found.level == "ok"


@pytest.mark.parametrize(("used", "level"), [(79, "ok"), (80, "near"), (91, "near"), (92, "critical")])
def test_the_level_follows_the_share(used: int, level: str) -> None:
    assert (
        figures_of({**HOST, **cgroup(0, used=used, limit=100)} | {"system/host/memory_total_bytes": 999 * GIB}).level
        == level
    )


def test_only_gpus_that_the_kernel_uses_are_told() -> None:
    row = {
        "system/gpu/0/memory_total_bytes": 80 * GIB,
        "system/gpu/0/memory_used_bytes": 76 * GIB,
        "system/gpu/0/tree_memory_bytes": 40 * GIB,
        "system/gpu/1/memory_total_bytes": 80 * GIB,
        "system/gpu/1/memory_used_bytes": 79 * GIB,
        "system/gpu/1/tree_memory_bytes": 0,
    }
    found = figures_of({**KERNEL, **HOST, **row})
    assert found.gpus == (Usage(used_bytes=76 * GIB, limit_bytes=80 * GIB, of="GPU 0", kernel_bytes=40 * GIB),)
    assert found.level == "critical"


def test_where_nobody_can_tell_whose_gpu_memory_it_is_all_of_it_is_told() -> None:
    row = {"system/gpu/0/memory_total_bytes": 80 * GIB, "system/gpu/0/memory_used_bytes": 8 * GIB}
    assert figures_of(row).gpus == (Usage(used_bytes=8 * GIB, limit_bytes=80 * GIB, of="GPU 0"),)


def test_where_nobody_can_look_there_is_no_limit_and_no_failure() -> None:
    assert figures_of({}) == Figures(kernel_bytes=0, processes=0, memory=None, gpus=(), level="ok")
