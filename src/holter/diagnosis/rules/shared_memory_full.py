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
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies.limits import file_descriptor_sharing
from holter.diagnosis.remedies.memory import fewer_workers, larger_shm, smaller_batch
from holter.diagnosis.texts import foreign_text, line_near_end
from holter.model.evidence import Caught, Disk, Evidence
from holter.model.verdicts import Answer, Fact, Grade, Verdict

CAUSE = "shared-memory-full"
ADVICE = (larger_shm, fewer_workers, smaller_batch, file_descriptor_sharing)
CURVES = ("disk-shm",)
MAPPED, MAPPED_UNSEEN, NUMBER, SAID_AND_SEEN, SAID, UNSEEN = NAMED, CONSISTENT, COUNTED, COUNTED, CONSISTENT, LIKELY
MAPPED_WITH_ROOM = REMOTE
"""Then the block was rather made shorter."""
MUCH_BYTES = 2**31
LITTLE = 0.05
"""Of it left: a write that fails gives up what it had taken."""
_SHARED = ("/dev/shm/", "/memfd:", "/SYSV", "/torch_")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on a bus error in a shared mapping, or on an exception about shared memory."""
    ending = ending_of(evidence)
    if ending is not None:
        return _by_signal(evidence, ending)
    raised = evidence.subject.raised
    if raised is None:
        return None
    disk = _full(evidence)
    fact = facts.of_exception(raised, is_type_decisive=False)
    if says(foreign_text(raised), "shared-memory-refused"):
        return _verdict(evidence, disk, SAID_AND_SEEN if disk else SAID, [fact])
    number = errnos.find_errno(raised, errno.ENOSPC, errno.ENOMEM)
    if number is not None and spaces.path_of(raised).startswith("/dev/shm"):
        return _verdict(evidence, disk, NUMBER if number.is_sure else SAID, [facts.of_exception(raised)])
    return None


def _by_signal(evidence: Evidence, ending: Ending) -> Answer:
    if ending.signal != signal.SIGBUS or ending.is_sent:
        return None
    disk = _full(evidence)
    line = line_near_end(evidence, "shared-memory-refused")
    if ending.caught is None:
        found = [facts.of_status(evidence.subject), *([facts.of_console(line)] if line else [])]
        return _verdict(evidence, disk, UNSEEN, found) if disk or line else None
    if not any(part in ending.caught.mapping for part in _SHARED) or ending.caught.code != 2:
        return None
    grade = MAPPED if disk else MAPPED_WITH_ROOM if _had_room(evidence, ending.caught) else MAPPED_UNSEEN
    return _verdict(evidence, disk, min(grade, ending.certainty), [facts.of_signal(ending.caught)])


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


def _verdict(evidence: Evidence, disk: Disk | None, grade: Grade, found: list[Fact], /) -> Verdict:
    end = evidence.subject
    size = f" of {words.size(disk.total_bytes)}" if disk and disk.total_bytes else ""
    seen = [facts.of_disk(disk, end.raised.at_ns if end.raised else end.at_ns)] if disk else []
    because = dict.fromkeys([*found, *seen, facts.of_status(end)])
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=words.sentence(
            f"the shared memory{size} in /dev/shm was used up, and {words.process(end)} could not go on"
        ),
        because=tuple(because)[:5],
    )
