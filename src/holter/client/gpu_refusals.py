"""What torch's allocator looked like when a GPU refused memory, whether or not the program caught that.

torch calls us before it raises, once its cache is given back: what is then still reserved and free lies in pieces.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.warning_records import GpuRefused

MOST_KEPT = 50
"""A program may catch one after the other."""
MOST_SNAPSHOTS = 3
SNAPSHOT = "gpu-memory-{}.pickle"

Keep = Callable[[Record], None]


class Refusals:
    """Those of this process.

    Args:
        recording: the runs to keep them in, each as its directory and what keeps a record.
    """

    def __init__(self, torch: Any, recording: Callable[[], list[tuple[str, Keep]]], *, clock: Clock) -> None:
        self._torch = torch
        self._recording = recording
        self._clock = clock
        self._count = self._snapshots = 0

    def observe(self, device: int, asked: int, total: int, free: int, /) -> None:
        """torch is about to raise. Never raises itself: that would hide what torch has to say."""
        self._count += 1
        if self._count > MOST_KEPT:
            return
        try:
            self._keep(device, asked, total, free)
        except Exception:  # noqa: BLE001  the boundary
            return

    def _keep(self, device: int, asked: int, total: int, free: int) -> None:
        runs = self._recording()
        if not runs:
            return
        stats = self._torch.cuda.memory_stats(device)
        largest, snapshot = 0, None
        if self._snapshots < MOST_SNAPSHOTS:
            self._snapshots += 1
            snapshot = self._torch.cuda.memory._snapshot()
            largest = largest_free(snapshot, device)
        has_history = snapshot is not None and any(snapshot.get("device_traces") or ())
        for directory, keep in runs:
            name = SNAPSHOT.format(self._snapshots) if has_history else ""
            keep(
                GpuRefused(
                    at_ns=self._clock.now_ns(),
                    device=device,
                    asked=asked,
                    total=total,
                    free=free,
                    allocated=stats.get("allocated_bytes.all.current", 0),
                    reserved=stats.get("reserved_bytes.all.current", 0),
                    split=stats.get("inactive_split_bytes.all.current", 0),
                    largest_free=largest,
                    snapshot=name if name and _write(snapshot, os.path.join(directory, name)) else "",
                )
            )


def largest_free(snapshot: dict[str, Any], device: int) -> int:
    """The largest block of a device that torch has taken and nobody uses."""
    return max(
        (
            block["size"]
            for segment in snapshot.get("segments", ())
            if segment.get("device", device) == device
            for block in segment["blocks"]
            if block["state"] == "inactive"
        ),
        default=0,
    )


def _write(snapshot: object, path: str) -> bool:
    """As torch's own `_dump_snapshot`, for https://docs.pytorch.org/memory_viz."""
    import pickle

    try:
        with open(path, "wb") as file:
            pickle.dump(snapshot, file)
    except OSError:
        return False
    return True


_is_attached = False


def attach(recording: Callable[[], list[tuple[str, Keep]]]) -> None:
    """Have torch tell us from now on, if it is there and can; cheap, and done once."""
    global _is_attached
    torch = sys.modules.get("torch")
    add = getattr(getattr(torch, "_C", None), "_cuda_attach_out_of_memory_observer", None)
    later = getattr(getattr(torch, "cuda", None), "_lazy_call", None)
    if _is_attached or add is None or later is None:
        return
    _is_attached = True
    refusals = Refusals(torch, recording, clock=Clock())
    later(lambda: add(refusals.observe))  # once the program uses CUDA; to ask before would start it
