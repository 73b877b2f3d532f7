"""A disk or a network file system failed: it could not read or write, or Linux made it read-only to save what is left.

`Input/output error` (EIO), `Read-only file system` (EROFS) and `Stale file handle` (ESTALE) are how a program sees it;
the Linux kernel log has the device's own words. EIO on a terminal that was closed, and a file system that was mounted
read-only on purpose, look alike.

Copy what you need elsewhere first. Then look at `smartctl -a`, `dmesg` and the state of the network mount.
"""

import signal

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.grades import COUNTED, LIKELY, NAMED, REMOTE
from holter.diagnosis.phrases.tags import Match, says, tags_in
from holter.diagnosis.remedies.outside import CHECK_DISK, REPLACE_HARDWARE, resume
from holter.diagnosis.requests import SI_KERNEL
from holter.diagnosis.texts import foreign_text, source_line
from holter.model.evidence import Disk, End, Evidence, KernelLine
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

CAUSE = "storage-fault"
ADVICE = (CHECK_DISK, REPLACE_HARDWARE, resume)
NEAR_S = 600.0
HUNG_UP_S = 60.0
_WORDS = {
    "5": "an input/output error",
    "30": "a file system that is read-only",
    "116": "a stale handle of a network mount",
}


def diagnose(evidence: Evidence) -> Answer:
    """Fires on an errno of failing storage in the exception, or on a SIGBUS with the kernel's word."""
    end = evidence.subject
    if ended_well(end):
        return None
    line = _kernel_line(evidence)
    if end.raised is None:
        mapped = end.caught(7)
        is_file = (
            mapped is not None and not mapped.is_sent and " /" in mapped.mapping and "/dev/shm" not in mapped.mapping
        )
        if end.signal != 7 or line is None or not is_file:
            return None
        return _verdict(evidence, COUNTED, "reading a mapped file failed", line)
    match = tags_in(foreign_text(end.raised)).get("storage-failed")
    if match is None:
        return None
    if _is_terminal(end, end.raised, match):
        return RuledOut(cause=CAUSE, because="the input/output error came from a closed terminal, not from a disk")
    said = match.groupdict()
    number = said.get("number") or ("116" if "stale" in said else "5")
    grade = _grade(evidence, number, line, has_path=bool(said.get("path")))
    path = (said.get("path") or "").removeprefix(": ")
    where = f" at {words.quote(path, 80)}" if path else ""
    return _verdict(evidence, grade, f"{_WORDS.get(number, match[0])}{where}", line)


def _verdict(evidence: Evidence, grade: Grade, what: str, line: KernelLine | None, /) -> Verdict:
    end = evidence.subject
    found = [facts.of_exception(end.raised)] if end.raised else []
    found += [testimony.of_kernel_line(line)] if line else []
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=f"The storage failed: {what}",
        because=testimony.few([*found, *_of_disks(evidence), facts.of_status(end), *testimony.of_steps(end)]),
    )


def _grade(evidence: Evidence, number: str, line: KernelLine | None, /, *, has_path: bool) -> Grade:
    if line is not None:
        return NAMED
    if number == "30":
        # The kernel writes down why it makes one read-only, and early in a run it may always have been so.
        end = evidence.subject
        age_s = (end.at_ns - end.began_ns) / 1e9 if end.began_ns else 0.0
        return LIKELY if age_s > 60 and evidence.kernel_log is None else REMOTE
    if number == "116":
        return COUNTED
    return COUNTED if has_path else LIKELY


def _is_terminal(end: End, error: Raised, match: Match, /) -> bool:
    said = match.groupdict()
    is_io = said.get("number", "5") == "5" and not said.get("path") and "stale" not in said
    return is_io and (says(source_line(error), "writes-to-terminal") or _has_lost_terminal(end, error))


def _has_lost_terminal(end: End, error: Raised) -> bool:
    """The kernel sends both signals where a terminal goes, and the second one also reaches who ignores the first."""
    told = end.caught(signal.SIGHUP, signal.SIGCONT)
    return told is not None and told.code == SI_KERNEL and 0 <= (error.at_ns - told.at_ns) / 1e9 <= HUNG_UP_S


def _kernel_line(evidence: Evidence) -> KernelLine | None:
    end_ns = evidence.subject.at_ns
    lines = evidence.kernel_log.lines if evidence.kernel_log else ()
    near = [
        line for line in lines if line.kind in ("io", "file-system") and -5 <= (end_ns - line.at_ns) / 1e9 <= NEAR_S
    ]
    return next((line for line in reversed(near) if says(line.text, "storage-failed-in-linux")), None)


def _read_only(evidence: Evidence) -> list[Disk]:
    disks = (evidence.surroundings.disks if evidence.surroundings else None) or ()
    return [disk for disk in disks if disk.is_read_only and disk.what == "error"]


def _of_disks(evidence: Evidence) -> list[Fact]:
    at_ns = evidence.subject.at_ns
    return [
        facts.fact(facts.DISKS, at_ns, f"the file system of {disk.path} is read-only") for disk in _read_only(evidence)
    ]
