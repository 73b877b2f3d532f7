"""What every kind of evidence makes of a run's state, and which evidence wins."""

import signal

import pytest

from holter.errors import UsageError
from holter.model.records import Exited, Finished, Marked, Raised
from holter.model.state import Lateness, Outcome, Witness, read_lateness, settle

SECOND = 1_000_000_000
NOW = 1_000 * SECOND
PID = 4242
LATENESS = Lateness(stale_s=15.0, crashed_s=60.0)

RAISED = Raised(at_ns=NOW, type="ValueError", message="bad batch", traceback="")


def witness(
    *,
    is_alive: bool | None = False,
    finished: Finished | None = None,
    raised: Raised | None = None,
    exited: Exited | None = None,
    was_terminated: bool = False,
    was_preempted: bool = False,
) -> Witness:
    return Witness(
        pid=PID,
        last_seen_ns=NOW,
        is_alive=is_alive,
        finished=finished,
        raised=raised,
        exited=exited,
        was_terminated=was_terminated,
        was_preempted=was_preempted,
    )


def rank(
    number: int, *, is_alive: bool = False, finished: Finished | None = None, exited: Exited | None = None
) -> Witness:
    return Witness(pid=number, last_seen_ns=NOW, is_alive=is_alive, rank=number, finished=finished, exited=exited)


def left(code: int, at_ns: int = NOW) -> Exited:
    return Exited(at_ns=at_ns, journal="j", pid=PID, source="pidfd-info", status=code << 8)


def signalled(number: int, at_ns: int = NOW) -> Exited:
    return Exited(at_ns=at_ns, journal="j", pid=PID, source="zombie-stat", status=number)


def ended(code: int | None, how: str = "finish", at_ns: int = NOW) -> Finished:
    return Finished(at_ns=at_ns, exit_code=code, how=how)


GONE = Exited(at_ns=NOW, journal="j", pid=PID, source="gone")
AT_EXIT = ended(None, how="atexit")


def settled(*witnesses: Witness, marks: tuple[Marked, ...] = (), now_ns: int = NOW) -> Outcome:
    return settle(witnesses, marks, now_ns=now_ns, lateness=LATENESS)


def test_a_run_of_which_nobody_has_written_yet_is_running() -> None:
    assert settled() == Outcome(state="running", because="it has only just begun")


def test_a_living_process_runs_however_silent_it_is() -> None:
    outcome = settled(witness(is_alive=True), now_ns=NOW + 86400 * SECOND)
    assert outcome == Outcome(state="running", because="process 4242 is alive")


@pytest.mark.parametrize(
    ("seen", "state", "because"),
    [
        (witness(finished=ended(None)), "finished", "the program ended the run"),
        (witness(finished=ended(0), is_alive=True), "finished", "the program ended the run"),
        (witness(finished=ended(3)), "failed", "the program ended the run with exit code 3"),
        (witness(finished=ended(0, "context")), "finished", "the program ended the run"),
        (witness(finished=ended(1, "context"), raised=RAISED), "failed", "ValueError: bad batch"),
        (witness(finished=ended(130, "context")), "failed", "the program ended the run with exit code 130"),
    ],
)
def test_the_programs_own_end_record_decides(seen: Witness, state: str, because: str) -> None:
    outcome = settled(seen)
    assert (outcome.state, outcome.because, outcome.is_final, outcome.ended_at_ns) == (state, because, True, NOW)


@pytest.mark.parametrize(
    ("exited", "state", "because"),
    [
        (left(0), "finished", "process 4242 exited with exit code 0"),
        (left(3), "failed", "process 4242 exited with exit code 3"),
        (signalled(signal.SIGKILL), "crashed", "SIGKILL ended process 4242"),
        (signalled(signal.SIGSEGV | 0x80), "crashed", "SIGSEGV ended process 4242"),
        (signalled(signal.SIGTERM), "crashed", "SIGTERM ended process 4242"),
        (signalled(signal.SIGINT), "failed", "SIGINT ended process 4242"),
        (signalled(63), "crashed", "signal 63 ended process 4242"),
    ],
)
@pytest.mark.parametrize(
    "finished",
    [None, AT_EXIT, ended(9, how="_exit"), ended(0, how="_exit")],
    ids=["no word", "atexit", "_exit 9", "_exit 0"],
)
def test_without_an_end_record_the_exit_status_decides(
    exited: Exited, state: str, because: str, finished: Finished | None
) -> None:
    outcome = settled(witness(exited=exited, finished=finished))
    assert (outcome.state, outcome.because) == (state, because)
    assert (outcome.status, outcome.source, outcome.is_final) == (exited.status, exited.source, True)


