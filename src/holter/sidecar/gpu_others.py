"""Who else is on the GPUs that a program can see: by name, owner, and the run that it records."""

import contextlib
import os
import re
from collections.abc import Collection, Sequence

from holter.guards.seen import GpuHolder
from holter.probes.postmortem.gpu_events import GpuWatch
from holter.probes.postmortem.process_table import read_name
from holter.probes.procfs import PROC, read_file, read_stat

LOOK_EVERY_S = 10.0
MOST_OPEN_FILES = 4096
VISIBLE = b"CUDA_VISIBLE_DEVICES="
_SEGMENT = re.compile(r"/runs/([^/]+)/[0-9a-f]{32}-\d{6}\.seg")
_WHOLE = ((b"xla_cuda", "JAX"), (b"libtensorflow", "TensorFlow"))
"""Libraries that take most of a GPU before they need it, by a part of a file's name."""


class GpuOthers:
    """Of one run. One thread."""

    def __init__(self) -> None:
        self._looked_s = -LOOK_EVERY_S
        self._found: dict[int, list[GpuHolder]] = {}

    def look(self, watch: GpuWatch, root: int, *, own: Collection[int], now_s: float) -> dict[int, list[GpuHolder]]:
        """By GPU, the largest first; read again every ten seconds."""
        if now_s - self._looked_s < LOOK_EVERY_S:
            return self._found
        self._looked_s = now_s
        by_gpu = watch.by_gpu()
        seen = visible(root, [watch.uuid(index) for index in range(max(by_gpu, default=-1) + 1)])
        self._found = {
            index: sorted(
                (_describe(pid, used) for pid, used in holders if pid not in own), key=lambda each: -each.bytes
            )
            for index, holders in by_gpu.items()
            if index in seen
        }
        return self._found


def visible(pid: int, uuids: Sequence[str]) -> list[int]:
    """The GPUs that a process may use, by NVML's numbers: all, where its environment does not say or can't be read."""
    settings = (read_file(f"{PROC}/{pid}/environ") or b"").split(b"\0")
    told = next((each.removeprefix(VISIBLE).decode() for each in settings if each.startswith(VISIBLE)), None)
    if told is None:
        return [*range(len(uuids))]
    found = []
    for name in (each.strip() for each in told.split(",")):
        matching = [index for index, uuid in enumerate(uuids) if name == str(index) or (name and uuid.startswith(name))]
        if len(matching) != 1:  # CUDA stops at what it does not know
            break
        found += matching
    return found


def takes_whole_gpu(pid: int) -> str:
    """The library that a process has loaded which takes a GPU as a whole; empty where torch shares it with that."""
    maps = read_file(f"{PROC}/{pid}/maps") or b""
    if b"libtorch_cuda" in maps:
        return ""
    return next((name for part, name in _WHOLE if part in maps), "")


def _describe(pid: int, used: int) -> GpuHolder:
    stat = read_stat(pid)
    run = _run_of(pid)
    return GpuHolder(
        pid=pid,
        name=(read_file(f"{PROC}/{pid}/comm") or b"").decode(errors="replace").strip() or read_name(pid),
        owner=_owner(pid),
        bytes=float(used),
        run=run,
        is_left_over=bool(run) and stat is not None and stat.parent == 1,
    )


def _run_of(pid: int) -> str:
    """By the journal that it has open; a worker that was forked has its parent's."""
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"{PROC}/{pid}/fd")[:MOST_OPEN_FILES]:
            with contextlib.suppress(OSError):
                if match := _SEGMENT.search(os.readlink(f"{PROC}/{pid}/fd/{fd}")):
                    return match[1]
    return ""


def _owner(pid: int) -> str:
    import pwd  # only where there is a GPU

    try:
        number = os.stat(f"{PROC}/{pid}").st_uid
        return pwd.getpwuid(number).pw_name
    except OSError:
        return ""
    except KeyError:
        return f"user {number}"
