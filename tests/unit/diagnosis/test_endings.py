"""Which signal ended a process, and how sure that is."""

import signal

import msgspec

from holter.diagnosis.endings import BY_ARRIVAL, BY_ELIMINATION, ending_of, is_silent
from holter.model.evidence import HostEnd
from holter.model.records import Finished
from holter.model.verdicts import Grade
from tests.causes.specimens import PID, before, caught, evidence, exited, failed, gone, signalled

FAULT = caught(11, code=1, address=8, stack_pointer=0x7FFD)


def test_the_wait_status_is_certain() -> None:
    found = ending_of(evidence(signalled(9)))
    assert found is not None
    assert (found.signal, found.certainty, found.is_sent) == (9, Grade.NAMED, None)


def test_an_exit_is_no_signal_whatever_arrived() -> None:
    assert ending_of(evidence(exited(1, signals=(FAULT,)))) is None


def test_a_fault_counts_before_the_signal_that_its_handler_raises() -> None:
    again = caught(11, code=-6, sender_pid=PID, before_s=0.01)
    found = ending_of(evidence(signalled(11, signals=(FAULT, again))))
    assert found is not None
    assert found.caught == FAULT


def test_the_interrupt_counts_and_not_the_one_that_python_sends_itself() -> None:
    typed, own = caught(2, code=128), caught(2, sender_pid=PID, before_s=0.01)
    found = ending_of(evidence(signalled(2, signals=(typed, own))))
    assert found is not None
    assert found.caught == typed


def test_abort_is_not_sent_by_anybody() -> None:
    found = ending_of(evidence(signalled(6, signals=(caught(6, code=-6, sender_pid=PID),))))
    assert found is not None
    assert found.is_sent is False


def test_signals_of_other_processes_are_theirs() -> None:
    foreign = msgspec.structs.replace(FAULT, pid=4242)
    found = ending_of(evidence(signalled(11, signals=(foreign,))))
    assert found is not None
    assert found.caught is None


def test_the_last_fatal_signal_is_the_end_where_nobody_read_the_status() -> None:
    found = ending_of(evidence(gone(signals=(FAULT,), has_signal_witness=True)))
    assert found is not None
    assert (found.signal, found.certainty) == (signal.SIGSEGV, BY_ARRIVAL)


def test_what_leaves_no_trace_in_a_process_with_a_witness_is_sigkill() -> None:
    found = ending_of(evidence(gone(has_signal_witness=True)))
    assert found is not None
    assert (found.signal, found.certainty) == (signal.SIGKILL, BY_ELIMINATION)


def test_nothing_is_eliminated_without_a_witness_or_after_another_end() -> None:
    left = Finished(at_ns=before(0.1), how="_exit", exit_code=4)
    rebooted = HostEnd(boot_id="a", boot_id_now="b")
    assert ending_of(evidence(gone())) is None
    assert ending_of(evidence(gone(has_signal_witness=True, finished=left))) is None
    assert ending_of(evidence(gone(has_signal_witness=True), host=rebooted)) is None
    assert ending_of(evidence(gone(has_signal_witness=True), is_late=True)) is None
    assert ending_of(evidence(failed("ValueError", "x", status=None, has_signal_witness=True))) is None


def test_who_handled_a_signal_did_not_die_of_it() -> None:
    handled = caught(15, is_handled=True)
    assert ending_of(evidence(gone(has_signal_witness=True, signals=(handled,), handled=(15,)))) is None


def test_only_a_death_without_any_trace_is_silent() -> None:
    assert is_silent(evidence(gone()))
    assert not is_silent(evidence(gone(has_signal_witness=True)))
    assert not is_silent(evidence(exited(0)))
