"""How much memory this process has, now and at its peak: cheap enough for every line, and nothing waits for a GPU."""

import os
import sys
from collections.abc import Callable

PAGE_BYTES = os.sysconf("SC_PAGESIZE")
_RESET_PEAK = b"5"

_statm = -1


def rss_bytes() -> int:
    """The resident memory of this process; 0 where there is no /proc. One system call: the file stays open."""
    global _statm
    if _statm < 0:
        try:
            _statm = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return 0
    try:
        return int(os.pread(_statm, 64, 0).split(None, 2)[1]) * PAGE_BYTES
    except (OSError, IndexError):  # somebody closed it: a daemon closes all that it finds open
        _statm = -1
        return 0


def begin_peak() -> None:
    """Have `peak_bytes` mean the time from now on."""
    try:
        fd = os.open("/proc/self/clear_refs", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(fd, _RESET_PEAK)
    except OSError:
        return  # a sandbox: the peak is then that of all the time
    finally:
        os.close(fd)


def peak_bytes() -> int | None:
    """The most resident memory since `begin_peak`; None where there is no /proc."""
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:
            text = file.read(4096)
        at = text.index(b"VmHWM:")
        return int(text[at + 6 : at + 40].split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return None


def cuda_is_used() -> bool:
    """Whether torch has started CUDA in this process; to ask otherwise might start it."""
    return bool(getattr(getattr(sys.modules.get("torch"), "cuda", None), "_initialized", False))


def gpu_reader() -> Callable[[], int] | None:
    """Reads what torch has given out on all GPUs, without waiting for them; None where it uses none (yet)."""
    return (lambda: _allocated()[0]) if cuda_is_used() else None


class GpuMemory:
    """What torch counts by itself, where the program has it in use; asks no driver and resets nothing."""

    def __init__(self) -> None:
        self._before = (0, 0)

    def begin(self) -> None:
        """A cell begins."""
        self._before = _allocated() if cuda_is_used() else (0, 0)

    def end(self) -> tuple[int | None, int | None]:
        """What is allocated now, and the most of it since `begin`, or at least so much."""
        if not cuda_is_used():
            return None, None
        allocated, peak = _allocated()
        # The counter is the user's as well, so it is not reset: where it did not move, the cell stayed below it.
        return allocated, peak if peak > self._before[1] else max(allocated, self._before[0])


def _allocated() -> tuple[int, int]:
    """On all GPUs, now and at the peak."""
    cuda = sys.modules["torch"].cuda
    # Its own `memory_allocated` and its sisters first bring all of the counters into another form, each time.
    counted = [cuda.memory_stats_as_nested_dict(device) for device in range(cuda.device_count())]
    allocated = [each["allocated_bytes"]["all"] for each in counted if each]
    return sum(each["current"] for each in allocated), sum(each["peak"] for each in allocated)


def _after_fork() -> None:
    global _statm
    if _statm >= 0:
        os.close(_statm)  # it would go on to show the parent
    _statm = -1


os.register_at_fork(after_in_child=_after_fork)
