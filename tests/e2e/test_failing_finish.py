"""`finish(exit_code=1)` around an exception, as W&B's own pages recommend it: the exception is the cause."""

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.judge.verdict import explain
from holter.catalog.read.loaded_run import LoadedRun
from holter.model.records import Raised
from holter.model.verdicts import Diagnosis
from tests.e2e.programs import data_directory, only_run, run, said

TRAINING = """
    import sys, holter

    def train():
        raise ValueError("the batch is empty")

    holter.init(project="p")
    holter.log({"loss": 1.0})
"""
RERAISED = """
    try:
        train()
    except Exception:
        holter.finish(exit_code=1)
        raise
"""
IN_FINALLY = """
    try:
        train()
    finally:
        holter.finish(exit_code=1)
"""
WENT_ON = """
    try:
        train()
    except Exception:
        holter.finish(exit_code=1)
"""
LEFT = f"""{WENT_ON}
    sys.exit(1)
"""
FOLLOWS = """
    holter.finish(exit_code=1)
    train()
"""
ANOTHER_FOLLOWS = """
    try:
        {}["lr"]
    except KeyError as error:
        holter.finish(exit_code=1)
        raise ValueError("the batch is empty") from error
"""
AFTER_ANOTHER_RUN = """
    holter.finish(exit_code=3)
    holter.init(project="p")
    holter.finish()
    train()
"""


def all_runs() -> list[LoadedRun]:
    catalog = Catalog(str(data_directory()))
    return [catalog.load(row.id) for row in catalog.rows()]


def told() -> tuple[str, Diagnosis, list[Raised]]:
    loaded = only_run()
    kept = [each for each in said(loaded.row.directory, Raised) if isinstance(each, Raised)]
    return loaded.row.state, explain(loaded).diagnosis, kept


@pytest.mark.parametrize("end", [RERAISED, IN_FINALLY, WENT_ON, LEFT, FOLLOWS, ANOTHER_FOLLOWS])
def test_the_exception_is_the_cause(end: str) -> None:
    done = run(TRAINING + end, HOLTER_WITHOUT="sidecar")
    assert done.returncode == (0 if end is WENT_ON else 1)
    state, found, kept = told()
    assert (state, found.cause) == ("failed", "uncaught-exception")
    assert found.confidence >= 0.9
    assert "ValueError: the batch is empty, raised at" in found.title
    assert found.title.endswith("nobody caught it" if end in (FOLLOWS, ANOTHER_FOLLOWS) else "ended its run")
    assert [each.type for each in kept][-1] == "ValueError"


def test_the_same_exception_is_kept_once() -> None:
    run(TRAINING + RERAISED, HOLTER_WITHOUT="sidecar")
    assert len(told()[2]) == 1


def test_ctrl_c_stays_an_interruption() -> None:
    end = WENT_ON.replace("train()", "signal.raise_signal(2)").replace("Exception", "KeyboardInterrupt")
    run(TRAINING.replace("import sys", "import signal, sys") + end, HOLTER_WITHOUT="sidecar")
    state, found, _ = told()
    assert (state, found.cause) == ("failed", "interrupted")


def test_a_finish_without_an_exception_is_an_exit_code_of_its_own() -> None:
    run(TRAINING + "\n    holter.finish(exit_code=3)\n", HOLTER_WITHOUT="sidecar")
    state, found, kept = told()
    assert (state, found.cause, kept) == ("failed", "nonzero-exit", [])


def test_a_good_finish_in_an_except_block_is_a_good_end() -> None:
    run(TRAINING + WENT_ON.replace("exit_code=1", ""), HOLTER_WITHOUT="sidecar")
    state, found, kept = told()
    assert (state, found.cause, kept) == ("finished", None, [])


def test_what_follows_another_run_is_not_the_cause_of_an_earlier_one() -> None:
    run(TRAINING + AFTER_ANOTHER_RUN, HOLTER_WITHOUT="sidecar")
    causes = {loaded.row.state: explain(loaded).diagnosis.cause for loaded in all_runs()}
    assert causes == {"failed": "nonzero-exit", "finished": None}


def test_a_forked_child_that_fails_later_adds_nothing() -> None:
    end = "\n    holter.finish(exit_code=3)\n    import os\n    if not os.fork():\n        train()\n    os.wait()\n"
    run(TRAINING + end, HOLTER_WITHOUT="sidecar")
    state, found, kept = told()
    assert (state, found.cause, kept) == ("failed", "nonzero-exit", [])


def test_with_a_sidecar_the_exception_that_follows_is_the_cause_too() -> None:
    run(TRAINING + FOLLOWS)
    state, found, _ = told()
    assert (state, found.cause) == ("failed", "uncaught-exception")
