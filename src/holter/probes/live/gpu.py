"""NVIDIA GPUs: memory and whose it is, utilisation, temperature, power, why the clocks are low, memory errors."""

import os
from typing import Any

from holter.probes.identity import INITIAL_PID_NAMESPACE
from holter.probes.nvml import open_nvml
from holter.probes.probe import NAN, Probe, Target
from holter.probes.procfs import PROC
from holter.probes.totals import sum_known

# Memory errors are rare and asking for them is slow on some drivers.
TICKS_BETWEEN_ERROR_COUNTS = 10
# Later and earlier libraries know the same number by another name.
TEMPERATURE = ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
CLOCKS_EVENT_REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")


class GpuProbe:
    """Asks NVML about every GPU; what one of them cannot tell is NaN, and is not asked again if it never can."""

    def __init__(self, nvml: Any, has_host_pids: bool = True) -> None:  # noqa: ANN401  the binding is one untyped module
        self._nvml = nvml
        self._has_host_pids = has_host_pids
        self._unsupported: set[tuple[int, str]] = set()
        self._lost: set[int] = set()
        self._handles = [self._handle(index) for index in range(nvml.nvmlDeviceGetCount())]
        self._errors: dict[int, tuple[float, float]] = {}
        self._tick = 0
        self._is_open = True

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return the numbers of each GPU by its index in NVML, which is not always that of CUDA."""
        if self._tick % TICKS_BETWEEN_ERROR_COUNTS == 0:
            self._errors = {index: self._count_errors(index) for index in range(len(self._handles))}
        self._tick += 1
        tree = frozenset(target.tree)
        row: dict[str, float | int] = {}
        for index, handle in enumerate(self._handles):
            if handle is not None:
                self._lost.discard(index)
            values = self._sample_gpu(index) | self._sample_processes(index, tree)
            row.update({f"gpu/{index}/{name}": value for name, value in values.items()})
        return row

    def close(self) -> None:
        """Shut NVML down; idempotent."""
        if self._is_open:
            self._is_open = False
            self._nvml.nvmlShutdown()

    def _sample_gpu(self, index: int) -> dict[str, float | int]:
        memory = self._ask(index, "nvmlDeviceGetMemoryInfo")
        load = self._ask(index, "nvmlDeviceGetUtilizationRates")
        corrected, uncorrected = self._errors[index]
        return {
            "memory_used_bytes": number(getattr(memory, "used", None)),
            "memory_total_bytes": number(getattr(memory, "total", None)),
            "utilization_percent": number(getattr(load, "gpu", None)),
            "temperature_celsius": number(self._ask_either(index, TEMPERATURE, self._nvml.NVML_TEMPERATURE_GPU)),
            "power_watts": number(self._ask(index, "nvmlDeviceGetPowerUsage")) / 1000,
            "clocks_event_reasons": number(self._ask_either(index, CLOCKS_EVENT_REASONS)),
            "ecc_corrected": corrected,
            "ecc_uncorrected": uncorrected,
            "is_lost": int(index in self._lost),
        }

    def _sample_processes(self, index: int, tree: frozenset[int]) -> dict[str, float | int]:
        processes = self._ask(index, "nvmlDeviceGetComputeRunningProcesses")
        own = [process for process in processes or () if process.pid in tree]
        # In a container the list is empty or has the host's pids: without one of ours in it, it says nothing.
        if processes is None or not (own or self._has_host_pids):
            return {"tree_memory_bytes": NAN, "other_processes": NAN}
        used = [number(process.usedGpuMemory) for process in own]
        return {
            "tree_memory_bytes": sum_known(used) if used else 0.0,
            "other_processes": float(len({process.pid for process in processes} - tree)),
        }

    def _count_errors(self, index: int) -> tuple[float, float]:
        nvml = self._nvml
        kinds = (nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED)
        counts = [self._ask(index, "nvmlDeviceGetTotalEccErrors", kind, nvml.NVML_VOLATILE_ECC) for kind in kinds]
        return number(counts[0]), number(counts[1])

    def _handle(self, index: int) -> Any:  # noqa: ANN401  as NVML gives it
        try:
            return self._nvml.nvmlDeviceGetHandleByIndex(index)
        except self._nvml.NVMLError as error:
            self._learn(index, "nvmlDeviceGetHandleByIndex", error=error)
            return None

    def _ask_either(self, index: int, names: tuple[str, str], *arguments: int) -> Any:  # noqa: ANN401  as NVML gives it
        answer = self._ask(index, names[0], *arguments)
        return self._ask(index, names[1], *arguments) if answer is None else answer

    def _ask(self, index: int, name: str, *arguments: int) -> Any:  # noqa: ANN401  as NVML gives it
        """Return what a function of NVML says about a GPU, or None where it cannot tell."""
        function = getattr(self._nvml, name, None)
        handle = self._handles[index]
        if function is None or handle is None or (index, name) in self._unsupported:
            return None
        try:
            return function(handle, *arguments)
        except self._nvml.NVMLError as error:
            self._learn(index, name, error=error)
            return None

    def _learn(self, index: int, name: str, *, error: Any) -> None:  # noqa: ANN401  the binding makes its errors at run time
        nvml = self._nvml
        if error.value in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_FUNCTION_NOT_FOUND):
            self._unsupported.add((index, name))
        if error.value == nvml.NVML_ERROR_GPU_IS_LOST:
            self._lost.add(index)


def number(value: float | None) -> float:
    """Return NVML's number, NaN for none."""
    return NAN if value is None else float(value)


def open_probe(proc: str = PROC) -> Probe | None:
    """Return the probe, or None where there is no working NVIDIA driver."""
    nvml = open_nvml()
    if nvml is None:
        return None
    try:
        has_host_pids = os.readlink(f"{proc}/self/ns/pid") == INITIAL_PID_NAMESPACE
    except OSError:
        has_host_pids = True
    return GpuProbe(nvml, has_host_pids)
