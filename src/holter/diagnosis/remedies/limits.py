"""Remedies against limits: disks, open files, processes, time, the stack."""

from holter.diagnosis import words
from holter.diagnosis.remedies.particulars import stating, where_used
from holter.diagnosis.spaces import disks
from holter.model.evidence import Evidence

file_descriptor_sharing = where_used(
    "torch.multiprocessing.set_sharing_strategy('file_system') shares tensors without keeping a file open for each",
    "torch",
)
fewer_threads = stating(
    "threads_limit",
    "set OMP_NUM_THREADS=1 in the workers, or raise the limit on processes{now}: ulimit -u, or pids.max",
)
raise_file_size = stating("file_size_limit_bytes", "lift the file size limit{now}: ulimit -f unlimited")
raise_stack = stating(
    "stack_limit_bytes",
    "turn the recursion into a loop, or raise the stack{now}: ulimit -s, threading.stack_size() for threads",
)


def more_open_files(evidence: Evidence) -> str:
    """The limit of open files can be raised by the user."""
    limit = evidence.around.open_files_limit
    now = words.told(" (now {:,})", limit)
    return f"raise the limit in the shell that starts it{now}: ulimit -n {max(65536, 4 * (limit or 0))}"


def close_files(evidence: Evidence) -> str:
    """Files that nobody closes add up."""
    held = words.told(": {:,} were open", evidence.around.open_files or None)
    return f"open files in a with block, so that they get closed{held}"


def free_space(evidence: Evidence) -> str:
    """Make room where there is none."""
    disk = min(
        (each for each in disks(evidence) if each.free_bytes is not None and each.what != "shared memory"),
        key=lambda each: each.free_bytes or 0,
        default=None,
    )
    if disk is not None and disk.free_inodes == 0:
        return f"delete or pack small files on the file system of {disk.path}: it has no inodes left"
    where = f" on the file system of {disk.path} ({words.size(disk.free_bytes or 0)} free)" if disk else ""
    return f"free space{where}: delete old checkpoints and caches"


def raise_cpu_time(evidence: Evidence) -> str:
    """The limit counts the seconds of all cores."""
    now = words.told(" of {:,} s", evidence.around.cpu_limit_s)
    return f"lift the CPU time limit{now}: ulimit -t unlimited (login nodes set one: run it as a job)"
