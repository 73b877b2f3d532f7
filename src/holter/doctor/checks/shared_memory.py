"""`/dev/shm` is too small for data-loader workers, or full of what dead programs left."""

from collections.abc import Iterator

from holter.doctor.amounts import MIB, size
from holter.doctor.machine import Machine

SMALL_BYTES = 128 * MIB
"""Docker gives 64 MiB."""
LITTLE_SHARE = 0.1
USERS = ("torch", "tensorflow", "jax", "ray")


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Only where something is installed that uses it."""
    shared = machine.shared_memory
    if shared is None or not any(machine.environment.version_of(name) for name in USERS):
        return
    why = "batches of data-loader workers and NCCL's buffers lie there: a full one ends them with a bus error"
    if shared.total_bytes <= SMALL_BYTES:
        fix = "docker run --shm-size=8g (or --ipc=host); in Kubernetes an emptyDir with medium: Memory at /dev/shm"
        yield f"/dev/shm has {size(shared.total_bytes)}", why, fix
    elif shared.free_bytes < LITTLE_SHARE * shared.total_bytes:
        what = f"/dev/shm is nearly full: {size(shared.free_bytes)} of {size(shared.total_bytes)} are free"
        left = f"; {size(shared.left_bytes)} in {shared.left_files} files are of programs that are gone"
        fix = "rm what is left of dead programs: ls -lt /dev/shm"
        yield what + (left if shared.left_files else ""), f"{why}; it counts as memory, too", fix
