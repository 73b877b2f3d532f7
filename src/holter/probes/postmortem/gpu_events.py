"""What NVML saw of the GPUs during the run: Xid errors as they happen, lost GPUs, memory errors, heat."""

import contextlib
import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from holter.model.evidence import GpuEvents, Holder, KernelLine
from holter.probes.nvml import open_nvml
from holter.probes.postmortem.process_table import read_name
from holter.probes.postmortem.scene import Scene

TURN = 6

# Double-bit errors, Xids, and in newer drivers: retired memory, poison, a GPU that is unavailable or needs a reset.
WANTED = 0x2 | 0x8 | 0x400 | 0x800 | 0x1000 | 0x2000 | 0x4000 | 0x8000
XID = 0x8
# Why the clocks are low: heat, by the driver or by the hardware.
TOO_HOT = 0x20 | 0x40
MOST_XIDS = 32
MOST_TAKEN = 64
SLOWDOWN_THRESHOLD = 1


def at_death(scene: Scene) -> None:
    """What was heard of the GPUs, where somebody listens to them."""
    if scene.gpu is not None:
        scene.say("gpu-events", scene.gpu.look(scene.clock.now_ns()))


class GpuWatch:
    """Listens to all GPUs from its making on. Used by one thread; never blocks; closed by its owner."""

    def __init__(self, nvml: ModuleType) -> None:
        self._nvml: Any = nvml
        self._handles = self._open_handles()
        self._events = self._open_events()
        self._xids: list[KernelLine] = []
        self._lost: set[int] = set()
        self._hottest_c = self._slowdown_s = 0.0
        self._errors_before: float | None = None
        self._errors: float | None = None

    def tick(self, row: Mapping[str, float | int], now_ns: int) -> None:
        """Once a second: take in what has happened, and what this row of samples says of heat and memory errors."""
        self._take_events(now_ns)
        values = parse_row(row)
        self._lost |= {index for index, value in values.get("is_lost", {}).items() if value}
        self._hottest_c = max([self._hottest_c, *values.get("temperature_celsius", {}).values()])
        if any(int(reasons) & TOO_HOT for reasons in values.get("clocks_event_reasons", {}).values()):
            self._slowdown_s += 1.0
        if counts := values.get("ecc_uncorrected"):
            self._errors = sum(counts.values())
            self._errors_before = self._errors if self._errors_before is None else self._errors_before

    def look(self, now_ns: int) -> GpuEvents:
        """Return all of it."""
        self._take_events(now_ns)
        errors = None
        if self._errors is not None and self._errors_before is not None:
            errors = int(max(0.0, self._errors - self._errors_before))
        return GpuEvents(
            xids=tuple(self._xids),
            lost=tuple(sorted(self._lost)),
            uncorrected_errors=errors,
            hottest_c=self._hottest_c or None,
            slowdown_c=self._slowdown_threshold(),
            thermal_slowdown_s=self._slowdown_s,
        )

    def holders(self) -> tuple[Holder, ...] | None:
        """Who has memory of the GPUs now, the largest first; None where nobody can look."""
        found: list[Holder] = []
        for handle in self._handles.values():
            try:
                processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)
            except self._nvml.NVMLError:
                return None
            found += [
                Holder(pid=each.pid, name=read_name(each.pid), rss_bytes=each.usedGpuMemory or 0, gpu=True)
                for each in processes
            ]
        return tuple(sorted(found, key=lambda each: -each.rss_bytes))

    def by_gpu(self) -> dict[int, list[tuple[int, int]]]:
        """The processes that have memory of each GPU, and how much; a GPU that does not tell is left out."""
        found: dict[int, list[tuple[int, int]]] = {}
        for index, handle in self._handles.items():
            with contextlib.suppress(self._nvml.NVMLError):
                processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)
                found[index] = [(each.pid, each.usedGpuMemory or 0) for each in processes]
        return found

    def uuid(self, index: int) -> str:
        """Empty where it can't be told."""
        with contextlib.suppress(self._nvml.NVMLError, AttributeError):
            told = self._nvml.nvmlDeviceGetUUID(self._handles[index])
            return told.decode() if isinstance(told, bytes) else str(told)
        return ""

    def close(self) -> None:
        """Idempotent."""
        with contextlib.suppress(self._nvml.NVMLError):
            if self._events is not None:
                self._nvml.nvmlEventSetFree(self._events)
                self._events = None
                self._nvml.nvmlShutdown()

    def _take_events(self, now_ns: int) -> None:
        for _ in range(MOST_TAKEN if self._events is not None else 0):
            try:
                event = self._nvml.nvmlEventSetWait_v2(self._events, 0)
            except self._nvml.NVMLError:  # nothing more has happened
                return
            if len(self._xids) < MOST_XIDS:
                self._xids.append(self._describe(event, now_ns))

    def _describe(self, event: Any, now_ns: int) -> KernelLine:  # noqa: ANN401  as NVML gives it
        kind, number = int(event.eventType), int(event.eventData)
        index = self._index(event.device)
        if kind == XID:
            return KernelLine(at_ns=now_ns, kind="xid", number=number, text=f"NVML: Xid {number} on GPU {index}")
        return KernelLine(at_ns=now_ns, kind="hardware", text=f"NVML: event {kind:#x} on GPU {index}")

    def _index(self, device: Any) -> int | str:  # noqa: ANN401  as NVML gives it
        with contextlib.suppress(self._nvml.NVMLError):
            return int(self._nvml.nvmlDeviceGetIndex(device))
        return "?"

    def _open_handles(self) -> dict[int, Any]:
        handles = {}
        for index in range(self._nvml.nvmlDeviceGetCount()):
            with contextlib.suppress(self._nvml.NVMLError):
                handles[index] = self._nvml.nvmlDeviceGetHandleByIndex(index)
        return handles

    def _open_events(self) -> Any:  # noqa: ANN401  as NVML gives it
        try:
            events = self._nvml.nvmlEventSetCreate()
        except self._nvml.NVMLError:
            return None
        for handle in self._handles.values():
            with contextlib.suppress(self._nvml.NVMLError):
                supported = self._nvml.nvmlDeviceGetSupportedEventTypes(handle)
                self._nvml.nvmlDeviceRegisterEvents(handle, supported & WANTED, events)
        return events

    def _slowdown_threshold(self) -> float | None:
        found = []
        for handle in self._handles.values():
            with contextlib.suppress(self._nvml.NVMLError, AttributeError):
                found.append(float(self._nvml.nvmlDeviceGetTemperatureThreshold(handle, SLOWDOWN_THRESHOLD)))
        return min(found, default=None)


def open_gpu_watch() -> GpuWatch | None:
    """Return a watch, or None where there is no working NVIDIA driver."""
    nvml = open_nvml()
    return GpuWatch(nvml) if nvml is not None else None


def has_gpu(row: Mapping[str, float | int]) -> bool:
    """Whether a row of samples is about GPUs too."""
    return "system/gpu/0/memory_total_bytes" in row


def parse_row(row: Mapping[str, float | int]) -> dict[str, dict[int, float]]:
    """Return the numbers of the GPUs in a row of samples, by name and then by GPU; without those nobody could read."""
    values: dict[str, dict[int, float]] = {}
    for key, value in row.items():
        found = re.fullmatch(r"system/gpu/(\d+)/(\w+)", key)
        if found and value == value:
            values.setdefault(found[2], {})[int(found[1])] = float(value)
    return values
