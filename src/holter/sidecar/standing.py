"""Looks closely at a process that logs nothing: its state, its CPU, and where its threads are."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable

import msgspec

from holter.guards.seen import Standing
from holter.probes.cgroups import is_frozen
from holter.probes.procfs import PROC, read_file, read_schedule, read_stat

ANSWER_WITHIN_S = 5.0
DUMP_WITHIN_S = 10.0
EACH_S = 10.0
BUSY_PERCENT = 50.0
MOST_STACK = 8000
_PLACES = (
    ("gpu", ("torch/cuda/__init__.py", "torch/cuda/streams.py")),
    ("slow-data", ("torch/utils/data/dataloader.py",)),
    ("collective", ("torch/distributed/", "horovod/", "mpi4py/")),
    ("pool", ("multiprocessing/pool.py",)),
    ("deadlock", ("threading.py", "multiprocessing/synchronize.py", "queue.py")),
)


_COLLECTIVE = re.compile(r"^ +\S*/torch/distributed/distributed_c10d\.py:\d+ (\w+)", re.MULTILINE)


def operation_in(stack: str) -> str:
    """The collective that a main thread waits in, as its user calls it: `all_gather_object`; empty for none."""
    names = _COLLECTIVE.findall(stack.partition("\nthread ")[0])
    return str(names[-1]) if names else ""


class _Frame(msgspec.Struct):
    name: str = ""
    filename: str = ""
    line: int = 0


class _Thread(msgspec.Struct):
    thread_id: int = 0
    thread_name: str | None = None
    frames: list[_Frame] = []


class Witness:
    """Of one silent process: `ask` asks it, and whoever hears the answer calls `hear`. One thread, but for py-spy's."""

    def __init__(self, pid: int, ask: Callable[[], None]) -> None:
        self.pid = pid
        self._ask = ask
        self._stack = ""
        self._has_answered = False
        """By itself, and not only in what py-spy saw of it."""
        self._asked_s = self._dumped_s = -1.0
        self._before: tuple[float, float, float] | None = None
        """When, how much of the processors it had used by then, and how much its main thread had wanted."""
        self._dump: threading.Thread | None = None

    def hear(self, stack: str) -> None:
        """Where the program says that it is."""
        self._has_answered = True
        self._stack = stack[:MOST_STACK]

    def look(self, now_s: float, *, lost_worker: bool, gpu_busy: bool = False) -> Standing | None:
        """What can be told now; None once the process is gone. `gpu_busy`: a GPU of it is at work all the time."""
        stat = read_stat(self.pid)
        if stat is None:
            return None
        if self._asked_s < 0:
            self._asked_s = now_s
            self._ask()
        cpu, wanted = self._share(now_s, stat.cpu_ticks / os.sysconf("SC_CLK_TCK"))
        is_mute = not self._has_answered and now_s - self._asked_s > ANSWER_WITHIN_S
        if is_mute and self._dumped_s < 0 and stat.state not in "Tt":
            self._dumped_s = now_s
            self._begin_dump()
        kind = self._kind(stat.state, wanted, is_mute=is_mute, lost_worker=lost_worker) or ("gpu" if gpu_busy else "")
        kind = "gpu" if kind == "busy" and gpu_busy else kind
        return Standing(
            pid=self.pid,
            kind=kind,
            stack=self._stack,
            kernel_state=stat.state,
            cpu_percent=cpu,
            operation=operation_in(self._stack) if kind == "collective" else "",
        )

    def _share(self, now_s: float, used_s: float) -> tuple[float | None, float]:
        """In percent: what the process had of a core lately, and what it or its main thread would have taken."""
        wanted_s = sum(read_schedule(self.pid))
        before = self._before or (now_s, used_s, wanted_s)
        if self._before is None or now_s - before[0] > EACH_S:
            self._before = (now_s, used_s, wanted_s)
        if now_s - before[0] < 1:
            return None, 0.0
        used = 100 * (used_s - before[1]) / (now_s - before[0])
        wanted = 100 * (wanted_s - before[2]) / (now_s - before[0])
        return used, max(used, wanted) if wanted == wanted else used

    def _kind(self, state: str, wanted: float, *, is_mute: bool, lost_worker: bool) -> str:
        if state in "Tt":
            return "stopped"
        waits = read_file(f"{PROC}/{self.pid}/wchan") or b""
        if b"freez" in waits or b"refrigerator" in waits or (state == "D" and is_frozen(self.pid)):
            return "frozen"
        if is_mute and wanted > BUSY_PERCENT:
            return "gil"
        main = self._stack.partition("\nthread ")[0]
        kind = next((kind for kind, places in _PLACES if any(place in main for place in places)), "")
        if kind in ("pool", "deadlock") and lost_worker and "multiprocessing" in main:
            return "pool"
        if kind == "pool":
            return ""  # its workers are at work
        if not kind and state == "D":
            return "disk"
        if not kind and not is_mute and wanted > BUSY_PERCENT:
            return "busy"
        if not kind and main and not is_mute and b"futex" in waits:
            return "deadlock"
        return kind or ("gil" if is_mute else "")

    def _begin_dump(self) -> None:
        if (found := find_py_spy()) is not None:
            self._dump = threading.Thread(target=self._run_dump, args=(found,), name="py-spy", daemon=True)
            self._dump.start()

    def _run_dump(self, found: str) -> None:
        """It reads the memory of the process, which goes on meanwhile."""
        command = [found, "dump", "--nonblocking", "--json", "--pid", str(self.pid)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=DUMP_WITHIN_S, check=False)
        except (OSError, subprocess.SubprocessError):
            return
        if done.returncode == 0 and not self._has_answered:
            self._stack = _told(done.stdout)[:MOST_STACK]


def find_py_spy() -> str | None:
    """On the path, or beside the Python that runs us: of an environment that nobody has activated."""
    return shutil.which("py-spy") or shutil.which("py-spy", path=os.path.dirname(sys.executable))


def _told(dump: bytes) -> str:
    """What py-spy saw, as a program itself would tell it: the main thread first; empty for what is no dump."""
    try:
        threads = msgspec.json.decode(dump, type=list[_Thread])
    except msgspec.MsgspecError:
        return ""
    lines = []
    for thread in sorted(threads, key=lambda each: each.thread_name != "MainThread"):
        lines.append(f"thread {thread.thread_name or thread.thread_id}:")
        lines += [f"  {each.filename}:{each.line} {each.name}" for each in thread.frames]
    return "\n".join(lines)