def test_the_end_record_wins_over_what_became_of_the_process_later() -> None:
    outcome = settled(witness(finished=ended(0), exited=signalled(signal.SIGKILL)))
    assert (outcome.state, outcome.status) == ("finished", signal.SIGKILL)


def test_an_exception_names_a_non_zero_exit_and_not_a_good_one() -> None:
    assert settled(witness(exited=left(1), raised=RAISED)).because == "ValueError: bad batch"
    assert settled(witness(exited=left(0), raised=RAISED)).because == "process 4242 exited with exit code 0"


def test_an_exception_without_a_message_ends_without_a_colon() -> None:
    raised = Raised(at_ns=NOW, type="MemoryError", message="", traceback="")
    assert settled(witness(exited=left(1), raised=raised)).because == "MemoryError"


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (witness(), "crashed"),
        (witness(exited=GONE), "crashed"),
        (witness(exited=GONE, is_alive=None), "crashed"),
        (witness(raised=RAISED), "failed"),
        (witness(finished=AT_EXIT), "finished"),
        (witness(finished=AT_EXIT, raised=RAISED), "failed"),
        (witness(finished=AT_EXIT, was_terminated=True), "crashed"),
        (witness(finished=ended(0, how="_exit")), "finished"),
        (witness(finished=ended(3, how="_exit")), "failed"),
        (witness(finished=ended(3, how="_exit"), was_terminated=True), "crashed"),
    ],
)
def test_a_process_that_is_gone_without_a_status_is_judged_by_its_last_words(seen: Witness, state: str) -> None:
    outcome = settled(seen)
    assert (outcome.state, outcome.status, outcome.ended_at_ns, outcome.is_final) == (state, None, NOW, True)


@pytest.mark.parametrize(
    ("finished", "exited", "state"),
    [
        (None, left(0), "crashed"),
        (None, left(143), "crashed"),
        (AT_EXIT, left(0), "crashed"),
        (ended(0, "context"), None, "crashed"),
        (ended(1, "context"), None, "crashed"),
        (ended(1), None, "crashed"),
        (ended(0), None, "finished"),
    ],
)
def test_a_program_that_handled_sigterm_was_ended_from_outside_unless_it_says_otherwise(
    finished: Finished | None, exited: Exited | None, state: str
) -> None:
    assert settled(witness(finished=finished, exited=exited, was_terminated=True)).state == state


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        (witness(exited=signalled(signal.SIGTERM), was_preempted=True), "preempted"),
        (witness(exited=left(1), was_preempted=True), "preempted"),
        (witness(was_preempted=True), "preempted"),
        (witness(finished=ended(0), was_preempted=True), "finished"),
        (witness(is_alive=True, was_preempted=True), "running"),
    ],
)
def test_a_program_that_said_so_was_preempted(seen: Witness, state: str) -> None:
    assert settled(seen).state == state


def test_a_preempted_run_keeps_what_happened_in_its_reason() -> None:
    outcome = settled(witness(exited=signalled(signal.SIGTERM), was_preempted=True))
    assert outcome.because == "the program said that it was being preempted; then SIGTERM ended process 4242"


@pytest.mark.parametrize(
    ("silent_s", "state", "is_stale"),
    [
        (0, "running", False),
        (15, "running", False),
        (16, "running", True),
        (60, "running", True),
        (61, "crashed", False),
    ],
)
def test_silence_counts_where_nobody_can_look(silent_s: int, state: str, is_stale: bool) -> None:
    outcome = settled(witness(is_alive=None), now_ns=NOW + silent_s * SECOND)
    assert (outcome.state, outcome.is_stale, outcome.is_final) == (state, is_stale, False)


