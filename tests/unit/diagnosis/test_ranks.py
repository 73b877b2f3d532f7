"""Who died first, who followed, and whom the others waited for."""

import signal

import msgspec
import pytest

from holter.diagnosis.causality.children import find_lost_child
from holter.diagnosis.causality.ends import call, ended_well
from holter.diagnosis.causality.ranks import find_laggard, order_of_death, tell_laggard, tell_order
from holter.model.evidence import End
from holter.model.records import Finished
from tests.causes.specimens import before, caught, evidence, exited, failed, gone, raised, said, signalled

GLOO_PEER = "Connection closed by peer [127.0.1.1]:4242. This is typically caused by a remote worker crashing"
GLOO_TIMEOUT = "[unbound_buffer.cc:81] Timed out waiting 5000ms for recv operation to complete"


def rank(number: int, end: End, *, seconds_before: float = 0.0, step: int | None = None) -> End:
    more = {"pid": 900 + number, "rank": number, "role": "rank", "at_ns": before(seconds_before), "last_step": step}
    return msgspec.structs.replace(end, **more)


def test_the_rank_that_was_killed_died_first_and_the_agents_sigterm_is_a_consequence() -> None:
    killed = rank(1, signalled(9), seconds_before=1.2, step=41)
    ranks = (rank(0, signalled(15), step=41), killed, rank(2, signalled(15), step=41))

    order = order_of_death(ranks)

    assert order is not None
    assert order.first is killed
    assert [end.rank for end in order.followers] == [0, 2]
    facts = tell_order(evidence(ranks[0], ranks=ranks))
    assert facts[0].text == (
        "rank 1 died first, killed by SIGKILL, at step 41; ranks 0 and 2 followed 1.2 s later, killed by SIGTERM"
    )


def test_the_time_of_death_counts_and_not_the_order_of_the_reports() -> None:
    # The victim lost its partner and wrote its exception down before anybody noticed that the partner was dead.
    victim = rank(0, failed("RuntimeError", GLOO_PEER), seconds_before=0.5)
    culprit = rank(1, exited(4), seconds_before=0.1)

    order = order_of_death((victim, culprit))

    assert order is not None
    assert order.first is culprit
    assert order.followers == (victim,)


def test_who_was_terminated_first_died_first_where_nobody_has_a_better_reason() -> None:
    ranks = (rank(0, signalled(15), seconds_before=3), rank(1, signalled(15), seconds_before=2))

    order = order_of_death(ranks)

    assert order is not None
    assert order.first is ranks[0]
    assert order.followers == (ranks[1],)


def test_a_rank_that_fails_long_after_another_has_a_death_of_its_own() -> None:
    ranks = (rank(0, signalled(9), seconds_before=900), rank(1, signalled(15)))

    order = order_of_death(ranks)

    assert order is not None
    assert order.followers == ()
    assert order.bystanders == (ranks[1],)


def test_an_agent_that_loses_patience_kills_whom_it_had_asked() -> None:
    failing = rank(0, failed("ValueError", "bad label"), seconds_before=31)
    stubborn = rank(1, signalled(9, signals=(caught(15, before_s=30, pid=901),)))

    order = order_of_death((failing, stubborn))

    assert order is not None
    assert order.first is failing
    assert order.followers == (stubborn,)


def test_where_nobody_read_a_status_the_arrival_of_sigterm_tells_who_followed() -> None:
    # The sleeper's last row is older than anything of the other; only the signal log knows that it lived on.
    sleeper = rank(1, gone(signals=(caught(15, before_s=0.1, pid=901),)), seconds_before=30)
    reporter = rank(0, gone(raised=raised("RuntimeError", GLOO_TIMEOUT, at_ns=before(0.4))), seconds_before=0.3)

    order = order_of_death((sleeper, reporter))

    assert order is not None
    assert order.first is reporter
    assert order.followers == (sleeper,)


def test_a_rank_of_whose_end_nothing_is_known_is_not_blamed_while_another_says_that_it_waited_in_vain() -> None:
    unseen, reporter = rank(1, gone(), seconds_before=30), rank(0, failed("RuntimeError", GLOO_TIMEOUT))

    order = order_of_death((unseen, reporter))

    assert order is not None
    assert order.first is reporter


def test_a_rank_of_whose_end_nothing_is_known_died_first_where_another_lost_its_partner() -> None:
    unseen, victim = rank(1, gone(), seconds_before=1), rank(0, failed("RuntimeError", GLOO_PEER))

    order = order_of_death((unseen, victim))

    assert order is not None
    assert order.first is unseen
    assert order.followers == (victim,)


@pytest.mark.parametrize(
    "ranks",
    [
        (),
        (rank(0, signalled(9)),),
        (rank(0, exited(0)), rank(1, exited(0))),
        (rank(0, exited(0)), rank(1, End(pid=2, is_alive=True))),
    ],
)
def test_no_order_where_one_rank_is_known_or_all_are_well(ranks: tuple[End, ...]) -> None:
    assert order_of_death(ranks) is None


