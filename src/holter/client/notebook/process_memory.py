"""The memory of this process now and at its peak; nothing that waits for a GPU."""

import os
import sys

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_RESET_PEAK = b"5"


class ProcessMemory:
    """Reads /proc; where there is none every answer is None. Costs microseconds."""

    def rss_bytes(self) -> int | None:
        """What the process holds in memory."""
        try:
            with open("/proc/self/statm", "rb", buffering=0) as file:
                return int(file.read(128).split()[1]) * _PAGE
        except (OSError, ValueError, IndexError):
            return None

    def begin_peak(self) -> None:
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

    def peak_bytes(self) -> int | None:
        """The most that it held since `begin_peak`."""
        try:
            with open("/proc/self/status", "rb", buffering=0) as file:
                text = file.read(4096)
            at = text.index(b"VmHWM:")
            return int(text[at + 6 : at + 40].split()[0]) * 1024
        except (OSError, ValueError, IndexError):
            return None


class GpuMemory:
    """What PyTorch counts by itself, where the program has it in use; asks no driver and resets nothing."""

    def __init__(self) -> None:
        self._before = (0, 0)

    def begin(self) -> None:
        """A cell begins."""
        self._before = self._read() or (0, 0)

    def end(self) -> tuple[int | None, int | None]:
        """What is allocated now, and the most of it since `begin`, or at least so much."""
        now = self._read()
        if now is None:
            return None, None
        allocated, peak = now
        # The counter is the user's as well, so it is not reset: where it did not move, the cell stayed below it.
        return allocated, peak if peak > self._before[1] else max(allocated, self._before[0])

    def _read(self) -> tuple[int, int] | None:
        cuda = getattr(sys.modules.get("torch"), "cuda", None)
        if cuda is None or not cuda.is_initialized():
            return None
        # Its own `memory_allocated` and its sisters first bring all of the counters into another form, each time.
        counted = [cuda.memory_stats_as_nested_dict(device) for device in range(cuda.device_count())]
        allocated = [each["allocated_bytes"]["all"] for each in counted if each]
        return sum(each["current"] for each in allocated), sum(each["peak"] for each in allocated)
