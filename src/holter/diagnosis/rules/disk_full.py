"""A file system that the program writes to is full: no bytes, no inodes, or the quota is used up.

Libraries hide it: on a full disk `torch.save` complains of an `unexpected pos`, and `numpy.save` of bytes that were
requested and not written; neither mentions space.

Free space or inodes (old checkpoints, caches), keep fewer checkpoints, or write to another file system.
"""

import errno
from collections.abc import Sequence

import msgspec

from holter.diagnosis import errnos, facts, spaces, words
from holter.diagnosis.causality.ends import WITHOUT_CLIENT, left_with
from holter.diagnosis.endings import ending_of
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED
from holter.diagnosis.phrases.tags import says, tags_in
from holter.diagnosis.remedies.limits import free_space
from holter.diagnosis.remedies.outside import resume
from holter.diagnosis.rivals import OPEN, UNLIKELY
from holter.diagnosis.texts import foreign_text, lines_near_end, may_be_error, says_at_its_end, type_names
from holter.model.evidence import Disk, Evidence, Said
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

CAUSE = "disk-full"
ADVICE = (
    free_space,
    "keep only the last few checkpoints (save_total_limit, keep_last), or write them to another file system",
    resume,
)
CURVES = ("disk",)
FULL = (errno.ENOSPC, errno.EDQUOT)
SEEN, BY_NUMBER, HIDDEN, HIDDEN_UNSEEN, BY_WORDS, PRINTED = NAMED, COUNTED, COUNTED, INFERRED, CONSISTENT, LIKELY
GIVEN, SAID_BY_A_CHILD = LIKELY, CONSISTENT
CHILD_WITHIN_S = 10.0


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the error number, or on a failed write while a file system was full."""
    raised = evidence.subject.raised
    if raised is None:
        return _by_signal(evidence) or _by_output(evidence) or _by_silence(evidence)
    text = foreign_text(raised)
    if says(text, "command-failed"):
        return _by_output(evidence) or _by_argument(evidence, raised)
    if errnos.find_errno(raised, errno.EPIPE):
        return _by_reader(evidence, raised)
    if says(text, "no-disk") or spaces.path_of(raised).startswith("/dev/shm"):
        return None
    found = errnos.find_errno(raised, *FULL)
    wanted = tags_in(text).get("bytes-to-write")
    disk = spaces.full_disk(evidence, spaces.path_of(raised), wanted_bytes=int(wanted[1]) if wanted else 0)
    if found is None and says(text, "database-full") and disk is None and _was_looked_at(evidence):
        return RuledOut(cause=CAUSE, because=f"the database says that it or the disk is full, and {_room(evidence)}")
    if found is not None or says(text, "disk-full"):
        is_sure = found is not None and found.is_sure
        grade = SEEN if disk else BY_NUMBER if is_sure else BY_WORDS
        return _verdict(evidence, disk, grade, [facts.of_exception(raised, is_type_decisive=is_sure)])
    if errnos.find_errno(raised, errno.EFBIG):
        return RuledOut(cause=CAUSE, because="the file size limit was reached (EFBIG), not the end of the disk")
    if not says(text, "write-failed"):
        return None
    if disk is None and _was_looked_at(evidence):
        return RuledOut(cause=CAUSE, because=f"a write failed, but {_room(evidence)}")
    grade = HIDDEN if disk else HIDDEN_UNSEEN
    return _verdict(evidence, disk, grade, [facts.of_exception(raised, is_type_decisive=False)])


def _was_looked_at(evidence: Evidence) -> bool:
    """The file systems in use, at the moment of the exception."""
    return bool(spaces.disks(evidence)) and evidence.subject.role not in WITHOUT_CLIENT


def _by_signal(evidence: Evidence) -> Verdict | None:
    """A write into a mapped file for which the disk has no block."""
    ending = ending_of(evidence)
    if ending is None or ending.signal != 7 or ending.caught is None or ending.caught.is_sent:
        return None
    path = facts.map_path(ending.caught)
    disk = spaces.mapped_disk(evidence, path)
    if disk is None or not spaces.has_no_room(disk) or spaces.is_shared(disk) or spaces.is_cut(disk, ending.caught):
        return None
    return _verdict(evidence, disk, min(HIDDEN, ending.certainty), [facts.of_signal(ending.caught)])


def _by_output(evidence: Evidence) -> Verdict | None:
    """A command, or a process of which only the console is known, that failed after saying so."""
    raised = evidence.subject.raised
    if not left_with(evidence.subject) and raised is None:
        return None
    own = raised.traceback + raised.message if raised else ""
    said = [line for line in lines_near_end(evidence) if line.text.strip() not in own and may_be_error(evidence, line)]
    line = _first("disk-full", said) or _first("write-failed", said)
    if line is None or says(line.text, "no-disk"):
        return None
    disk = spaces.full_disk(evidence)
    unseen = PRINTED if says(line.text, "disk-full") else HIDDEN_UNSEEN
    return _verdict(evidence, disk, COUNTED if disk else unseen, [facts.of_console(line)])


def _first(tag: str, lines: Sequence[Said]) -> Said | None:
    return next((line for line in lines if says(line.text, tag)), None)


def _by_reader(evidence: Evidence, raised: Raised) -> Verdict | None:
    """Who writes into a pipe hears that nobody reads it any more; why, only the reader has said, before it left."""
    near = [each for each in evidence.children if abs(raised.at_ns - each.at_ns) / 1e9 <= CHILD_WITHIN_S]
    failed = next((child for child in near if child.code), None)
    if failed is None and evidence.is_watched:
        return None
    told = _by_output(evidence)
    if told is None or failed is None:
        return told
    grade = max(told.grade, SAID_BY_A_CHILD)
    return msgspec.structs.replace(told, grade=grade, because=(*told.because, facts.of_status(failed)))


def _by_silence(evidence: Evidence) -> Verdict | None:
    """A command that failed, and that printed into a file on a disk without room: its own words were lost there."""
    end = evidence.subject
    printed = [each for each in spaces.disks(evidence) if each.what == "output" and not spaces.is_shared(each)]
    disk = next((each for each in printed if spaces.has_no_room(each)), None)
    if disk is None or not end.code or end.role not in WITHOUT_CLIENT or end.role == "child":
        return None
    return _verdict(evidence, disk, GIVEN, [facts.of_disk(disk, end.at_ns)])


def _by_argument(evidence: Evidence, raised: Raised) -> Verdict | None:
    """A command that failed, and that was to write where there was no room; its own words went past us."""
    given = [each for each in spaces.disks(evidence) if each.what == "argument" and not spaces.is_shared(each)]
    disk = next((each for each in given if spaces.has_no_room(each)), None)
    found = [facts.of_exception(raised, is_type_decisive=False)]
    return _verdict(evidence, disk, GIVEN, found) if disk else None


def _verdict(evidence: Evidence, disk: Disk | None, grade: Grade, found: list[Fact], /) -> Verdict:
    end = evidence.subject
    seen = [facts.of_disk(disk, end.raised.at_ns if end.raised else end.at_ns)] if disk else []
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=_title(evidence, disk),
        because=tuple(dict.fromkeys((*found, *seen, facts.of_status(end)))),
    )


def _title(evidence: Evidence, disk: Disk | None) -> str:
    raised = evidence.subject.raised
    path = (spaces.path_of(raised) if raised else "") or (disk.path if disk else "")
    where = f" of {path}" if path else ""
    if raised and errnos.find_errno(raised, errno.EDQUOT):
        return words.sentence(f"the disk quota{where} was used up")
    if disk and spaces.is_out_of_inodes(disk) and not spaces.is_full(disk):
        return words.sentence(f"the file system{where} had no inodes left for another file, though it had space")
    left = f" ({words.size(disk.free_bytes)} left)" if disk and disk.free_bytes is not None else ""
    return words.sentence(f"the file system{where} was full{left}, and a write failed")


def _room(evidence: Evidence) -> str:
    known = [each for each in spaces.disks(evidence) if each.free_bytes is not None and not spaces.is_shared(each)]
    least = min(known, key=lambda each: each.free_bytes or 0, default=None)
    return f"{words.size(least.free_bytes or 0)} was free at {least.path}" if least else "no file system was full"


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program may say it at its end and nobody looked; a failed command, or native code that leaves by itself,
    says so on a console that nobody kept."""
    end = evidence.subject
    if verdict.is_vague and says_at_its_end(evidence, "room-lacking"):
        return OPEN
    if evidence.said or not verdict.is_vague:
        return None
    is_of_a_command = end.raised is not None and "CalledProcessError" in type_names(end.raised)
    has_left_unseen = verdict.cause == "nonzero-exit" and end.finished is None
    return UNLIKELY if is_of_a_command or has_left_unseen else None
