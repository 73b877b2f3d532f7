"""Little memory is left, under the limit of the container or job, or on the machine."""

from collections.abc import Iterator

from holter.doctor.amounts import GIB, size
from holter.doctor.machine import Machine

SMALL_BYTES = 4 * GIB
TIMES_LARGER = 4
LITTLE_LEFT = GIB // 2
ASK = "ask for more: --memory of Docker, resources.limits.memory of Kubernetes, --mem of SLURM"


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """A limit that is nearly reached, a small one that programs do not see, and a machine that has nothing left."""
    limit, used = machine.limits.memory_bytes, machine.limits.memory_used_bytes
    total, available = machine.host.memory_total_bytes, machine.host.memory_available_bytes
    if limit is not None and used is not None and limit - used < LITTLE_LEFT:
        what = (
            f"{size(max(0, limit - used))} are left of the {size(limit)} of memory that this container or job may take"
        )
        yield what, "Linux kills a process of it, without a message, as soon as they are gone", ASK
    elif limit is not None and total and limit <= SMALL_BYTES and total >= TIMES_LARGER * limit:
        what = f"the memory limit here (cgroup) is {size(limit)}; `free`, psutil and most libraries see {size(total)}"
        why = "caches and batches that are sized by what the machine has are killed by the limit, without a message"
        yield what, why, ASK
    if available is not None and available < LITTLE_LEFT:
        what = f"{size(available)} of memory are left on this machine"
        yield (
            what,
            "Linux kills the largest process, without a message",
            "`ps aux --sort -rss | head` names who holds it",
        )
