"""The program had as many files, sockets and pipes open as it may have.

Each worker, each mapped or shared tensor and each file that nobody closes counts; the usual limit is 1,024.

Raise the limit in the shell that starts the program (`ulimit -n 65536`), and open files in a `with` block.
"""

import errno

from holter.diagnosis import errnos, facts, texts, words
from holter.diagnosis.causality.ends import WITHOUT_CLIENT, left_with
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED, OPEN, UNLIKELY
from holter.diagnosis.limits import NEAR
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies import limits, memory
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

ADVICE = (limits.more_open_files, limits.close_files, limits.file_descriptor_sharing, memory.fewer_workers)
CURVES = ("files",)
FEW = 4
"""Left to open: who asks for one more may need several at once."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the error number; on words only with less confidence."""
    raised = evidence.subject.raised
    if raised is None:
        line = texts.line_near_end(evidence, "too-many-files") if left_with(evidence.subject) else None
        return _verdict(evidence, LIKELY, facts.of_console(line)) if line and line.is_error else None
    found, text = errnos.find_errno(raised, errno.EMFILE, errno.ENFILE), texts.foreign_text(raised)
    is_sure = found is not None and found.is_sure
    said = facts.of_exception(raised, is_type_decisive=is_sure)
    is_near, left = _is_near(evidence), _left(evidence)
    if found is not None or says(text, "too-many-files"):
        return _verdict(evidence, NAMED if is_sure or is_near else CONSISTENT, said)
    if not says(text, "descriptors-lost"):
        is_full = left is not None and left <= FEW
        return _verdict(evidence, COUNTED, said) if says(text, "cannot-open") and is_full else None
    if is_near is False:
        return RuledOut(because=f"only {_count(evidence)} were open")
    return _verdict(evidence, COUNTED if is_near else INFERRED, said)


def _left(evidence: Evidence) -> int | None:
    """How many more it might have opened; None where nobody looked."""
    count, limit = evidence.around.open_files, evidence.around.open_files_limit
    return limit - count if limit and count is not None else None


def _is_near(evidence: Evidence) -> bool | None:
    left, limit = _left(evidence), evidence.around.open_files_limit
    return None if left is None or limit is None else limit - left >= NEAR * limit


def _count(evidence: Evidence) -> str:
    count, limit = evidence.around.open_files, evidence.around.open_files_limit
    return "as many files as it may have" if count is None else f"{count:,}{words.told(' of {:,}', limit)} files"


def _verdict(evidence: Evidence, grade: Grade, said: Fact | None, /) -> Verdict:
    end = evidence.subject
    text = f"{_count(evidence)} were open (RLIMIT_NOFILE)"
    seen = facts.fact(facts.LIMITS, facts.when(end), text) if evidence.around.open_files is not None else None
    title = f"{words.process(end)} could not open another file: it had {_count(evidence)} open"
    return Verdict(grade, title, [said, seen, facts.of_status(end)])


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program may say it at its end and nobody looked; a library that can't open a file need not say why."""
    if verdict.is_vague and texts.says_at_its_end(evidence, "files-lacking"):
        return OPEN
    is_of_it = verdict.cause == "uncaught-exception" and evidence.subject.role in WITHOUT_CLIENT
    return UNLIKELY if is_of_it and texts.in_exception(evidence, "cannot-open") else None
