"""GPUs, and who is on them, as NVIDIA's library tells."""

import contextlib
import os
import re
from collections.abc import Iterator
from typing import Any

from holter.doctor.machine import Gpu, Gpus, Holder
from holter.probes import nvml as library
from holter.probes.procfs import PROC, read_file

_LOADED = re.compile(rb"Kernel Module(?:\s+for\s+\S+)?\s+([0-9.]+)")


def read_gpus(pid: int, proc: str = PROC) -> Gpus:
    """All that can be told of them; of a driver that does not answer why."""
    loaded = _loaded_driver(proc)
    nvml = library.open_nvml()
    if nvml is None:
        return Gpus(loaded_driver=loaded, trouble=_trouble() if loaded else "")
    try:
        count = nvml.nvmlDeviceGetCount()
        devices = tuple(_read(nvml, nvml.nvmlDeviceGetHandleByIndex(index), pid, proc) for index in range(count))
        return Gpus(driver=_text(nvml.nvmlSystemGetDriverVersion()), devices=devices, loaded_driver=loaded)
    except nvml.NVMLError as error:
        return Gpus(loaded_driver=loaded, trouble=str(error))
    finally:
        nvml.nvmlShutdown()


def _read(nvml: Any, handle: Any, pid: int, proc: str) -> Gpu:  # noqa: ANN401  the binding is one untyped module
    def ask(name: str, *arguments: object) -> Any:  # noqa: ANN401  as NVML gives it
        with contextlib.suppress(nvml.NVMLError, AttributeError):
            return getattr(nvml, name)(handle, *arguments)
        return None

    memory, capability = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetCudaComputeCapability")
    rows = ask("nvmlDeviceGetRemappedRows")
    errors = ask(
        "nvmlDeviceGetTotalEccErrors",
        getattr(nvml, "NVML_MEMORY_ERROR_TYPE_UNCORRECTED", 1),
        getattr(nvml, "NVML_VOLATILE_ECC", 0),
    )
    return Gpu(
        name=_text(ask("nvmlDeviceGetName") or ""),
        uuid=_text(ask("nvmlDeviceGetUUID") or ""),
        capability=(int(capability[0]), int(capability[1])) if capability else None,
        memory_total_bytes=getattr(memory, "total", 0),
        memory_used_bytes=getattr(memory, "used", 0),
        holders=tuple(_holders(ask("nvmlDeviceGetComputeRunningProcesses") or (), pid, proc)),
        compute_mode=ask("nvmlDeviceGetComputeMode") or 0,
        uncorrected_errors=errors,
        needs_reset=bool(rows and (rows[2] or rows[3])),
    )


def _holders(processes: Any, own: int, proc: str) -> Iterator[Holder]:  # noqa: ANN401  as NVML gives them
    for each in processes:
        try:
            user = _user_name(os.stat(f"{proc}/{each.pid}").st_uid)
        except OSError:
            user = ""
        command = (read_file(f"{proc}/{each.pid}/comm") or b"").decode(errors="replace").strip()
        yield Holder(pid=each.pid, used_bytes=each.usedGpuMemory, user=user, command=command, is_ours=each.pid == own)


def _user_name(number: int) -> str:
    import pwd  # not everywhere

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _loaded_driver(proc: str) -> str:
    match = _LOADED.search(read_file(f"{proc}/driver/nvidia/version") or b"")
    return match[1].decode() if match else ""


def _trouble() -> str:
    try:
        import pynvml
    except ImportError:
        return "the package nvidia-ml-py is missing"
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return str(error)
    pynvml.nvmlShutdown()
    return ""


def _text(value: str | bytes) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
