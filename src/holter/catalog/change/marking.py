"""What people say about the end of a run: between the states of the dead, with a reason, and taken back at will."""

from holter.catalog.change.command_journal import as_command, may_write, write_down
from holter.catalog.read.run_view import LoadedRun
from holter.errors import NotKept, UsageError
from holter.model.clock import Clock
from holter.model.records import Marked
from holter.model.state import RUNNING, STATES

DEAD = tuple(state for state in STATES if state != RUNNING)


def mark(loaded: LoadedRun, state: str, *, reason: str, by: str) -> None:
    """Write down a person's word; an empty state takes the words before back. Raises UsageError, NotKept.

    It counts for the attempt that there is now: what a later attempt does is not marked by it.
    """
    run = loaded.view.id
    if loaded.by_itself.state == RUNNING:
        raise UsageError(f"run {run} is running: only one that has ended can be marked")
    if state and state not in DEAD:
        raise UsageError(f"a run can be marked {', '.join(DEAD)}; not {state!r}")
    if not reason.strip():
        raise UsageError("a mark needs a reason, for those who wonder later")
    directory = loaded.view.directory
    if not may_write(directory):
        raise NotKept(f"{directory} is not yours to write in: ask its owner to mark run {run}")
    marked = Marked(at_ns=Clock().now_ns(), state=state, reason=reason.strip(), by=by)
    if not write_down(directory, [marked], opened=as_command(run, loaded.view.attempt)):
        raise NotKept(f"the disk did not take the mark in {directory}: make room and try again")
