"""The memory of a cell."""

import subprocess
import sys
import types

import pytest

from holter.memory.readings import GpuMemory

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="not on this platform: /proc")


# Where much was held before, such as by other tests, the system may take some of that away meanwhile.
PEAKS = """
from holter.memory import readings
before = readings.rss_bytes()
held = bytearray(b"x") * (64 << 20)
del held
high = readings.peak_bytes()
readings.begin_peak()
print(high - before, readings.peak_bytes() - before)
"""


@ON_LINUX
def test_the_peak_is_that_of_the_time_since_it_was_begun() -> None:
    done = subprocess.run([sys.executable, "-c", PEAKS], capture_output=True, text=True, check=True)
    high, low = map(int, done.stdout.split())
    assert high > 60 << 20
    assert low < 32 << 20


class Cuda:
    """What PyTorch counts, on two devices."""

    def __init__(self) -> None:
        self._initialized = False
        self.allocated = [0, 0]
        self.most = [0, 0]

    def device_count(self) -> int:
        return 2

    def memory_stats_as_nested_dict(self, device: int) -> dict[str, dict[str, dict[str, int]]]:
        return {"allocated_bytes": {"all": {"current": self.allocated[device], "peak": self.most[device]}}}


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> Cuda:
    torch = types.ModuleType("torch")
    found = torch.__dict__["cuda"] = Cuda()
    monkeypatch.setitem(sys.modules, "torch", torch)
    return found


def test_a_gpu_that_the_program_does_not_use_is_not_asked(cuda: Cuda, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = GpuMemory()
    memory.begin()
    assert memory.end() == (None, None)
    monkeypatch.delitem(sys.modules, "torch")
    assert memory.end() == (None, None)


def test_a_new_peak_is_that_of_the_cell(cuda: Cuda) -> None:
    cuda._initialized, cuda.allocated, cuda.most = True, [100, 10], [100, 10]
    memory = GpuMemory()
    memory.begin()
    cuda.allocated, cuda.most = [120, 10], [900, 40]
    assert memory.end() == (130, 940)


def test_where_an_earlier_cell_had_more_the_peak_is_at_least_what_was_there(cuda: Cuda) -> None:
    cuda._initialized, cuda.allocated, cuda.most = True, [100, 10], [900, 40]
    memory = GpuMemory()
    memory.begin()
    cuda.allocated = [80, 0]
    assert memory.end() == (80, 110)
