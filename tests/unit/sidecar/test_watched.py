"""What the sidecar holds of one run while it goes on."""

from types import SimpleNamespace

from holter.model.records import ChildExited
from holter.sidecar.watched import ALL_GUARDS, WatchedRun


def test_deaths_of_children_are_not_gathered_where_nobody_wants_guards() -> None:
    watched = WatchedRun.__new__(WatchedRun)
    watched._watch = SimpleNamespace(silenced=(ALL_GUARDS,))  # type: ignore[assignment]  # all that is asked of it
    watched._gone = [ChildExited(at_ns=1, pid=2, source="multiprocessing", status=9)]
    watched._guard({}, {}, [1])
    assert watched._gone == []
