"""Who descends from whom, by the births that Linux announces: also through parents whom nobody met."""

from collections.abc import Collection

MOST_KIN = 4096
MOST_GENERATIONS = 16


class Kinship:
    """The descendants of the followed processes. Pure; births must be told in their order.

    Args:
        followed: the pids from which the families descend; read at each birth, so the owner may change it.
        stranger: a pid whose children are nobody's business: that of the sidecar, which the program may have started.
    """

    def __init__(self, followed: Collection[int], *, stranger: int) -> None:
        self._followed = followed
        self._stranger = stranger
        self._parents: dict[int, int] = {}

    def __contains__(self, pid: int) -> bool:
        return pid in self._parents

    def born(self, child: int, parent: int) -> None:
        """A process began; one that has the pid of a dead relative is no relative for that."""
        self._parents.pop(child, None)
        if parent == self._stranger or not (parent in self._followed or parent in self._parents):
            return
        if parent in self._parents:  # whoever still has children is kept longest
            self._parents[parent] = self._parents.pop(parent)
        self._parents[child] = parent
        while len(self._parents) > MOST_KIN:
            del self._parents[next(iter(self._parents))]

    def ancestors(self, pid: int) -> tuple[int, ...]:
        """Its parent, grandparent and so on up to a followed one; nothing where it is no relative."""
        line: list[int] = []
        while pid in self._parents and len(line) < MOST_GENERATIONS:
            pid = self._parents[pid]
            line.append(pid)
        return tuple(line)
