"""Which stack is shown of which process."""

import pytest

from holter.catalog.read.stacks import share_faults, stack_of
from holter.model.evidence import End
from holter.model.verdicts import Stack
from tests.causes.specimens import before, evidence, exited, failed, raised, signalled

LOG = 'Fatal Python error: Aborted\n\nCurrent thread 0x01 (most recent call first):\n  File "a.py", line 4 in f\n'
LINES = ('File "a.py", line 4 in f',)


def worker(status: int, pid: int = 900) -> End:
    return End(pid=pid, role="child", status=status, at_ns=before(1))


def test_the_stacks_in_the_programs_file_are_those_of_the_worker_that_faulted() -> None:
    subject, [killed, faulted] = share_faults(failed("E", "", fault_log=LOG), [worker(9), worker(11, pid=901)])
    assert (subject.fault_log, killed.fault_log, faulted.fault_log) == ("", "", LOG)


@pytest.mark.parametrize(
    ("subject", "children"),
    [(signalled(11, fault_log=LOG), [worker(11)]), (failed("E", "", fault_log=LOG), [worker(9)])],
)
def test_or_its_own(subject: End, children: list[End]) -> None:
    assert share_faults(subject, children) == (subject, children)


def test_what_is_shown_is_about_the_cause() -> None:
    assert stack_of(evidence(signalled(11, fault_log=LOG)), "segmentation-fault") == Stack("Where it was", LINES)
    child = End(pid=900, role="child", status=11, at_ns=before(1), fault_log=LOG)
    seen = evidence(failed("ValueError", "bad label"), children=(child,))
    assert stack_of(seen, "segmentation-fault").lines == LINES
    assert stack_of(seen, "uncaught-exception").title == "Traceback, its end"
    assert stack_of(evidence(exited(3)), "nonzero-exit") == Stack()


def test_cells_are_no_files() -> None:
    error = raised("ValueError", "bad", traceback='  File "In[12]", line 3, in fit\nValueError: bad\n')
    seen = evidence(exited(1, raised=error))
    assert stack_of(seen, "uncaught-exception").lines == ("  In[12], line 3, in fit", "ValueError: bad")
