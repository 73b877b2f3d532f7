"""What a run needed at most by phase, and what holter cost it; every attempt and host together."""

from collections.abc import Iterable

import msgspec

from holter.journal.digest import Digest
from holter.model.spending import Peak, Spent


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """Of watching a run."""

    cpu_s: float
    wall_s: float

    @property
    def share(self) -> float:
        """Of one core."""
        return self.cpu_s / self.wall_s if self.wall_s > 0 else 0.0


def peaks(digests: Iterable[Digest]) -> list[Peak]:
    """The highest of each memory and phase, the highest first."""
    highest: dict[tuple[str, str], Peak] = {}
    for spent in _all(digests):
        for each in spent.peaks:
            known = highest.get((each.memory, each.phase))
            if known is None or known.bytes < each.bytes:
                highest[each.memory, each.phase] = each
    return sorted(highest.values(), key=lambda each: (each.memory != "host", each.memory, -each.bytes))


def cost(digests: Iterable[Digest]) -> Cost | None:
    """None where nobody has counted."""
    found = _all(digests)
    if not found:
        return None
    return Cost(cpu_s=sum(each.cpu_s for each in found), wall_s=sum(each.wall_s for each in found))


def _all(digests: Iterable[Digest]) -> list[Spent]:
    return [each.spent for each in digests if each.spent is not None]
