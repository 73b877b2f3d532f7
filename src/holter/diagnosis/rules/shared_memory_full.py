"""The shared memory in /dev/shm was used up; data loaders hand their batches over through it.

A container has 64 MiB of it unless somebody asks for more. The program gets an exception, or SIGBUS in the middle of a
copy when a page that was promised can't be had.

Start the container with `--shm-size=8g` or `--ipc=host`, or use fewer workers and smaller batches.
"""

import errno
import signal

from holter.diagnosis import errnos, facts, spaces, words
from holter.diagnosis.endings import Ending, ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, LIKELY, NAMED, REMOTE
from holter.diagnosis.remedies import limits, memory
from holter.diagnosis.texts import in_exception, line_near_end
from holter.model.evidence import Caught, Disk, Evidence
from holter.model.verdicts import Answer, Fact, Grade, Verdict

ADVICE = (memory.larger_shm, memory.fewer_workers, memory.smaller_batch, limits.file_descriptor_sharing)
CURVES = ("disk-shm",)
MUCH_BYTES = 2**31
LITTLE = 0.05
"""Of it left: a write that fails gives up what it had taken."""
_SHARED = ("/dev/shm/", "/memfd:", "/SYSV", "/torch_")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on a bus error in a shared mapping, or on an exception about shared memory."""
    ending, raised, disk = ending_of(evidence), evidence.subject.raised, _full(evidence)
    if ending is not None:
        return _by_signal(evidence, ending, disk)
    if raised is None:
        return None
    if in_exception(evidence, "shared-memory-refused") and not in_exception(evidence, "too-many-files"):
        said = facts.of_exception(raised, is_type_decisive=False)
        return _verdict(evidence, disk, COUNTED if disk else CONSISTENT, said)
    number = errnos.find_errno(raised, errno.ENOSPC, errno.ENOMEM)
    if number is None or not spaces.path_of(raised).startswith("/dev/shm"):
        return None
    return _verdict(evidence, disk, COUNTED if number.is_sure else CONSISTENT, facts.of_exception(raised))


def _by_signal(evidence: Evidence, ending: Ending, disk: Disk | None, /) -> Answer:
    if ending.signal != signal.SIGBUS or ending.is_sent:
        return None
    if ending.caught is None:
        line = line_near_end(evidence, "shared-memory-refused")
        found = (facts.of_status(evidence.subject), facts.of_console(line))
        return _verdict(evidence, disk, LIKELY, *found) if disk or line else None
    if not any(part in ending.caught.mapping for part in _SHARED) or ending.caught.code != 2:
        return None
    # Where there is room, the block was rather made shorter.
    unseen = REMOTE if _had_room(evidence, ending.caught) else CONSISTENT
    return _verdict(evidence, disk, min(NAMED if disk else unseen, ending.certainty), facts.of_signal(ending.caught))


def _had_room(evidence: Evidence, caught: Caught) -> bool:
    """Far more was free when somebody last looked than the mapping could take, or anybody so soon."""
    disk = spaces.shared_memory(evidence)
    start, _, end = caught.mapping.split(" ")[0].partition("-")
    if disk is None or disk.free_bytes is None or not end:
        return False
    return disk.free_bytes >= max(MUCH_BYTES, 10 * (int(end, 16) - int(start, 16)))


def _full(evidence: Evidence) -> Disk | None:
    disk = spaces.shared_memory(evidence)
    if disk is None or disk.free_bytes is None:
        return None
    return disk if spaces.is_full(disk) or disk.free_bytes < LITTLE * (disk.total_bytes or 0) else None


def _verdict(evidence: Evidence, disk: Disk | None, grade: Grade, /, *found: Fact | None) -> Verdict:
    end = evidence.subject
    size = words.sized(" of {}", disk.total_bytes if disk else None)
    title = f"the shared memory{size} in /dev/shm was used up, and {words.process(end)} could not go on"
    return Verdict(grade, title, [*found, facts.of_disk(disk, facts.when(end)), facts.of_status(end)])
