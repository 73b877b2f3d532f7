"""Finds all descendants of the recorded processes."""

import os
from collections.abc import Callable, Iterable, Sequence

from holter.probes.procfs import PROC, list_numbers, read_file, read_stat

FindTree = Callable[[Sequence[int]], tuple[int, ...]]

# Linux keeps a list of children per thread, and a training process may have hundreds of threads.
THREADS_PER_TICK = 32


def open_tree(proc: str = PROC) -> FindTree:
    """Return the cheapest way that this machine has to find the roots and all their descendants.

    The calling process and what it started are left out: the sidecar is a child of the process it watches.
    """
    if os.path.exists(f"{proc}/thread-self/children"):
        return ThreadTree(proc).find
    return ParentTree(proc).find if os.path.exists(f"{proc}/self") else find_portably


class ThreadTree:
    """Finds descendants through `/proc/PID/task/TID/children`, at a cost that does not depend on the host's size.

    Of a process with many threads it reads the leader and a share of the others at each tick, so that a child
    which another thread started may be found some seconds late.
    """

    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc
        self._tick = 0
        self._remembered: dict[int, dict[int, list[int]]] = {}

    def find(self, roots: Sequence[int]) -> tuple[int, ...]:
        """Return the roots and all their descendants."""
        self._tick += 1
        before, self._remembered = self._remembered, {}
        return descend(roots, lambda pid: self._children(pid, before.get(pid, {})))

    def _children(self, pid: int, known: dict[int, list[int]]) -> list[int]:
        threads = list_numbers(f"{self._proc}/{pid}/task")
        shares = -(-len(threads) // THREADS_PER_TICK)
        of_thread = {}
        for turn, thread in enumerate(threads):
            is_due = thread == pid or thread not in known or (turn + self._tick) % shares == 0
            of_thread[thread] = self._children_of_thread(pid, thread) if is_due else known[thread]
        self._remembered[pid] = of_thread
        return [child for children in of_thread.values() for child in children]

    def _children_of_thread(self, pid: int, thread: int) -> list[int]:
        text = read_file(f"{self._proc}/{pid}/task/{thread}/children")
        return [int(word) for word in text.split()] if text else []


class ParentTree:
    """Finds descendants by the parents of all processes, for kernels built without the lists of children.

    A process's parent is read once, when its pid is first seen: a look at every process each second is dear.
    """

    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc
        self._parents: dict[int, int] = {}

    def find(self, roots: Sequence[int]) -> tuple[int, ...]:
        """Return the roots and all their descendants."""
        pids = list_numbers(self._proc)
        self._parents = {pid: parent for pid in pids if (parent := self._parent(pid)) is not None}
        return descend_by_parents(roots, self._parents)

    def _parent(self, pid: int) -> int | None:
        known = self._parents.get(pid)
        if known is not None:
            return known
        stat = read_stat(pid, self._proc)
        return stat.parent if stat else None


def find_portably(roots: Sequence[int]) -> tuple[int, ...]:
    """Return the roots and all their descendants, where there is no /proc."""
    import psutil

    return descend_by_parents(roots, {process.pid: process.info["ppid"] for process in psutil.process_iter(["ppid"])})


def descend_by_parents(roots: Sequence[int], parents: dict[int, int]) -> tuple[int, ...]:
    """Return the roots and all their descendants, given each process's parent."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents.items():
        children.setdefault(parent, []).append(pid)
    return descend(roots, lambda pid: children.get(pid, []))


def descend(roots: Sequence[int], children_of: Callable[[int], Iterable[int]]) -> tuple[int, ...]:
    """Return the roots and all their descendants, each once, without this process and what it started."""
    found = dict.fromkeys(roots)
    waiting = list(roots)
    while waiting:
        new = [child for child in children_of(waiting.pop()) if child not in found and child != os.getpid()]
        found.update(dict.fromkeys(new))
        waiting.extend(new)
    return tuple(found)
