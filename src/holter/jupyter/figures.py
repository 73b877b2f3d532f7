"""How much memory a kernel holds, on the host and on GPUs, against the limit that really holds."""

from collections.abc import Iterator, Mapping

import msgspec

from holter.probes.loading import load_probes
from holter.probes.sampler import Sampler
from holter.probes.tree import open_tree

SOURCES = ("process", "cgroup", "host", "gpu")
MOST_LEVELS = 8
NEAR, CRITICAL = 0.8, 0.92
"""From these shares of a limit on, a kernel is near to its end."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """What is taken of something that is limited."""

    used_bytes: int
    """By all that count against the limit, the kernel among them."""
    limit_bytes: int
    of: str
    """`container` (a cgroup's limit), `machine`, or `GPU 0`."""
    kernel_bytes: int | None = None
    """By the kernel and what it started; None where nobody can tell."""

    @property
    def share(self) -> float:
        """Of the limit."""
        return self.used_bytes / self.limit_bytes if self.limit_bytes else 0.0


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The memory of one kernel at one moment."""

    kernel_bytes: int
    """Resident memory of the kernel and all that it started."""
    processes: int
    memory: Usage | None
    """The limit with the least room; None where nobody can look."""
    gpus: tuple[Usage, ...]
    """Those that the kernel holds memory of."""
    level: str
    """`ok`, `near` or `critical`, by the one that is fullest."""


class KernelFigures:
    """Looks at one kernel after the other. Used by one thread; closed by who made it."""

    def __init__(self) -> None:
        self._samplers: dict[int, Sampler] = {}

    def look(self, pid: int) -> Figures:
        """Takes some milliseconds. Never raises: what can't be read is missing."""
        sampler = self._samplers.get(pid)
        if sampler is None:
            probes = {name: probe for name, probe in load_probes().items() if name in SOURCES}
            sampler = self._samplers[pid] = Sampler(probes, open_tree())
        return figures_of({name: value for name, value in sampler.sample([pid], "/").items() if value == value})

    def forget_all_but(self, pids: frozenset[int]) -> None:
        """Close what was opened for kernels that are gone."""
        for pid in self._samplers.keys() - pids:
            self._samplers.pop(pid).close()


def figures_of(row: Mapping[str, float | int]) -> Figures:
    """What a sample says; what nobody could read is not in it. Pure."""
    held = int(row.get("system/process/rss_bytes", 0))
    limits = [*_cgroups(row), *_host(row)]
    memory = min(limits, key=lambda usage: usage.limit_bytes - usage.used_bytes, default=None)
    if memory is not None:
        memory = msgspec.structs.replace(memory, kernel_bytes=held)
    gpus = tuple(_gpus(row))
    fullest = max((usage.share for usage in (memory, *gpus) if usage is not None), default=0.0)
    return Figures(
        kernel_bytes=held,
        processes=int(row.get("system/process/processes", 0)),
        memory=memory,
        gpus=gpus,
        level="critical" if fullest >= CRITICAL else "near" if fullest >= NEAR else "ok",
    )


def _cgroups(row: Mapping[str, float | int]) -> Iterator[Usage]:
    for level in range(MOST_LEVELS):
        name = f"system/cgroup/{level}"
        limit, usage = row.get(f"{name}/limit_bytes"), row.get(f"{name}/usage_bytes")
        if limit is not None and usage is not None:
            # Files that the kernel only keeps at hand go before anybody is killed.
            used = max(0, int(usage - row.get(f"{name}/inactive_file_bytes", 0)))
            yield Usage(used_bytes=used, limit_bytes=int(limit), of="container")


def _host(row: Mapping[str, float | int]) -> Iterator[Usage]:
    total, available = row.get("system/host/memory_total_bytes"), row.get("system/host/memory_available_bytes")
    if total and available is not None:
        yield Usage(used_bytes=int(total - available), limit_bytes=int(total), of="machine")


def _gpus(row: Mapping[str, float | int]) -> Iterator[Usage]:
    names = sorted(
        key.split("/")[2] for key in row if key.startswith("system/gpu/") and key.endswith("/memory_total_bytes")
    )
    for index in names:
        name = f"system/gpu/{index}"
        total, used = row[f"{name}/memory_total_bytes"], row.get(f"{name}/memory_used_bytes")
        own = row.get(f"{name}/tree_memory_bytes")
        if used is not None and own != 0:
            held = int(own) if own is not None else None
            yield Usage(used_bytes=int(used), limit_bytes=int(total), of=f"GPU {index}", kernel_bytes=held)
