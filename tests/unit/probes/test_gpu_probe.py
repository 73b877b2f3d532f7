"""GPUs through a fake of NVIDIA's management library: there is no GPU where these tests run."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from holter.probes.live.gpu import GpuProbe
from tests.unit.probes.recordings import watch

GIB = 1 << 30


class FakeNvmlError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


class FakeNvml:
    """A fake, not a GPU: answers in the shape that `pynvml` 13 gives for one H200 with driver 580."""

    NVMLError = FakeNvmlError
    NVML_ERROR_NOT_SUPPORTED = 3
    NVML_ERROR_FUNCTION_NOT_FOUND = 13
    NVML_ERROR_GPU_IS_LOST = 15
    NVML_TEMPERATURE_GPU = 0
    NVML_MEMORY_ERROR_TYPE_CORRECTED = 0
    NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1
    NVML_VOLATILE_ECC = 0

    def __init__(self) -> None:
        self.fails_with: dict[str, int] = {}
        self.calls: list[str] = []
        # NVML says None where the driver does not tell memory by process.
        self.processes: list[tuple[int, int | None]] = [(10, 30 * GIB), (11, 2 * GIB), (999, 5 * GIB)]
        self.shut_down = 0

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802  NVML's name
        return 1

    def nvmlShutdown(self) -> None:  # noqa: N802  NVML's name
        self.shut_down += 1

    def __getattr__(self, name: str) -> Callable[..., object]:
        answers: dict[str, Callable[..., object]] = {
            "nvmlDeviceGetHandleByIndex": lambda index: f"handle {index}",
            "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(used=40 * GIB, total=140 * GIB, free=100 * GIB),
            "nvmlDeviceGetUtilizationRates": lambda _: SimpleNamespace(gpu=97, memory=50),
            "nvmlDeviceGetTemperature": lambda _, sensor: 61 + sensor,
            "nvmlDeviceGetPowerUsage": lambda _: 412500,
            "nvmlDeviceGetCurrentClocksEventReasons": lambda _: 0x4,
            "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: 0x8,
            "nvmlDeviceGetTotalEccErrors": lambda _, kind, counter: (12, 0)[kind],
            "nvmlDeviceGetComputeRunningProcesses": lambda _: [
                SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in self.processes
            ],
        }
        if name not in answers:
            raise AttributeError(name)
        return lambda *arguments: self._answer(name, answers[name], *arguments)

    def _answer(self, name: str, answer: Callable[..., object], *arguments: object) -> object:
        self.calls.append(name)
        if name in self.fails_with:
            raise FakeNvmlError(self.fails_with[name])
        return answer(*arguments)


def test_a_gpu_tells_everything() -> None:
    assert GpuProbe(FakeNvml()).sample(watch(10, 11)) == {
        "gpu/0/memory_used_bytes": 40.0 * GIB,
        "gpu/0/memory_total_bytes": 140.0 * GIB,
        "gpu/0/utilization_percent": 97.0,
        "gpu/0/temperature_celsius": 61.0,
        "gpu/0/power_watts": 412.5,
        "gpu/0/clocks_event_reasons": 4.0,
        "gpu/0/ecc_corrected": 12.0,
        "gpu/0/ecc_uncorrected": 0.0,
        "gpu/0/is_lost": 0,
        "gpu/0/tree_memory_bytes": 32.0 * GIB,
        "gpu/0/other_processes": 1.0,
    }


def test_what_a_gpu_cannot_tell_is_not_a_number_and_not_asked_again() -> None:
    nvml = FakeNvml()
    nvml.fails_with = {"nvmlDeviceGetUtilizationRates": nvml.NVML_ERROR_NOT_SUPPORTED}
    probe = GpuProbe(nvml)
    rows = [probe.sample(watch(10)), probe.sample(watch(10))]
    assert [math.isnan(row["gpu/0/utilization_percent"]) for row in rows] == [True, True]
    assert nvml.calls.count("nvmlDeviceGetUtilizationRates") == 1


def test_an_older_driver_knows_the_clocks_by_another_name() -> None:
    nvml = FakeNvml()
    nvml.fails_with = {"nvmlDeviceGetCurrentClocksEventReasons": nvml.NVML_ERROR_FUNCTION_NOT_FOUND}
    assert GpuProbe(nvml).sample(watch(10))["gpu/0/clocks_event_reasons"] == 8


def test_a_gpu_that_fell_off_the_bus_keeps_its_keys_and_is_asked_again() -> None:
    nvml = FakeNvml()
    probe = GpuProbe(nvml)
    healthy = probe.sample(watch(10))
    nvml.fails_with = {"nvmlDeviceGetMemoryInfo": nvml.NVML_ERROR_GPU_IS_LOST}
    lost = probe.sample(watch(10))
    nvml.fails_with = {}
    back = probe.sample(watch(10))
    assert [row["gpu/0/is_lost"] for row in (healthy, lost, back)] == [0, 1, 0]
    assert math.isnan(lost["gpu/0/memory_used_bytes"])
    assert lost.keys() == healthy.keys()


def test_a_gpu_that_is_lost_from_the_start_stays_so() -> None:
    nvml = FakeNvml()
    nvml.fails_with = {"nvmlDeviceGetHandleByIndex": nvml.NVML_ERROR_GPU_IS_LOST}
    probe = GpuProbe(nvml)
    assert [probe.sample(watch(10))["gpu/0/is_lost"] for _ in range(2)] == [1, 1]


def test_memory_errors_are_counted_at_every_tenth_tick() -> None:
    nvml = FakeNvml()
    probe = GpuProbe(nvml)
    for _ in range(20):
        probe.sample(watch(10))
    assert nvml.calls.count("nvmlDeviceGetTotalEccErrors") == 4


def test_a_list_of_foreign_pids_in_a_container_says_nothing() -> None:
    nvml = FakeNvml()
    row = GpuProbe(nvml, has_host_pids=False).sample(watch(7))
    assert math.isnan(row["gpu/0/tree_memory_bytes"])
    assert math.isnan(row["gpu/0/other_processes"])
    assert GpuProbe(nvml, has_host_pids=False).sample(watch(10))["gpu/0/tree_memory_bytes"] == 30 * GIB


def test_a_driver_that_does_not_tell_memory_by_process_still_counts_the_others() -> None:
    nvml = FakeNvml()
    nvml.processes = [(10, None), (999, None)]
    row = GpuProbe(nvml).sample(watch(10))
    assert math.isnan(row["gpu/0/tree_memory_bytes"])
    assert row["gpu/0/other_processes"] == 1


def test_a_run_without_memory_on_the_gpu_has_none() -> None:
    row = GpuProbe(FakeNvml()).sample(watch(7))
    assert (row["gpu/0/tree_memory_bytes"], row["gpu/0/other_processes"]) == (0, 3)


def test_the_library_is_shut_down_once() -> None:
    nvml = FakeNvml()
    probe = GpuProbe(nvml)
    probe.close()
    probe.close()
    assert nvml.shut_down == 1


def test_the_fake_answers_in_the_keys_and_types_of_a_real_h200() -> None:
    recorded = json.loads((Path(__file__).parents[2] / "zoo" / "recordings" / "h200.json").read_text())
    faked = GpuProbe(FakeNvml()).sample(watch(10, 11))
    for sample in recorded["samples"]:
        assert {key: type(value) for key, value in sample.items()} == {key: type(value) for key, value in faked.items()}


def test_a_childs_gpu_memory_counted_as_the_trees_on_a_real_h200() -> None:
    recorded = json.loads((Path(__file__).parents[2] / "zoo" / "recordings" / "h200.json").read_text())
    tree = [sample["gpu/0/tree_memory_bytes"] for sample in recorded["samples"]]
    assert 40 * GIB < tree[0] < 42 * GIB
    assert tree[1] - tree[0] > 5 * GIB
    assert tree[2] == tree[0]
