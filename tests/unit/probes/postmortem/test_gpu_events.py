"""Xids and heat through a fake of NVIDIA's management library: there is no GPU where these tests run."""

import json
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

from holter.model.evidence import GpuEvents, KernelLine
from holter.probes.postmortem.gpu_events import GpuWatch, has_gpu, parse_row

RECORDED = Path(__file__).parents[3] / "zoo" / "recordings" / "h200.json"


class FakeNvmlError(Exception):
    pass


class FakeNvml:
    """A fake: one GPU that supports the events of an H200, and reports those that a test puts into `waiting`."""

    NVMLError = FakeNvmlError

    def __init__(self) -> None:
        self.waiting: list[SimpleNamespace] = []
        self.registered = 0
        self.processes: list[SimpleNamespace] | None = []
        self.shut_down = 0

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802  NVML's names
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        return f"gpu{index}"

    def nvmlDeviceGetIndex(self, handle: str) -> int:  # noqa: N802
        return int(handle.removeprefix("gpu"))

    def nvmlEventSetCreate(self) -> object:  # noqa: N802
        return self

    def nvmlEventSetFree(self, events: object) -> None:  # noqa: N802
        assert events is self

    def nvmlDeviceGetSupportedEventTypes(self, handle: str) -> int:  # noqa: N802
        return 0xFF9F

    def nvmlDeviceRegisterEvents(self, handle: str, types: int, events: object) -> None:  # noqa: N802
        self.registered = types

    def nvmlEventSetWait_v2(self, events: object, timeout_ms: int) -> SimpleNamespace:  # noqa: N802
        assert timeout_ms == 0
        if not self.waiting:
            raise FakeNvmlError
        return self.waiting.pop(0)

    def nvmlDeviceGetTemperatureThreshold(self, handle: str, kind: int) -> int:  # noqa: N802
        return 89

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> list[SimpleNamespace]:  # noqa: N802
        if self.processes is None:
            raise FakeNvmlError
        return self.processes

    def nvmlShutdown(self) -> None:  # noqa: N802
        self.shut_down += 1


def watch_of(nvml: FakeNvml) -> GpuWatch:
    return GpuWatch(cast("ModuleType", nvml))


def recorded_rows() -> list[dict[str, float]]:
    return [
        {f"system/{key}": value for key, value in row.items()} for row in json.loads(RECORDED.read_text())["samples"]
    ]


def test_clock_events_which_come_in_floods_are_not_asked_for() -> None:
    nvml = FakeNvml()
    watch_of(nvml)
    assert nvml.registered == 0xFC0A
    assert not nvml.registered & 0x10


def test_an_xid_is_kept_with_its_number_and_time() -> None:
    nvml = FakeNvml()
    watch = watch_of(nvml)
    nvml.waiting = [
        SimpleNamespace(eventType=8, eventData=79, device="gpu0"),
        SimpleNamespace(eventType=2, eventData=0, device="gpu0"),
    ]
    watch.tick({}, 5)
    assert watch.look(6).xids == (
        KernelLine(at_ns=5, kind="xid", number=79, text="NVML: Xid 79 on GPU 0"),
        KernelLine(at_ns=5, kind="hardware", text="NVML: event 0x2 on GPU 0"),
    )


def test_a_healthy_h200_has_nothing_to_report() -> None:
    watch = watch_of(FakeNvml())
    for row in recorded_rows():
        assert has_gpu(row)
        watch.tick(row, 1)
    assert watch.look(2) == GpuEvents(uncorrected_errors=0, hottest_c=61.0, slowdown_c=89.0, thermal_slowdown_s=0.0)


def test_heat_memory_errors_and_a_lost_gpu_are_counted_since_the_run_began() -> None:
    watch = watch_of(FakeNvml())
    cool = recorded_rows()[0] | {"system/gpu/0/ecc_uncorrected": 3.0}
    hot = cool | {
        "system/gpu/0/clocks_event_reasons": float(0x40),
        "system/gpu/0/temperature_celsius": 93.0,
        "system/gpu/0/ecc_uncorrected": 5.0,
        "system/gpu/0/is_lost": 1,
    }
    for row in (cool, hot, hot):
        watch.tick(row, 1)
    found = watch.look(2)
    assert (found.hottest_c, found.thermal_slowdown_s, found.uncorrected_errors, found.lost) == (93.0, 2.0, 2, (0,))


def test_who_holds_memory_of_the_gpus() -> None:
    nvml = FakeNvml()
    watch = watch_of(nvml)
    nvml.processes = [SimpleNamespace(pid=0, usedGpuMemory=None), SimpleNamespace(pid=0, usedGpuMemory=7)]
    holders = watch.holders()
    assert holders is not None
    assert [(holder.rss_bytes, holder.gpu) for holder in holders] == [(7, True), (0, True)]
    nvml.processes = None
    assert watch.holders() is None


def test_it_is_closed_once() -> None:
    nvml = FakeNvml()
    watch = watch_of(nvml)
    watch.close()
    watch.close()
    assert nvml.shut_down == 1


def test_numbers_that_nobody_could_read_are_left_out() -> None:
    row = {"system/gpu/0/power_watts": float("nan"), "system/gpu/1/power_watts": 5.0, "system/host/load_1m": 1.0}
    assert parse_row(row) == {"power_watts": {1: 5.0}}
