"""The memories that a run can fill, each with what it holds at most."""

from collections.abc import Iterator

import msgspec

from holter.guards.seen import Seen
from holter.model.amounts import size

LEVELS = range(8)
GPUS = range(16)


class Pool(msgspec.Struct, frozen=True, kw_only=True):
    """One memory at this moment. What Linux can give back at once does not count as used."""

    subject: str
    arrives: str
    """For people, in front of a time: `memory will reach its 8.0 GiB limit`."""
    used_bytes: float
    capacity_bytes: float
    series: str
    """The key under which the page finds its curve."""
    is_shared: bool = False
    """Others than this run may fill it."""


def pools_of(seen: Seen) -> Iterator[Pool]:
    """All that have a limit, as far as they can be read."""
    for pool in (*_cgroups(seen), *_host(seen), *_gpus(seen), *_shared(seen)):
        if pool.used_bytes == pool.used_bytes and pool.capacity_bytes > 0:
            yield pool


def _cgroups(seen: Seen) -> Iterator[Pool]:
    """Each counts what is in it once, however many of its processes share it."""
    for level in LEVELS:
        name = f"system/cgroup/{level}"
        if f"{name}/limit_bytes" not in seen.row:
            continue
        limit = seen.last(f"{name}/limit_bytes")
        # What was read twice is active, and Linux gives it back all the same before it ends anybody.
        cached = [seen.last(f"{name}/{kind}_file_bytes") for kind in ("inactive", "active")]
        whose = "its" if level == 0 else "the outer container's"
        yield Pool(
            subject=f"cgroup/{level}",
            arrives=f"memory will reach {whose} {_size(limit)} limit",
            used_bytes=seen.last(f"{name}/usage_bytes") - sum(each for each in cached if each == each),
            capacity_bytes=limit,
            series=f"{name}/usage_bytes",
            is_shared=level > 0,
        )


def _host(seen: Seen) -> Iterator[Pool]:
    total, swap = seen.last("system/host/memory_total_bytes"), seen.last("system/host/swap_total_bytes")
    swap = swap if swap == swap else 0.0
    swapped = swap - seen.last("system/host/swap_free_bytes") if swap else 0.0
    yield Pool(
        subject="host",
        arrives=f"the machine's memory{' and swap' if swap else ''} ({_size(total + swap)}) will be full",
        used_bytes=total - seen.last("system/host/memory_available_bytes") + swapped,
        capacity_bytes=total + swap,
        series="system/host/memory_available_bytes",
        is_shared=True,
    )


def _gpus(seen: Seen) -> Iterator[Pool]:
    for index in GPUS:
        name = f"system/gpu/{index}"
        if f"{name}/memory_total_bytes" not in seen.row:
            return
        own = seen.last(f"{name}/tree_memory_bytes")
        if own == 0:  # somebody else's GPU
            continue
        total = seen.last(f"{name}/memory_total_bytes")
        yield Pool(
            subject=f"gpu/{index}",
            arrives=f"the memory of GPU {index} ({_size(total)}) will be full",
            used_bytes=seen.last(f"{name}/memory_used_bytes"),
            capacity_bytes=total,
            series=f"{name}/memory_used_bytes",
        )


def _size(count: float) -> str:
    return size(count) if count == count else ""


def _shared(seen: Seen) -> Iterator[Pool]:
    total = seen.last("system/disk/shm/total_bytes")
    yield Pool(
        subject="shm",
        arrives=f"/dev/shm ({_size(total)}) will be full",
        used_bytes=total - seen.last("system/disk/shm/free_bytes"),
        capacity_bytes=total,
        series="system/disk/shm/free_bytes",
    )
