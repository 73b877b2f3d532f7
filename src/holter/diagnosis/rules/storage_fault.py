"""A disk or a network file system failed: it could not read or write, or Linux made it read-only to save what is left.

`Input/output error` (EIO), `Read-only file system` (EROFS) and `Stale file handle` (ESTALE) are how a program sees it;
the Linux kernel log has the device's own words. EIO on a terminal that was closed, and a file system that was mounted
read-only on purpose, look alike.

Copy what you need elsewhere first. Then look at `smartctl -a`, `dmesg` and the state of the network mount.
"""

import signal

from holter.diagnosis import facts, spaces, words
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.grades import COUNTED, LIKELY, NAMED, REMOTE
from holter.diagnosis.phrases.tags import says, tags_in
from holter.diagnosis.remedies import outside
from holter.diagnosis.requests import SI_KERNEL
from holter.diagnosis.texts import foreign_text, source_line
from holter.model.evidence import End, Evidence, KernelLine
from holter.model.records import Raised
from holter.model.verdicts import Answer, Grade, RuledOut, Verdict

ADVICE = (outside.CHECK_DISK, outside.REPLACE_HARDWARE, outside.resume)
NEAR_S = 600.0
HUNG_UP_S = 60.0
YOUNG_S = 60.0
IO, READ_ONLY, STALE = "5", "30", "116"
_WORDS = {
    IO: "an input/output error",
    READ_ONLY: "a file system that is read-only",
    STALE: "a stale handle of a network mount",
}


def diagnose(evidence: Evidence) -> Answer:
    """Fires on an errno of failing storage in the exception, or on a SIGBUS with Linux's word."""
    end, line = evidence.subject, _kernel_line(evidence)
    if ended_well(end):
        return None
    if end.raised is None:
        mapped = end.caught(signal.SIGBUS) if end.signal == signal.SIGBUS else None
        is_file = mapped is not None and " /" in mapped.mapping and "/dev/shm" not in mapped.mapping
        if mapped is None or mapped.is_sent or line is None or not is_file:
            return None
        return _verdict(evidence, COUNTED, "reading a mapped file failed", line)
    match = tags_in(foreign_text(end.raised)).get("storage-failed")
    if match is None:
        return None
    said = match.groupdict()
    path = (said.get("path") or "").removeprefix(": ")
    number = said.get("number") or (STALE if "stale" in said else IO)
    if number == IO and not path and _is_terminal(end, end.raised):
        return RuledOut(because="the input/output error came from a closed terminal, not from a disk")
    where = words.told(" at {}", words.quote(path, 80))
    grade = NAMED if line is not None else _grade(evidence, number, has_path=bool(path))
    return _verdict(evidence, grade, f"{_WORDS.get(number, match[0])}{where}", line)


def _verdict(evidence: Evidence, grade: Grade, what: str, line: KernelLine | None, /) -> Verdict:
    end = evidence.subject
    failed = [disk.path for disk in spaces.disks(evidence) if disk.is_read_only and disk.what == "error"]
    disks = [facts.fact(facts.DISKS, end.at_ns, f"the file system of {path} is read-only") for path in failed]
    found = [facts.of_exception(end.raised), facts.of_kernel_line(line), *disks]
    return Verdict(grade, f"The storage failed: {what}", [*found, facts.of_status(end), facts.of_steps(end)])


def _grade(evidence: Evidence, number: str, *, has_path: bool) -> Grade:
    if number == READ_ONLY:
        # Linux writes down why it makes one read-only, and early in a run it may always have been so.
        end = evidence.subject
        is_old = bool(end.began_ns) and (end.at_ns - end.began_ns) / 1e9 > YOUNG_S
        return LIKELY if is_old and evidence.kernel_log is None else REMOTE
    return COUNTED if has_path or number == STALE else LIKELY


def _is_terminal(end: End, error: Raised) -> bool:
    """Linux sends both signals where a terminal goes, and the second one also reaches who ignores the first."""
    told = end.caught(signal.SIGHUP, signal.SIGCONT)
    is_gone = told is not None and told.code == SI_KERNEL and 0 <= (error.at_ns - told.at_ns) / 1e9 <= HUNG_UP_S
    return is_gone or says(source_line(error), "writes-to-terminal")


def _kernel_line(evidence: Evidence) -> KernelLine | None:
    end_ns = evidence.subject.at_ns
    lines = [line for line in evidence.kernel_lines if line.kind in ("io", "file-system")]
    near = [line for line in lines if -5 <= (end_ns - line.at_ns) / 1e9 <= NEAR_S]
    return next((line for line in reversed(near) if says(line.text, "storage-failed-in-linux")), None)
