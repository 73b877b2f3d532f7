"""What worker processes are to get can't be handed to them, or is too large to be."""

from collections.abc import Iterator

from holter.doctor.amounts import size
from holter.doctor.machine import Machine

FORK = "fork"


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Only where workers are not forked, and so get what they need pickled."""
    room = machine.limits.memory_bytes or machine.host.memory_available_bytes
    for each in machine.workers:
        if each.method == FORK:
            continue
        if each.trouble:
            what = f"{each.name} can't be pickled: {each.trouble}"
            why = f"workers are started by {each.method or 'spawn'} here, and get it pickled: the first epoch fails"
            yield (
                what,
                why,
                "use functions and classes of a module, not lambdas or local ones; open files in the worker",
            )
        elif room and each.pickled_bytes * each.workers > room:
            more = "more than " if each.is_cut else ""
            total = size(each.pickled_bytes * each.workers)
            what = (
                f"{each.name} takes {more}{size(each.pickled_bytes)}, and {each.workers} workers get a"
                f" copy each: {total}"
            )
            yield (
                what,
                f"{size(room)} of memory are there",
                "keep paths and open files in the worker, or share arrays (numpy.memmap)",
            )
