"""A file system that the program writes to is full: no bytes, no inodes, or the quota is used up.

Libraries hide it: on a full disk `torch.save` complains of an `unexpected pos`, and `numpy.save` of bytes that were
requested and not written; neither mentions space.

Free space or inodes (old checkpoints, caches), keep fewer checkpoints, or write to another file system.
"""

import errno
from collections.abc import Sequence

from holter.diagnosis import errnos, facts, spaces, texts, words
from holter.diagnosis.causality.ends import WITHOUT_CLIENT, left_with
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED, OPEN, UNLIKELY
from holter.diagnosis.phrases.tags import says, tags_in
from holter.diagnosis.remedies import limits, outside
from holter.model.evidence import Disk, Evidence, Said
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

ADVICE = (
    limits.free_space,
    "keep only the last few checkpoints (save_total_limit, keep_last), or write them to another file system",
    outside.resume,
)
CURVES = ("disk",)
CHILD_WITHIN_S = 10.0


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the error number, or on a failed write while a file system was full."""
    raised = evidence.subject.raised
    if raised is None:
        return _by_signal(evidence) or _by_output(evidence) or _by_silence(evidence)
    text = texts.foreign_text(raised)
    if says(text, "command-failed"):
        own = facts.of_exception(raised, is_type_decisive=False)  # its own words went past us
        return _by_output(evidence) or _where_it_was_to_write(evidence, "argument", own)
    if errnos.find_errno(raised, errno.EPIPE):
        return _by_reader(evidence, raised)
    if says(text, "no-disk") or spaces.path_of(raised).startswith("/dev/shm"):
        return None
    return _by_exception(evidence, raised, text)


def _by_exception(evidence: Evidence, raised: Raised, text: str, /) -> Answer:
    found = errnos.find_errno(raised, errno.ENOSPC, errno.EDQUOT)
    wanted = tags_in(text).get("bytes-to-write")
    disk = spaces.full_disk(evidence, spaces.path_of(raised), wanted_bytes=int(wanted[1]) if wanted else 0)
    is_elsewhere = disk is None and bool(spaces.disks(evidence)) and evidence.subject.role not in WITHOUT_CLIENT
    if found is None and says(text, "database-full") and is_elsewhere:
        return RuledOut(because=f"the database says that it or the disk is full, and {_room(evidence)}")
    if found is not None or says(text, "disk-full"):
        is_sure = found is not None and found.is_sure
        grade = NAMED if disk else COUNTED if is_sure else CONSISTENT
        return _verdict(evidence, disk, grade, facts.of_exception(raised, is_type_decisive=is_sure))
    if errnos.find_errno(raised, errno.EFBIG):
        return RuledOut(because="the file size limit was reached (EFBIG), not the end of the disk")
    if not says(text, "write-failed"):
        return None
    if is_elsewhere:
        return RuledOut(because=f"a write failed, but {_room(evidence)}")
    grade = COUNTED if disk else INFERRED
    return _verdict(evidence, disk, grade, facts.of_exception(raised, is_type_decisive=False))


def _by_signal(evidence: Evidence) -> Verdict | None:
    """A write into a mapped file for which the disk has no block."""
    ending = ending_of(evidence)
    if ending is None or ending.signal != 7 or ending.caught is None or ending.caught.is_sent:
        return None
    disk = spaces.mapped_disk(evidence, facts.map_path(ending.caught))
    if disk is None or not spaces.has_no_room(disk) or spaces.is_shared(disk) or spaces.is_cut(disk, ending.caught):
        return None
    return _verdict(evidence, disk, min(COUNTED, ending.certainty), facts.of_signal(ending.caught))


def _by_output(evidence: Evidence, *more: Fact | None, least: Grade = INFERRED) -> Verdict | None:
    """A command, or a process of which only the console is known, that failed after saying so."""
    raised = evidence.subject.raised
    if not left_with(evidence.subject) and raised is None:
        return None
    own = raised.traceback + raised.message if raised else ""
    near = [line for line in texts.lines_near_end(evidence) if texts.may_be_error(evidence, line)]
    said = [line for line in near if line.text.strip() not in own]
    line = _first("disk-full", said) or _first("write-failed", said)
    if line is None or says(line.text, "no-disk"):
        return None
    disk = spaces.full_disk(evidence)
    grade = COUNTED if disk else LIKELY if says(line.text, "disk-full") else INFERRED
    return _verdict(evidence, disk, max(grade, least), facts.of_console(line), *more)


def _first(tag: str, lines: Sequence[Said]) -> Said | None:
    return next((line for line in lines if says(line.text, tag)), None)


def _by_reader(evidence: Evidence, raised: Raised) -> Verdict | None:
    """Who writes into a pipe hears that nobody reads it any more; why, only the reader has said, before it left."""
    near = [each for each in evidence.children if abs(raised.at_ns - each.at_ns) / 1e9 <= CHILD_WITHIN_S]
    failed = next((child for child in near if child.code), None)
    if failed is not None:
        return _by_output(evidence, facts.of_status(failed), least=CONSISTENT)
    return None if evidence.is_watched else _by_output(evidence)


def _by_silence(evidence: Evidence) -> Verdict | None:
    """A command that failed, and that printed into a file on a disk without room: its own words were lost there."""
    end = evidence.subject
    is_command = end.role in WITHOUT_CLIENT and end.role != "child"
    return _where_it_was_to_write(evidence, "output") if end.code and is_command else None


def _where_it_was_to_write(evidence: Evidence, what: str, /, *found: Fact | None) -> Verdict | None:
    """A command that failed, and that was to write where there was no room."""
    given = [each for each in spaces.disks(evidence) if each.what == what and not spaces.is_shared(each)]
    disk = next((each for each in given if spaces.has_no_room(each)), None)
    return _verdict(evidence, disk, LIKELY, *found) if disk else None


def _verdict(evidence: Evidence, disk: Disk | None, grade: Grade, /, *found: Fact | None) -> Verdict:
    end = evidence.subject
    path = (spaces.path_of(end.raised) if end.raised else "") or (disk.path if disk else "")
    where = words.told(" of {}", path)
    left = f" ({words.size(disk.free_bytes)} left)" if disk and disk.free_bytes is not None else ""
    title = f"the file system{where} was full{left}, and a write failed"
    if errnos.find_errno(end.raised, errno.EDQUOT):
        title = f"the disk quota{where} was used up"
    elif disk and spaces.is_out_of_inodes(disk) and not spaces.is_full(disk):
        title = f"the file system{where} had no inodes left for another file, though it had space"
    first, *more = found or [None]
    return Verdict(grade, title, [first, facts.of_disk(disk, facts.when(end)), facts.of_status(end), *more])


def _room(evidence: Evidence) -> str:
    known = [each for each in spaces.disks(evidence) if each.free_bytes is not None and not spaces.is_shared(each)]
    least = min(known, key=lambda each: each.free_bytes or 0, default=None)
    return f"{words.size(least.free_bytes or 0)} was free at {least.path}" if least else "no file system was full"


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program may say it at its end and nobody looked; a failed command, or native code that leaves by itself,
    says so on a console that nobody kept."""
    end = evidence.subject
    if verdict.is_vague and texts.says_at_its_end(evidence, "room-lacking"):
        return OPEN
    if evidence.said or not verdict.is_vague:
        return None
    is_of_a_command = end.raised is not None and "CalledProcessError" in texts.type_names(end.raised)
    has_left_unseen = verdict.cause == "nonzero-exit" and end.finished is None
    return UNLIKELY if is_of_a_command or has_left_unseen else None
