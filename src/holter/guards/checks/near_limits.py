"""Open files, or processes and threads, are near their limit.

Warns at nine tenths of what a process may have open (RLIMIT_NOFILE), and of the processes and threads that the
container may have.
"""

from collections.abc import Iterator

from holter.guards.limits import Limits
from holter.guards.seen import Caution, Seen

FILES = (
    "close what you open; torch.multiprocessing.set_sharing_strategy('file_system') needs fewer descriptors",
    "ulimit -n 65536 in the shell that starts it",
)
TASKS = ("fewer workers, OMP_NUM_THREADS=1 in them", "a higher limit of the container: docker run --pids-limit")


class Check:
    """Looks at what the sampler counted."""

    def __init__(self, limits: Limits) -> None:
        self._share = limits.near_limit_share

    def look(self, seen: Seen) -> Iterator[Caution]:
        """What is near its limit now."""
        most = seen.facts.get("files_limit")
        fullest = max(seen.members.values(), key=lambda each: each.open_files, default=None)
        if most and fullest is not None and fullest.open_files >= self._share * most:
            text = f"process {fullest.pid} has {fullest.open_files:,.0f} files open, it may have {most:,}"
            yield Caution(subject="files", text=text, advice=FILES)
        tasks, allowed = seen.last("system/cgroup/pids_current"), seen.last("system/cgroup/pids_max")
        if tasks >= self._share * allowed:
            text = f"there are {tasks:,.0f} processes and threads, the container may have {allowed:,.0f}"
            yield Caution(subject="tasks", text=text, advice=TASKS)


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