def test_a_run_that_fell_silent_ended_when_it_was_last_heard_of() -> None:
    assert settled(witness(is_alive=None), now_ns=NOW + 3600 * SECOND).ended_at_ns == NOW


def test_a_run_that_fell_silent_after_it_said_so_was_preempted() -> None:
    assert settled(witness(is_alive=None, was_preempted=True), now_ns=NOW + 3600 * SECOND).state == "preempted"


def test_a_clock_that_was_set_back_makes_nobody_late() -> None:
    outcome = settled(witness(is_alive=None), now_ns=NOW - 3600 * SECOND)
    assert (outcome.state, outcome.is_stale) == ("running", False)
    assert outcome.because == "last heard from 0 s ago; its process can't be seen from here"


def test_rank_0_ends_the_run() -> None:
    assert settled(rank(1, is_alive=True), rank(0, finished=ended(0))).state == "finished"


def test_another_rank_does_not_end_it_well() -> None:
    assert settled(rank(0, is_alive=True), rank(1, finished=ended(0))).state == "running"


def test_the_death_of_any_rank_is_the_death_of_the_run() -> None:
    assert settled(rank(0, is_alive=True), rank(1, exited=signalled(signal.SIGKILL))).state == "crashed"


def test_the_first_death_counts_because_it_took_the_others_along() -> None:
    first = rank(1, exited=left(1, at_ns=NOW))
    then = rank(0, exited=signalled(signal.SIGTERM, at_ns=NOW + SECOND))
    assert settled(then, first).state == "failed"


def test_a_death_that_was_noticed_some_moments_after_rank_0_ended_the_run_is_its_death() -> None:
    killed = rank(1, exited=signalled(signal.SIGKILL, at_ns=NOW + SECOND // 3))
    assert settled(rank(0, finished=ended(0)), killed).state == "crashed"


def test_what_becomes_of_a_rank_after_rank_0_ended_the_run_does_not_count() -> None:
    later = rank(1, exited=signalled(signal.SIGSEGV, at_ns=NOW + SECOND))
    assert settled(rank(0, finished=ended(0)), later).state == "finished"


def test_of_two_deaths_in_the_same_moment_the_worse_counts() -> None:
    assert settled(rank(0, exited=left(1)), rank(1, exited=signalled(signal.SIGKILL))).state == "crashed"


def mark(state: str, at_ns: int = NOW) -> Marked:
    return Marked(at_ns=at_ns, state=state, reason="the disk was full", by="ada")


def test_a_persons_mark_wins_and_the_machines_verdict_stays_visible() -> None:
    outcome = settled(witness(exited=signalled(signal.SIGKILL)), marks=(mark("failed"),))
    assert outcome.state == "failed"
    assert outcome.because == (
        "ada marked it failed: the disk was full (holter's own verdict: crashed, SIGKILL ended process 4242)"
    )


def test_the_last_mark_counts_and_an_empty_one_takes_it_back() -> None:
    dead = witness(exited=signalled(signal.SIGKILL))
    assert settled(dead, marks=(mark("failed"), mark("preempted"))).state == "preempted"
    assert settled(dead, marks=(mark("failed"), mark(""))).state == "crashed"


def test_nobody_can_mark_a_living_run_as_dead() -> None:
    assert settled(witness(is_alive=True), marks=(mark("failed"),)).state == "running"


def test_lateness_comes_from_the_environment() -> None:
    assert read_lateness({}) == Lateness(stale_s=15.0, crashed_s=60.0)
    assert read_lateness({"HOLTER_STALE_AFTER": "2.5", "HOLTER_CRASHED_AFTER": "9"}) == Lateness(2.5, 9.0)


def test_a_lateness_that_is_no_number_is_refused_with_its_value() -> None:
    with pytest.raises(UsageError, match="HOLTER_STALE_AFTER must be a number of seconds, got 'soon'"):
        read_lateness({"HOLTER_STALE_AFTER": "soon"})
