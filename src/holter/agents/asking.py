"""Who an agent is: its process, its GPU, the kind of memory that its trials must fit into."""

import os
from collections.abc import Mapping

from holter.errors import UsageError
from holter.probes.identity import this_process
from holter.recording.identity import new_run_id
from holter.sweeps.words import Asker

GIB = 1 << 30


def this_agent(gpu: str = "") -> Asker:
    """This process as an agent, with one GPU to itself or none."""
    me = this_process()
    return Asker(
        id=new_run_id(),
        host=me.host,
        gpu=gpu,
        device=device_of(gpu),
        pid=me.pid,
        started=me.started,
        boot_id=me.boot_id,
        pid_namespace=me.pid_namespace,
    )


def list_gpus(wanted: str) -> list[str]:
    """`auto` for all, a number for the first so many, or their numbers with commas. Raises UsageError."""
    if "," in wanted:
        return [each.strip() for each in wanted.split(",") if each.strip()]
    if wanted != "auto" and not wanted.isdecimal():
        raise UsageError(f"--gpus {wanted}: write auto, how many, or their numbers with commas")
    numbers = _visible(_names())
    return numbers if wanted == "auto" else numbers[: int(wanted)]


def device_of(gpu: str) -> str:
    """`NVIDIA H200, 140 GiB`: the kind of this GPU, or of all that are visible; the host's memory where none is."""
    names = _names()
    kinds = dict.fromkeys(names[each] for each in ([gpu] if gpu else _visible(names)) if each in names)
    if kinds:
        return " and ".join(kinds)
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"host memory, {round(total / GIB)} GiB"


def _visible(names: Mapping[str, str]) -> list[str]:
    """The GPUs that programs may use, by number or UUID."""
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    known = chosen.split(",") if chosen is not None else [each for each in names if each.isdecimal()]
    return [each.strip() for each in known if each.strip()]


def _names() -> dict[str, str]:
    """What the GPUs of this host are called, by their number and by their UUID; none where there are none."""
    import pynvml

    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return {}
    try:
        found: dict[str, str] = {}
        for place in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(place)
            total = pynvml.nvmlDeviceGetMemoryInfo(handle).total
            name = f"{pynvml.nvmlDeviceGetName(handle)}, {round(int(total) / GIB)} GiB"
            found |= {str(place): name, str(pynvml.nvmlDeviceGetUUID(handle)): name}
        return found
    except pynvml.NVMLError:
        return {}
    finally:
        pynvml.nvmlShutdown()
