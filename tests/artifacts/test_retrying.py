"""`holter run --retry`: again after what may pass, from the last checkpoint, and never into the same wall."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from holter.errors import UsageError
from holter.journal.stop_request import StopRequest, read_stop_request, write_stop_request
from holter.launcher.retrying import USUAL, Death, Retry, causes_of, wait_before, why_not
from holter.sidecar.stopping import StopWishes

PROGRAM = """
import os, holter
run = holter.init(project="p")
last = holter.resume()
place = os.environ.get("HOLTER_RESUME_FROM", "-")[-18:]
print("attempt", os.environ["HOLTER_ATTEMPT"], "from", last and last.step, "in", place)
run.checkpoint({"w": 1}, int(os.environ["HOLTER_ATTEMPT"]) * 10, artifact=False)
if os.environ["HOLTER_ATTEMPT"] == "1":
    raise ValueError("only now")
raise KeyError("always here")
"""


def test_a_retry_is_for_listed_causes_and_ends_where_nothing_changes() -> None:
    retry = Retry(times=2)
    memory, other = Death("cgroup-out-of-memory", "a"), Death("segmentation-fault", "b")
    assert why_not(memory, [], retry) == ""
    assert why_not(memory, [memory], retry) == ""
    assert why_not(memory, [memory, memory], retry) == "2 retries are used up"
    assert why_not(other, [], retry).startswith("segmentation-fault is none of the causes to retry after (host-out")
    raised = Retry(times=5, causes=("uncaught-exception",))
    here, there = Death("uncaught-exception", "ValueError in a.py:3"), Death("uncaught-exception", "KeyError in a.py:9")
    assert why_not(here, [], raised) == why_not(here, [there], raised) == ""
    assert "again at the same place (ValueError in a.py:3)" in why_not(here, [there, here], raised)


def test_pauses_grow_and_causes_are_checked() -> None:
    retry = Retry(times=9, wait_s=5.0)
    assert [wait_before(number, retry) for number in (0, 1, 2, 9)] == [5.0, 10.0, 20.0, 300.0]
    assert causes_of(",".join(USUAL)) == USUAL
    with pytest.raises(UsageError, match="out-of-coffee"):
        causes_of("out-of-coffee")


def test_the_command_goes_on_from_its_checkpoint_and_is_not_repeated_for_ever(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    options = ["--retry", "5", "--on", "uncaught-exception", "--wait", "0s"]
    done = subprocess.run(
        [sys.executable, "-m", "holter", "run", *options, "--", sys.executable, "train.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("attempt")] == [
        "attempt 1 from None in -",
        "attempt 2 from 10 in step-000000010.pkl",
        "attempt 3 from 20 in step-000000020.pkl",
    ]
    assert "attempt 2 of 6 in 0 s, after uncaught-exception, from step 10" in done.stderr
    assert "not started again after attempt 3: the same exception came again at the same place" in done.stderr


def test_a_wish_for_after_the_checkpoint_waits_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import holter

    monkeypatch.chdir(tmp_path)
    with holter.init(project="p", mode="offline") as run:
        wishes = StopWishes(run.dir, run.attempt)
        write_stop_request(run.dir, StopRequest(by="ada", at_ns=5, attempt=run.attempt, after="checkpoint"))
        assert wishes.look() is None
        run.checkpoint({"w": 1}, 1, artifact=False)
        found = wishes.look()
        assert found is not None
        assert (found.by, found.after) == ("ada", "")
        assert read_stop_request(run.dir) == found
        assert os.path.isdir(run.dir)
