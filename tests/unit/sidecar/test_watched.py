"""What the sidecar holds of one run while it goes on."""

import os
from types import SimpleNamespace

from holter.model.quota import Quota
from holter.model.records import ChildExited
from holter.sidecar.guarding import Guarding
from holter.sidecar.watched import ALL_GUARDS, WatchedRun
from holter.wire.way_back import Warn, Watch
from tests.clocks import FakeClock


def test_deaths_of_children_are_not_gathered_where_nobody_wants_guards() -> None:
    watched = WatchedRun.__new__(WatchedRun)
    watched._watch = SimpleNamespace(silenced=(ALL_GUARDS,))  # type: ignore[assignment]  # all that is asked of it
    watched._gone = [ChildExited(at_ns=1, pid=2, source="multiprocessing", status=9)]
    watched._guard({}, {}, [1])
    assert watched._gone == []


def test_a_quota_of_the_user_reaches_the_guards() -> None:
    watch = Watch(run="r", directory="/nowhere", journal="j", pid=1, process_started=1)
    clock = FakeClock()
    watched = WatchedRun.__new__(WatchedRun)
    watched._watch, watched._ticks, watched._gone, watched._warnings = watch, 5, [], []
    watched.processes = []
    watched.files = SimpleNamespace(silenced=())  # type: ignore[assignment]  # all that is asked of these two
    watched._known = SimpleNamespace(names={}, limits={}, others=(), gpu=None)  # type: ignore[assignment]
    watched.guarding = Guarding(watch, lambda record: None, clock=clock)
    watched._quotas = {"cwd": (Quota(path="/data", total_bytes=50e9, free_bytes=1e6),)}
    watched._guard({}, {}, [os.getpid()])
    assert [each.text for each in watched._warnings if isinstance(each, Warn)] == [
        "your quota on /data (46.6 GiB) has 977 KiB left"
    ]
