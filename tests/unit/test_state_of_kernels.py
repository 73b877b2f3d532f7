"""How a notebook's kernel ended, from what it was asked and how it left."""

import pytest

from holter.model.records import Exited, Finished, KernelAsked, Raised
from holter.model.state import Lateness, Witness, last_wish, settle

S = 1_000_000_000
NOW = 100 * S
EXIT_0, EXIT_1, SIGTERM = 0, 1 << 8, 15


def outcome(*asked: KernelAsked, status: int, ended_ns: int = NOW) -> tuple[str, str]:
    exited = Exited(at_ns=ended_ns, journal="j", pid=7, source="wait", status=status)
    wish = last_wish(asked, ended_ns=ended_ns, status=status)
    witness = Witness(pid=7, last_seen_ns=ended_ns, is_alive=False, exited=exited, asked=wish)
    settled = settle([witness], [], now_ns=NOW + S, lateness=Lateness())
    return settled.state, settled.because


def asked(kind: str, seconds_before: float, *, is_busy: bool = False) -> KernelAsked:
    return KernelAsked(at_ns=NOW - int(seconds_before * S), kind=kind, is_busy=is_busy)


@pytest.mark.parametrize("status", [EXIT_0, SIGTERM])
@pytest.mark.parametrize("kind", ["restart", "shutdown"])
def test_told_to_end_while_idle_it_finished_whatever_its_status(kind: str, status: int) -> None:
    assert outcome(asked(kind, 1), status=status)[0] == "finished"


@pytest.mark.parametrize("status", [EXIT_0, SIGTERM])
@pytest.mark.parametrize(("kind", "done"), [("restart", "restarted"), ("shutdown", "shut down")])
def test_told_to_end_in_a_cell_it_failed_by_its_users_own_act(kind: str, status: int, done: str) -> None:
    because = f"the notebook's kernel was {done} while a cell was running"
    assert outcome(asked(kind, 1, is_busy=True), status=status) == ("failed", because)


def test_what_it_is_asked_after_its_end_or_long_before_counts_for_nothing() -> None:
    assert outcome(asked("restart", -2.5), status=SIGTERM) == ("crashed", "SIGTERM ended process 7")
    assert outcome(asked("restart", 90), status=SIGTERM)[0] == "crashed"
    assert outcome(asked("interrupt", 1, is_busy=True), status=EXIT_0)[0] == "finished"


def test_a_kernel_that_found_its_server_gone_was_ended_also_while_idle() -> None:
    crashed = ("crashed", "the Jupyter server died, and the notebook's kernel with it")
    assert outcome(asked("server-gone", 0), status=EXIT_1) == crashed
    assert outcome(asked("shutdown", 0.1), asked("server-gone", 0), status=EXIT_1) == crashed
    # It had been told to leave, and did; the server went on leaving.
    assert outcome(asked("shutdown", 0.1), asked("server-gone", 0), status=EXIT_0)[0] == "finished"


FAILED_CELL = Raised(at_ns=NOW - 30 * S, type="ValueError", message="no data", traceback="", where="cell")


def after_failed_cell(**known: object) -> tuple[str, str, int | None]:
    exited = Exited(at_ns=NOW, journal="j", pid=7, source="wait", status=EXIT_0)
    facts = {"last_seen_ns": NOW, "is_alive": False, "exited": exited, "failed_cell": FAILED_CELL, **known}
    settled = settle([Witness(pid=7, **facts)], [], now_ns=NOW + S, lateness=Lateness())  # type: ignore[arg-type]  # a table
    return settled.state, settled.because, settled.ended_at_ns


@pytest.mark.parametrize(
    "known",
    [
        {"asked": asked("shutdown", 1)},
        {"asked": asked("restart", 1)},
        {"finished": Finished(at_ns=NOW, how="atexit")},
        {"finished": Finished(at_ns=NOW - 5 * S, how="replaced")},
    ],
    ids=["shut down", "restarted", "left in order", "another run was opened"],
)
def test_a_notebook_that_is_put_away_after_its_training_cell_failed_has_failed_then(known: dict[str, object]) -> None:
    assert after_failed_cell(**known) == ("failed", "ValueError: no data", FAILED_CELL.at_ns)


def test_whoever_calls_finish_after_a_failed_cell_says_that_all_is_well() -> None:
    assert after_failed_cell(finished=Finished(at_ns=NOW - S, how="finish"))[0] == "finished"


def test_what_became_of_the_kernel_later_counts_more_than_a_failed_cell() -> None:
    killed = Exited(at_ns=NOW, journal="j", pid=7, source="wait", status=9)
    assert after_failed_cell(exited=killed)[:2] == ("crashed", "SIGKILL ended process 7")
    assert after_failed_cell(asked=asked("restart", 1, is_busy=True))[1].endswith("while a cell was running")
    assert after_failed_cell(exited=None, is_alive=True)[0] == "running"
