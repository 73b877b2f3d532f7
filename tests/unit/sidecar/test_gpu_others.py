"""Who else is on a GPU, read from /proc of real processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from holter.probes.postmortem.gpu_events import GpuWatch
from holter.sidecar.gpu_others import GpuOthers, takes_whole_gpu, visible
from tests.unit.probes.postmortem.test_gpu_events import FakeNvml, watch_of

GIB = 1 << 30
JOURNAL = "0" * 32 + "-000001.seg"


def fake_watch(held: list[tuple[int, int]]) -> GpuWatch:
    nvml = FakeNvml()
    watch = watch_of(nvml)
    nvml.processes = Processes(held)
    return watch


class Processes(list[SimpleNamespace]):
    """As NVML gives them, whatever there is now."""

    def __init__(self, held: list[tuple[int, int]]) -> None:
        self._held = held

    def __iter__(self) -> Iterator[SimpleNamespace]:
        return (SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self._held)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[int]:
    """A process that records the run `fast-owl`, and would see the second of two GPUs."""
    segment = tmp_path / "runs" / "fast-owl" / JOURNAL
    segment.parent.mkdir(parents=True)
    segment.touch()
    script = f"import sys; kept = open({str(segment)!r}); print(1, flush=True); sys.stdin.read()"
    program = subprocess.Popen(
        [sys.executable, "-S", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "GPU-b"},
    )
    assert program.stdout is not None
    program.stdout.readline()
    yield program.pid
    program.communicate()


def test_another_run_is_named_with_its_owner(other: int) -> None:
    watch: GpuWatch = fake_watch([(os.getpid(), 2 * GIB), (other, 3 * GIB)])
    [holder] = GpuOthers().look(watch, os.getpid(), own=[os.getpid()], now_s=0.0)[0]
    assert (holder.pid, holder.run, holder.bytes) == (other, "fast-owl", 3 * GIB)
    assert not holder.is_left_over
    assert str(holder).endswith(", run fast-owl)")


def test_it_is_read_again_after_ten_seconds_only(other: int) -> None:
    held = [(other, GIB)]
    watch, others = fake_watch(held), GpuOthers()
    assert len(others.look(watch, os.getpid(), own=[], now_s=0.0)[0]) == 1
    held.clear()
    assert len(others.look(watch, os.getpid(), own=[], now_s=9.0)[0]) == 1
    assert others.look(watch, os.getpid(), own=[], now_s=10.0)[0] == []


def test_only_the_gpus_that_the_program_sees_matter(other: int) -> None:
    assert visible(other, ["GPU-a1", "GPU-b1", "GPU-c1"]) == [1]
    assert visible(os.getpid(), ["GPU-a1", "GPU-b1"]) in ([0, 1], [])


def test_a_program_without_such_a_library_takes_no_whole_gpu(other: int) -> None:
    assert takes_whole_gpu(other) == ""
