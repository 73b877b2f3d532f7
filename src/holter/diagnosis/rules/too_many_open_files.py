"""The program had as many files, sockets and pipes open as it may have.

Each worker, each mapped or shared tensor and each file that nobody closes counts; the usual limit is 1,024.

Raise the limit in the shell that starts the program (`ulimit -n 65536`), and open files in a `with` block.
"""

import errno

from holter.diagnosis import errnos, facts, words
from holter.diagnosis.causality.ends import WITHOUT_CLIENT, left_with
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, LIKELY, NAMED
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies.limits import close_files, file_descriptor_sharing, more_open_files
from holter.diagnosis.remedies.memory import fewer_workers
from holter.diagnosis.rivals import OPEN, UNLIKELY
from holter.diagnosis.texts import foreign_text, in_exception, line_near_end, says_at_its_end
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Fact, Grade, RuledOut, Verdict

CAUSE = "too-many-open-files"
ADVICE = (more_open_files, close_files, file_descriptor_sharing, fewer_workers)
CURVES = ("files",)
SEEN, BY_NUMBER, FULL, BY_WORDS, INDIRECT, PRINTED = NAMED, NAMED, COUNTED, CONSISTENT, INFERRED, LIKELY
NEAR = 0.9
"""Of the limit in use, as it was when somebody looked: some files are closed on the way out."""
FEW = 4
"""Left to open: who asks for one more may need several at once."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the error number; on words only with less confidence."""
    raised = evidence.subject.raised
    if raised is None:
        line = line_near_end(evidence, "too-many-files") if left_with(evidence.subject) else None
        return _verdict(evidence, PRINTED, [facts.of_console(line)]) if line and line.is_error else None
    found = errnos.find_errno(raised, errno.EMFILE, errno.ENFILE)
    text = foreign_text(raised)
    fact = facts.of_exception(raised, is_type_decisive=found is not None and found.is_sure)
    if found is not None and found.is_sure:
        return _verdict(evidence, SEEN if _is_near(evidence) else BY_NUMBER, [fact])
    if found is not None or says(text, "too-many-files"):
        return _verdict(evidence, SEEN if _is_near(evidence) else BY_WORDS, [fact])
    if not says(text, "descriptors-lost"):
        return _verdict(evidence, FULL, [fact]) if says(text, "cannot-open") and _is_full(evidence) else None
    if _is_near(evidence) is False:
        return RuledOut(cause=CAUSE, because=f"only {_count(evidence)} were open")
    return _verdict(evidence, FULL if _is_near(evidence) else INDIRECT, [fact])


def _is_near(evidence: Evidence) -> bool | None:
    around = evidence.surroundings
    if around is None or around.open_files is None or not around.open_files_limit:
        return None
    return around.open_files >= NEAR * around.open_files_limit


def _is_full(evidence: Evidence) -> bool:
    around = evidence.surroundings
    if around is None or around.open_files is None or not around.open_files_limit:
        return False
    return around.open_files_limit - around.open_files <= FEW


def _count(evidence: Evidence) -> str:
    around = evidence.surroundings
    if around is None or around.open_files is None:
        return "as many files as it may have"
    limit = f" of {around.open_files_limit:,}" if around.open_files_limit is not None else ""
    return f"{around.open_files:,}{limit} files"


def _verdict(evidence: Evidence, grade: Grade, found: list[Fact], /) -> Verdict:
    end = evidence.subject
    around = evidence.surroundings
    seen = []
    if around is not None and around.open_files is not None:
        text = f"{_count(evidence)} were open (RLIMIT_NOFILE)"
        seen = [facts.fact(facts.LIMITS, end.raised.at_ns if end.raised else end.at_ns, text)]
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=words.sentence(f"{words.process(end)} could not open another file: it had {_count(evidence)} open"),
        because=(*found, *seen, facts.of_status(end)),
    )


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """A program may say it at its end and nobody looked; a library that can't open a file need not say why."""
    if verdict.is_vague and says_at_its_end(evidence, "files-lacking"):
        return OPEN
    is_of_it = verdict.cause == "uncaught-exception" and evidence.subject.role in WITHOUT_CLIENT
    return UNLIKELY if is_of_it and in_exception(evidence, "cannot-open") else None
