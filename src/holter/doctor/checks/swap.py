"""Swap is in heavy use already."""

from collections.abc import Iterator

from holter.doctor.amounts import GIB, size
from holter.doctor.machine import Machine

MUCH = 0.8


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Most of it is used: the machine lives beyond its memory."""
    host = machine.host
    used = host.swap_total_bytes - host.swap_free_bytes
    if host.swap_total_bytes >= GIB // 4 and used > MUCH * host.swap_total_bytes:
        what = f"{size(used)} of {size(host.swap_total_bytes)} of swap are used"
        why = (
            "what a training needs comes from the disk then: steps take a hundred times as long, and"
            " what comes next is killed"
        )
        yield what, why, "`ps aux --sort -rss | head` names who holds the memory; end what is not needed"
