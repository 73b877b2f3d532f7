"""The kernels of this server, by the id that Jupyter gives them: the process that runs now, and those before it."""

from collections import deque

from holter.jupyter.kernel_run import KernelRun

MOST_KERNELS = 500
MOST_PROCESSES = 8
# A kernel that dies sooner than this after another that died is one of a row.
IN_A_ROW_S = 60.0

_processes: dict[str, deque[KernelRun]] = {}


def remember(run: KernelRun) -> None:
    """A process was started for a kernel."""
    runs = _processes.pop(run.about.id, deque(maxlen=MOST_PROCESSES))
    runs.append(run)
    _processes[run.about.id] = runs  # the newest last: the oldest are forgotten first
    while len(_processes) > MOST_KERNELS:
        del _processes[next(iter(_processes))]


def last_ended(kernel: str) -> KernelRun | None:
    """The last process of a kernel that is gone; None where none has gone, or nobody recorded it."""
    return next((run for run in reversed(_processes.get(kernel, ())) if run.has_ended), None)


def deaths_in_a_row(kernel: str) -> int:
    """How many of the last processes of a kernel died one soon after the other, without anybody asking for it."""
    count = 0
    for run in reversed(_processes.get(kernel, ())):
        if not run.has_ended or run.wish or run.lived_s() > IN_A_ROW_S:
            break
        count += 1
    return count
