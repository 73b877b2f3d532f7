"""What people say about the end of a run: how and why it ended, with a reason, and taken back at will."""

from collections.abc import Collection

from holter.catalog.change.command_journal import as_command, may_write, write_down
from holter.catalog.read.loaded_run import LoadedRun, counted_marks
from holter.errors import NotKept, UsageError
from holter.model.clock import Clock
from holter.model.records import CauseMarked, Marked
from holter.model.state import RUNNING, STATES
from holter.model.verdicts import NOTHING, SOMETHING_ELSE

DEAD = tuple(state for state in STATES if state != RUNNING)
TAKEN_BACK = "taken back"


def mark(loaded: LoadedRun, state: str, *, reason: str, by: str) -> None:
    """Write down how a person says that the run ended. Raises UsageError, NotKept.

    It counts for the attempt that there is now: what a later attempt does is not marked by it.
    """
    if state not in DEAD:
        raise UsageError(f"a run can be marked {', '.join(DEAD)}; not {state!r}")
    _write(loaded, Marked(at_ns=Clock().now_ns(), state=state, reason=reason.strip(), by=by))


def mark_cause(loaded: LoadedRun, cause: str, *, reason: str, by: str) -> None:
    """Write down what a person says that the run died of; the verdict stays as it is. Raises UsageError, NotKept.

    Args:
        cause: the id of a rule, `none` for a normal end, `other` for what no rule knows.
    """
    named = _read_cause(cause)
    verdict = loaded.row.cause or ""
    if named == (verdict or NOTHING):
        raise UsageError(f"holter says of run {loaded.row.id} itself that it was {named}: there is nothing to correct")
    at_ns = Clock().now_ns()
    _write(loaded, CauseMarked(at_ns=at_ns, cause=named, reason=reason.strip(), by=by, verdict=verdict))


def unmark(loaded: LoadedRun, *, by: str, what: Collection[str] = ("state", "cause")) -> None:
    """Take back what people said of the state, the cause or both. Idempotent. Raises UsageError, NotKept."""
    at_ns, marks = Clock().now_ns(), counted_marks(loaded.digests)
    if "state" in what and marks and marks[-1].state:
        _write(loaded, Marked(at_ns=at_ns, state="", reason=TAKEN_BACK, by=by))
    if "cause" in what and loaded.row.cause_mark is not None:
        _write(loaded, CauseMarked(at_ns=at_ns, cause="", reason=TAKEN_BACK, by=by))


def _read_cause(cause: str) -> str:
    if cause in (NOTHING, SOMETHING_ELSE):
        return cause
    from holter.diagnosis.loading import find_rule  # some fifty files

    try:
        rule = find_rule(cause)
    except UsageError as error:
        raise UsageError(f"{error}; {SOMETHING_ELSE!r} is what it does not know, {NOTHING!r} a normal end") from None
    if rule.contributes:
        raise UsageError(f"{rule.cause} is never the cause alone: name what it led to, and tell of it in the reason")
    return rule.cause


def _write(loaded: LoadedRun, said: Marked | CauseMarked) -> None:
    run, directory = loaded.row.id, loaded.row.directory
    if loaded.by_itself.state == RUNNING:
        raise UsageError(f"run {run} is running: only one that has ended can be marked")
    if not said.reason:
        raise UsageError("a mark needs a reason, for those who wonder later")
    if not may_write(directory):
        raise NotKept(f"{directory} is not yours to write in: ask its owner to mark run {run}")
    if not write_down(directory, [said], opened=as_command(run, loaded.row.attempt)):
        raise NotKept(f"the disk did not take the mark in {directory}: make room and try again")
