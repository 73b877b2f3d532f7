"""The program exited by itself with an exit code other than zero, and without an exception.

`sys.exit(3)`, `sys.exit("text")`, `os._exit(4)` and `finish(exit_code=2)` do that, and so do commands that report a
failure. Some codes have a usual meaning: 2 for a wrong command line, 126 and 127 for a command that a shell could
not run, 128 + n for a command ended by signal n.

Read the last lines that it printed (`holter show RUN`), and find the place in the program that chose this exit code.
"""

import signal

from holter.diagnosis import facts, words
from holter.diagnosis.causality.console import PRINTED
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.causality.origin import only_passed_on
from holter.diagnosis.grades import CONSISTENT, COUNTED, EVEN, INFERRED, LIKELY, NAMED, UNLIKELY
from holter.diagnosis.remedies import outside, program
from holter.diagnosis.texts import last_line, type_names
from holter.model.evidence import End, Evidence
from holter.model.state import signal_name
from holter.model.verdicts import Answer, Grade, Verdict

GENERALITY = 4
ADVICE = (program.look_at_output, outside.resume)
CURVES = ("metric", "loss")
ASKED_S = 60.0
SOON_S = 10.0
_ASKS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_WORDS = {
    2: "which usually means a wrong command line",
    124: "which is how `timeout` reports a command that ran too long",
    126: "which is how a shell reports a command that it may not execute",
    127: "which is how a shell reports a command that it can't find",
}
_ROLES = {"command": "The command", "watched": "The command", "kernel": "The notebook's kernel"}


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the subject chose to leave with a code of its own."""
    end, finished = evidence.subject, evidence.subject.finished
    is_said = finished is not None and (end.code is None or finished.how in ("finish", "context"))
    code = (finished.exit_code if finished is not None and is_said else None) or end.code
    if not code or end.raised is not None or end.signal is not None or ended_well(end) or was_asked_to_leave(end):
        return None
    if end.role == "child":
        return None  # why a worker left is not known by its code: that is `worker-died`
    told = f"the program's last record says that it exited ({finished.how if finished else ''}); no exception was seen"
    found = [
        facts.of_status(end) if end.status is not None else None,
        facts.fact(facts.JOURNAL, finished.at_ns, told) if finished is not None else None,
        facts.of_console(last_line(evidence)),
    ]
    found = found if any(found) else [facts.fact(facts.JOURNAL, end.at_ns, f"exit code {code}")]
    because = [*found, facts.of_steps(end)]
    return Verdict(_grade(evidence, code), _title(end, code), because, is_consequence=only_passed_on(evidence))


def was_asked_to_leave(end: End) -> bool:
    """A signal asked it to leave shortly before it did; then the signal is the cause, whatever code it chose."""
    seen = [each for each in end.signals if each.signal in _ASKS and each.pid in (0, end.pid)]
    if not any(each.signal == signal.SIGTERM for each in seen) and signal.SIGTERM in end.handled:
        return True  # nobody knows when
    return any(0 <= (end.at_ns - each.at_ns) / 1e9 <= ASKED_S for each in seen)


def _grade(evidence: Evidence, code: int) -> Grade:
    end = evidence.subject
    if end.finished is not None and end.finished.is_leaving and end.code is None:
        return CONSISTENT  # who did not see its end did not see what led to it either
    if end.role == "rank" and code == 1 and not (end.has_signal_witness or end.last_row_ns or end.finished):
        return INFERRED  # Python leaves with 1 after an exception, and nobody was inside to hear of one
    if end.finished is not None or end.role in ("program", "rank", "kernel"):
        return NAMED if end.finished is not None else COUNTED
    if evidence.is_watched and evidence.said and not evidence.children and code != 128 + signal.SIGINT:
        return COUNTED  # whoever it had started has ended well, too
    lost = [child for child in evidence.children if child.signal]
    if 128 < code <= 128 + 64 or any(0 <= (end.at_ns - child.at_ns) / 1e9 <= SOON_S for child in lost):
        return INFERRED
    # A script, or a program that waits for others, hides what became of them; without its last words all the more.
    return CONSISTENT if evidence.said else LIKELY


def _title(end: End, code: int) -> str:
    finished, how = end.finished, "by itself"
    if finished is not None and finished.exit_text:
        return f"The program exited with `sys.exit` and the words: {words.quote(finished.exit_text, 120)}"
    if finished is not None and finished.how == "finish":
        return f"The program ended the run with exit code {code}"
    if finished is not None and finished.how == "_exit":
        how = "through `os._exit`, without cleaning up,"
    meaning = words.told(", {}", _WORDS.get(code)) if end.role in ("command", "watched") or code == 2 else ""
    if finished is None and 128 < code <= 128 + 64:
        meaning = f", which a shell returns for a command ended by {signal_name(code - 128)}"
    return f"{_ROLES.get(end.role, 'The program')} exited {how} with exit code {code}{meaning}"


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """An exception of which only one line is known may be why the program chose to leave, and one that tells of a
    command is about what that chose."""
    raised = evidence.subject.raised
    if raised is None or verdict.cause != "uncaught-exception":
        return None
    if raised.where == PRINTED and not raised.traceback:
        return EVEN
    return UNLIKELY if "CalledProcessError" in type_names(raised) and not evidence.said else None
