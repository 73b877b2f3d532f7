"""How much memory a trial took, by the samples of its run."""

import pytest

from holter.sweeps.endings import levels_of

HOST = {"system/process/anon_bytes": 40.0, "system/host/memory_total_bytes": 1000.0}
GPU = {"system/gpu/1/tree_memory_bytes": 60.0, "system/gpu/1/memory_total_bytes": 80.0}


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (HOST, [(40, 1000)]),
        ({**HOST, "system/cgroup/0/limit_bytes": 100.0, "system/cgroup/1/limit_bytes": float("inf")}, [(40, 100)]),
        ({**HOST, **GPU}, [(60, 80)]),
        ({**HOST, **GPU, "system/gpu/1/tree_memory_bytes": 0.0}, [(40, 1000)]),
        ({**HOST, "system/process/anon_bytes": 0.0}, []),
        ({**HOST, "system/process/anon_bytes": float("nan")}, []),
        ({}, []),
    ],
)
def test_it_is_that_of_the_gpu_it_was_on_else_of_its_host(
    values: dict[str, float], levels: list[tuple[float, float]]
) -> None:
    assert levels_of(values) == levels
