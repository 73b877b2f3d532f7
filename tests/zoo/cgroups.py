"""Small cgroups to die in, on either version of the interface. Only root can make them."""

import contextlib
import itertools
import os
import signal
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
IS_UNIFIED = (ROOT / "cgroup.controllers").exists()

_numbers = itertools.count()


class Cgroup:
    """A cgroup in the hierarchy of one controller (`memory` or `pids`), removed with `remove`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    @property
    def procs(self) -> Path:
        """Who writes a pid here moves that process into the group."""
        return self.path / "cgroup.procs"

    @property
    def usage_bytes(self) -> int:
        """Its memory now."""
        return int((self.path / ("memory.current" if IS_UNIFIED else "memory.usage_in_bytes")).read_text())

    @property
    def has_memory(self) -> bool:
        """Whether it counts memory."""
        return (self.path / ("memory.events" if IS_UNIFIED else "memory.oom_control")).exists()

    @property
    def kills(self) -> int:
        """How often the kernel killed in it for want of memory."""
        text = (self.path / ("memory.events" if IS_UNIFIED else "memory.oom_control")).read_text()
        return int(dict(line.split() for line in text.splitlines())["oom_kill"])

    def limit_memory(self, limit_bytes: int) -> None:
        """Swap included: who reaches the limit is killed, not slowed down."""
        if IS_UNIFIED:
            (self.path / "memory.max").write_text(str(limit_bytes))
            with contextlib.suppress(FileNotFoundError):  # a kernel without swap
                (self.path / "memory.swap.max").write_text("0")
            return
        (self.path / "memory.limit_in_bytes").write_text(str(limit_bytes))
        with contextlib.suppress(FileNotFoundError):
            (self.path / "memory.memsw.limit_in_bytes").write_text(str(limit_bytes))

    def limit_tasks(self, limit: int) -> None:
        """The most processes and threads."""
        (self.path / "pids.max").write_text(str(limit))

    def make_child(self, name: str) -> "Cgroup":
        """A cgroup below; on the unified hierarchy processes live in the lowest one only."""
        if IS_UNIFIED:
            (self.path / "cgroup.subtree_control").write_text("+memory")
        return Cgroup(self.path / name)

    def remove(self) -> None:
        """End what still lives in it, then remove it; those below go first."""
        for _ in range(200):
            for pid in self.procs.read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.01)


def make_cgroup(controller: str) -> Cgroup:
    """A new cgroup of our own at the top of the controller's hierarchy. Raises OSError."""
    base = ROOT if IS_UNIFIED else ROOT / controller
    if IS_UNIFIED:
        (base / "cgroup.subtree_control").write_text(f"+{controller}")
    return Cgroup(base / f"holter-zoo-{os.getpid()}-{next(_numbers)}")
