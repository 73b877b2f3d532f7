"""A limit of the shell (`ulimit`) that a training runs into."""

from collections.abc import Iterator

from holter.doctor.amounts import GIB, MIB, size
from holter.doctor.machine import Machine

FEW_FILES, FEW_PROCESSES = 1024, 256
SMALL_STACK = MIB
HARD = "where that is refused: /etc/security/limits.conf, or whoever runs the machine"


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Files, processes, address space, file size, CPU time, stack."""
    limits = machine.limits

    def soft(name: str) -> int | None:
        return limits.ulimits.get(name, (None, None))[0]

    files, space, length = soft("open_files"), soft("address_space"), soft("file_size")
    seconds, stack = soft("cpu_time"), soft("stack_size")
    if files is not None and files < FEW_FILES:
        why = "each data-loader worker holds a file for each tensor that it hands over: «Too many open files»"
        yield f"this process may open {files} files", why, f"ulimit -n 65536; {HARD}"
    if space is not None:
        what = f"this process may map {size(space)} of address space (ulimit -v)"
        why = "CUDA and mapped files take far more addresses than memory: allocations are refused with memory to spare"
        yield what, why, f"ulimit -v unlimited; {HARD}"
    if length is not None and length < 64 * GIB:
        why = "a checkpoint that grows beyond it ends the program with SIGXFSZ, and is cut"
        yield f"a file may have {size(length)} (ulimit -f)", why, f"ulimit -f unlimited; {HARD}"
    if seconds is not None:
        what = f"this process may use {seconds} s of CPU time (ulimit -t)"
        why = "all threads count: Linux ends it with SIGXCPU, or SIGKILL, when they are used up"
        yield what, why, f"ulimit -t unlimited; {HARD}"
    if stack is not None and stack < SMALL_STACK:
        why = "native code and deep models overflow it: a segmentation fault"
        yield f"the stack may have {size(stack)} (ulimit -s)", why, f"ulimit -s 8192; {HARD}"
    yield from _processes(machine)


def _processes(machine: Machine) -> Iterator[tuple[str, str, str]]:
    limits, why = (
        machine.limits,
        "workers and the threads of numpy count: «Resource temporarily unavailable», or a hang",
    )
    soft = limits.ulimits.get("processes", (None, None))[0]
    if soft is not None and soft < FEW_PROCESSES:
        yield f"this user may have {soft} processes and threads (ulimit -u)", why, f"ulimit -u 4096; {HARD}"
    if limits.processes is not None and limits.processes - (limits.processes_used or 0) < FEW_PROCESSES:
        left = max(0, limits.processes - (limits.processes_used or 0))
        what = (
            f"{left} more processes and threads may be started in this container or job (pids.max {limits.processes})"
        )
        yield what, why, "docker run --pids-limit=-1; podPidsLimit in Kubernetes"