@pytest.mark.parametrize(
    ("end", "is_well"),
    [
        (exited(0), True),
        (exited(3), False),
        (signalled(9), False),
        (exited(1, finished=Finished(at_ns=1, how="finish", exit_code=0)), True),
        (exited(0, finished=Finished(at_ns=1, how="finish", exit_code=2)), False),
        (End(pid=1, finished=Finished(at_ns=1, how="atexit")), True),
        (End(pid=1, finished=Finished(at_ns=1, how="_exit", exit_code=4)), False),
        (End(pid=1, finished=Finished(at_ns=1, how="atexit"), raised=raised("ValueError", "x")), False),
        (End(pid=1), False),
        (End(pid=1, is_alive=True), True),
    ],
)
def test_what_ended_well(end: End, is_well: bool) -> None:
    assert ended_well(end) is is_well


def test_in_a_hang_the_sleeper_is_the_laggard_and_not_who_reports() -> None:
    reporter = rank(0, failed("RuntimeError", GLOO_TIMEOUT), seconds_before=0.3, step=42)
    sleeper = rank(1, signalled(15), step=41)

    hang = evidence(reporter, ranks=(reporter, sleeper))

    assert find_laggard(hang) is sleeper
    texts = [fact.text for fact in tell_laggard(hang)]
    assert texts == [
        "last steps: rank 0 at 42 and rank 1 at 41",
        "rank 0 gave up waiting; rank 1 was the one waited for",
    ]


def test_with_equal_steps_the_only_rank_that_did_not_report_is_the_laggard() -> None:
    ranks = (
        rank(0, failed("RuntimeError", GLOO_TIMEOUT), step=41),
        rank(1, signalled(15), step=41),
        rank(2, failed("RuntimeError", GLOO_TIMEOUT), step=41),
    )

    assert find_laggard(evidence(ranks[0], ranks=ranks)) is ranks[1]


def test_the_work_that_nccl_was_given_says_more_than_the_steps() -> None:
    ranks = (rank(0, signalled(6), step=40), rank(1, signalled(6), step=41))
    lines = (
        said("[PG ID 0 PG GUID 0 Rank 0] Timeout at NCCL work: 808, last enqueued NCCL work: 811, last completed: 807"),
        said("[PG ID 0 PG GUID 0 Rank 1] Timeout at NCCL work: 807, last enqueued NCCL work: 807, last completed: 806"),
    )

    assert find_laggard(evidence(ranks[0], ranks=ranks, said=lines)) is ranks[1]


def test_no_laggard_where_nothing_tells_the_apart() -> None:
    ranks = (rank(0, signalled(15), step=41), rank(1, signalled(15), step=41))

    assert find_laggard(evidence(ranks[0], ranks=ranks)) is None


def child(pid: int, status: int, seconds_before: float) -> End:
    return End(pid=pid, role="child", source="multiprocessing", status=status, at_ns=before(seconds_before))


@pytest.mark.parametrize(
    ("subject", "children", "fatal"),
    [
        # The exception names it.
        (failed("RuntimeError", "DataLoader worker (pid(s) 31) exited unexpectedly"), ((30, 9, 1.5), (31, 11, 1)), 31),
        # A pool ends its other workers with SIGTERM.
        (failed("BrokenProcessPool", "terminated abruptly"), ((30, signal.SIGTERM, 0.9), (31, 9, 0.8)), 31),
        # A shell hands on what its command died of.
        (exited(137, role="command"), ((31, 9, 0.1),), 31),
        (exited(137, role="command"), ((31, 11, 0.1),), None),
        # timeout(1) has a code of its own for a command that it ended.
        (exited(124, role="command"), ((31, 15, 0.1),), 31),
        (exited(137, role="command"), ((31, 9, 400),), None),
        # timeout(1) dies of what its command died of; a program of its own, or one that died before, does not.
        (signalled(9, role="command"), ((31, 9, 0.1),), 31),
        (signalled(9, role="command"), ((31, 9, -0.1),), None),
        (signalled(9, role="command"), ((31, 11, 0.1),), None),
        (signalled(15, role="command"), ((31, 15, 0.1),), None),
        (signalled(9), ((31, 9, 0.1),), None),
        # A worker that died was replaced; this exception says nothing of it.
        (failed("ValueError", "bad label"), ((31, 9, 1),), None),
        (failed("RuntimeError", "DataLoader worker (pid(s) 31) exited unexpectedly"), (), None),
        # What dies after the program follows it.
        (exited(143, role="command"), ((31, 15, -5),), None),
        (exited(0), ((31, 9, 1),), None),
    ],
)
def test_the_child_whose_death_ended_the_program(
    subject: End, children: tuple[tuple[int, int, float], ...], fatal: int | None
) -> None:
    ends = tuple(child(*each) for each in children)

    found = find_lost_child(evidence(subject, children=ends))

    assert (found.pid if found else None) == fatal


@pytest.mark.parametrize(
    ("end", "name"),
    [
        (End(pid=7, rank=2), "rank 2"),
        (End(pid=7, role="child", name="Process-3", source="multiprocessing"), "worker 7 (Process-3)"),
        (End(pid=7, role="child", name="python train.py"), "child 7 (python train.py)"),
        (End(pid=7, role="child"), "child process 7"),
        (End(pid=7), "process 7"),
    ],
)
def test_what_a_process_is_called(end: End, name: str) -> None:
    assert call(end) == name
