"""Opens NVIDIA's management library where a driver is there."""

import os
import sys
from types import ModuleType

# Looked at before anything is imported: the binding and the library cost some megabytes and milliseconds.
DRIVER_FILES = ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg")
DRIVER_FILES_ON_WINDOWS = (r"C:\Windows\System32\nvml.dll",)


def open_nvml() -> ModuleType | None:
    """Return the initialised `pynvml`, which the caller shuts down; None where there is no working driver."""
    if not any(map(os.path.exists, DRIVER_FILES_ON_WINDOWS if sys.platform == "win32" else DRIVER_FILES)):
        return None
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return None
    module: ModuleType = pynvml
    return module


def describe_gpus() -> dict[str, object] | None:
    """Return the versions of driver and CUDA and each GPU's name, uuid and memory; None where nobody can look."""
    nvml = open_nvml()
    if nvml is None:
        return None
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        return {
            "driver": _text(nvml.nvmlSystemGetDriverVersion()),
            "cuda": _cuda_version(nvml),
            "devices": [_describe(nvml, handle) for handle in handles],
        }
    except nvml.NVMLError:
        return None
    finally:
        nvml.nvmlShutdown()


def _describe(nvml: ModuleType, handle: object) -> dict[str, object]:
    return {
        "name": _text(nvml.nvmlDeviceGetName(handle)),
        "uuid": _text(nvml.nvmlDeviceGetUUID(handle)),
        "memory_total_bytes": nvml.nvmlDeviceGetMemoryInfo(handle).total,
    }


def _cuda_version(nvml: ModuleType) -> str | None:
    """Return the newest CUDA that the driver can run, such as 12.8."""
    try:
        version: int = nvml.nvmlSystemGetCudaDriverVersion_v2()
    except (nvml.NVMLError, AttributeError):
        return None
    return f"{version // 1000}.{version % 1000 // 10}"


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
