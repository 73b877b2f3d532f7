"""Children whose end nobody told, because their parent died of it at once."""

from holter.catalog.judge.ends import Traces, ends_of_children
from tests.causes.specimens import caught


def test_a_child_whose_fault_only_the_signal_log_saw_is_known() -> None:
    fault = caught(11, code=1, pid=31)

    found = ends_of_children([], Traces(signals={31: [fault]}), except_pids=[])

    assert [(end.pid, end.role, end.status, end.signals) for end in found] == [(31, "child", None, (fault,))]


def test_a_signal_that_somebody_sent_to_a_child_is_not_yet_its_end() -> None:
    assert ends_of_children([], Traces(signals={31: [caught(11, code=0, pid=31)]}), except_pids=[]) == []


def test_the_programs_own_faults_are_not_those_of_a_child() -> None:
    assert ends_of_children([], Traces(signals={31: [caught(11, code=1, pid=31)]}), except_pids=[31]) == []
