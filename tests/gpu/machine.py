"""What NVML answers on this GPU, function by function, idle and under load; and what `holter doctor` says of it."""

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.gpu.scene import ask, result

ASKED = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetSupportedClocksEventReasons",
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetRetiredPagesPendingStatus",
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetSupportedEventTypes",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetPersistenceMode",
)
WITH_ARGUMENT = (
    ("nvmlDeviceGetTemperature", 0),
    ("nvmlDeviceGetTemperatureThreshold", 0),
    ("nvmlDeviceGetTemperatureThreshold", 1),
    ("nvmlDeviceGetClockInfo", 1),
    ("nvmlDeviceGetMaxClockInfo", 1),
)
LOAD = """
import torch, time
a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
until = time.monotonic() + 9
while time.monotonic() < until:
    for _ in range(50):
        a @ a
    torch.cuda.synchronize()
"""


def machine() -> dict[str, Any]:
    """Facts first, so that there is something to keep whatever comes later."""
    from holter.probes.live.gpu import open_probe
    from holter.probes.nvml import describe_gpus
    from holter.probes.probe import Target

    nvml = open_nvml()
    idle = answers(nvml)
    load = subprocess.Popen([sys.executable, "-c", LOAD], stderr=subprocess.PIPE)
    time.sleep(1)
    curve: list[dict[str, Any]] = []
    while load.poll() is None and len(curve) < 60:
        curve.append(short(nvml))
        time.sleep(0.5)
    busy = [each for each in curve if each["utilization"] > 90]
    probe = open_probe()
    row = dict(probe.sample(Target(roots=(os.getpid(),), tree=(os.getpid(),), directory="/tmp"))) if probe else {}
    home = Path(tempfile.mkdtemp(prefix="doctor-"))
    doctor = ask(home, "doctor")
    return result(
        {
            "NVML answers": "error" not in str(idle.get("nvmlDeviceGetMemoryInfo")),
            "the probe's row is whole": row.get("gpu/0/temperature_celsius", 0) > 0,
            "the doctor found the GPU": "findings" in doctor,
            "load was seen": bool(busy),
        },
        python=sys.version,
        kernel=platform.release(),
        torch=_torch(),
        described=describe_gpus(),
        idle=idle,
        curve=curve,
        row={name: repr(value) for name, value in row.items()},
        doctor=doctor,
        pid_namespace=os.readlink("/proc/self/ns/pid"),
    )


def open_nvml() -> Any:  # noqa: ANN401  the binding is one untyped module
    import pynvml

    pynvml.nvmlInit()
    return pynvml


def answers(nvml: Any) -> dict[str, Any]:  # noqa: ANN401
    """What each function says, or its error."""
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    found: dict[str, Any] = {"driver": str(nvml.nvmlSystemGetDriverVersion())}
    for name, *arguments in [(name,) for name in ASKED] + list(WITH_ARGUMENT):
        key = name + "".join(f" {each}" for each in arguments)
        try:
            found[key] = plain(getattr(nvml, name)(handle, *arguments))
        except Exception as error:  # noqa: BLE001  each release of the binding has ways of its own
            found[key] = f"error: {error!r}"
    for kind in (0, 1):
        with contextlib.suppress(nvml.NVMLError):
            found[f"ecc {kind}"] = nvml.nvmlDeviceGetTotalEccErrors(handle, kind, 0)
    return found


def plain(value: Any) -> Any:  # noqa: ANN401
    """As JSON can hold it."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    fields = getattr(type(value), "_fields_", None)
    if fields is not None:
        return {name: plain(getattr(value, name)) for name, *_ in fields}
    return value if isinstance(value, int | float | str | None) else repr(value)


def short(nvml: Any) -> dict[str, Any]:  # noqa: ANN401
    """One point of a curve."""
    handle = nvml.nvmlDeviceGetHandleByIndex(0)
    reasons = getattr(nvml, "nvmlDeviceGetCurrentClocksEventReasons", None) or (
        nvml.nvmlDeviceGetCurrentClocksThrottleReasons
    )
    temperature = getattr(nvml, "nvmlDeviceGetTemperatureV", None) or nvml.nvmlDeviceGetTemperature
    try:
        celsius = temperature(handle, 0)
    except Exception:  # noqa: BLE001  another release of the binding
        celsius = nvml.nvmlDeviceGetTemperature(handle, 0)
    return {
        "utilization": nvml.nvmlDeviceGetUtilizationRates(handle).gpu,
        "celsius": plain(celsius),
        "watts": nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
        "reasons": int(reasons(handle)),
        "mhz": nvml.nvmlDeviceGetClockInfo(handle, 1),
        "used": int(nvml.nvmlDeviceGetMemoryInfo(handle).used),
        "holders": [[each.pid, each.usedGpuMemory] for each in nvml.nvmlDeviceGetComputeRunningProcesses(handle)],
    }


def _torch() -> dict[str, Any]:
    code = (
        "import json, time; began = time.monotonic(); import torch; took = time.monotonic() - began;"
        "print(json.dumps({'version': torch.__version__, 'cuda': torch.version.cuda, 'import_s': took,"
        "'name': torch.cuda.get_device_name(0), 'has_observer': hasattr(torch._C,"
        " '_cuda_attach_out_of_memory_observer'), 'hooks': [n for n in dir(torch._C) if 'emory' in n]}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"error": done.stderr[-1000:]}
    return found
