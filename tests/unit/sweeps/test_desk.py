"""Leases, fences, and what follows a death."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from holter.agents.asking import this_agent
from holter.errors import JournalError, NoSweep, UsageError
from holter.probes.identity import this_process
from holter.storage.opening import open_sweeps
from holter.sweeps.configuration import read_configuration
from holter.sweeps.desk import LEASE_S, Desk
from holter.sweeps.opening import begin_local, list_local, open_local
from holter.sweeps.search import Search, Suggested
from holter.sweeps.state import SweepState
from holter.sweeps.words import Outcome
from tests.unit.sweeps.desks import Bench

X = {"x": {"min": 0.0, "max": 1.0}}

MEMORY = (
    "host-out-of-memory cgroup-out-of-memory gpu-out-of-memory allocation-refused shared-memory-full"
    " userspace-oom-killer memory-pressure"
)
FROM_OUTSIDE = (
    "killed terminated scheduler-preempted scheduler-time-limit scheduler-cancelled host-lost connection-lost unknown"
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, parameters=X, run_cap=3)


def test_each_trial_is_handed_out_once_and_the_sweep_ends_with_the_last(bench: Bench) -> None:
    leases = [bench.take("a"), bench.take("b"), bench.take("c")]
    assert [each.number for each in leases] == [0, 1, 2]
    assert bench.ask("d").why == "the last trials are running"
    for lease, agent in zip(leases, "abc", strict=True):
        assert bench.finish(lease, lease.number, agent)
    assert bench.ask("d").kind == "over"
    assert bench.desk.state().best() == bench.desk.state().trials[0]


def test_a_lost_lease_is_freed_and_its_late_words_do_not_count(bench: Bench) -> None:
    lease = bench.take("a")
    bench.now_ns += int((LEASE_S + 1) * 1e9)
    again = bench.take("b")
    assert (again.number, again.fence, again.run) == (0, 2, "s1-0-2")
    assert again.before == ("s1-0",)
    assert not bench.finish(lease, 0.5, "a")
    assert not bench.say(lease, "a").holds
    assert bench.finish(again, 0.25, "b")
    trial = bench.desk.state().trials[0]
    assert (trial.value, [each.cause for each in trial.attempts]) == (0.25, ["agent-lost", ""])


def test_a_renewed_lease_holds(bench: Bench) -> None:
    lease = bench.take("a")
    for _ in range(5):
        bench.now_ns += int((LEASE_S - 1) * 1e9)
        assert bench.say(lease, "a").holds
        assert bench.take("b").number != 0 if not bench.desk.state().trials[1:] else True
    assert bench.desk.state().holds(0, 1)


def test_an_answer_that_was_lost_loses_no_trial(bench: Bench) -> None:
    lost = bench.take("a")
    again = bench.take("a")
    assert (again.number, again.fence) == (0, 2)
    assert not bench.say(lost, "a").holds
    assert bench.say(again, "a").holds
    assert bench.desk.state().trials[0].tries == 1


def test_a_process_that_is_gone_loses_its_lease_at_once(bench: Bench) -> None:
    bench.take("a")
    bench.gone.add("a")
    assert bench.take("b").number == 0


def test_an_agent_of_another_container_of_this_host_is_not_taken_for_gone(tmp_path: Path) -> None:
    given = read_configuration({"method": "random", "parameters": X})
    sweep = open_local(str(tmp_path), begin_local(str(tmp_path), given, project="p", by="ada"))
    here = this_agent()
    assert here.pid_namespace == this_process().pid_namespace

    def take(agent: str, **about: Any) -> int:
        lease = sweep.ask(msgspec.structs.replace(here, id=agent, **about)).lease
        assert lease is not None
        return lease.number

    # With another start it is another process that had this pid.
    assert take("elsewhere", started=here.started + 1, pid_namespace="pid:[1]") == 0
    assert take("gone", started=here.started + 1) == 1
    assert take("living") == 1
    assert take("last") == 2


def test_a_trial_that_took_long_to_choose_is_not_taken_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    suggest = Search.suggest

    def slowly(search: Search, state: SweepState) -> Suggested:
        bench.now_ns += int((LEASE_S + 1) * 1e9)
        return suggest(search, state)

    monkeypatch.setattr(Search, "suggest", slowly)
    lease = bench.take("a")
    assert bench.take("b").number == 1
    assert bench.say(lease, "a").holds
    bench.now_ns += int((LEASE_S + 1) * 1e9)
    assert bench.take("c").number == 0


def test_what_its_run_says_counts_where_an_agent_died_after_it(bench: Bench) -> None:
    lease = bench.take("a")
    bench.ended[lease.run] = Outcome(state="finished", value=0.125)
    bench.now_ns += 11_000_000_000
    assert bench.take("b").number == 1
    assert bench.desk.state().trials[0].value == 0.125


@pytest.mark.parametrize(
    ("cause", "state"),
    [
        *((cause, "infeasible") for cause in MEMORY.split()),
        *((cause, "waiting") for cause in FROM_OUTSIDE.split()),
        ("gpu-fault", "waiting"),
        ("disk-full", "waiting"),
        ("diverged", "pruned"),
        ("uncaught-exception", "failed"),
        ("segmentation-fault", "failed"),
        ("gpu-program-fault", "failed"),
    ],
)
def test_the_cause_decides(bench: Bench, cause: str, state: str) -> None:
    bench.die(bench.take(), cause)
    assert bench.states() == [state]


def test_what_is_tried_again_is_tried_three_times(bench: Bench) -> None:
    for fence in (1, 2, 3):
        lease = bench.take()
        assert (lease.number, lease.fence) == (0, fence)
        bench.die(lease, "killed")
    assert bench.states() == ["failed"]
    assert bench.take().number == 1


def test_what_is_given_back_is_no_try(bench: Bench) -> None:
    for _ in range(4):
        bench.say(bench.take(), ended=Outcome(state="crashed", is_given_back=True))
    assert bench.states() == ["waiting"]
    assert bench.desk.state().trials[0].tries == 0


def test_a_trial_goes_to_another_agent_where_there_is_one(bench: Bench) -> None:
    bench.die(bench.take("a"), "killed", "a")
    bench.die(bench.take("b"), "killed", "b")
    assert bench.desk.state().trials[0].last.agent == "b"  # type: ignore[union-attr]


def test_the_same_exception_three_times_stops_the_sweep(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=X)
    for _ in range(3):
        bench.die(
            bench.take(), "uncaught-exception", place="KeyError train.py:3 in main", because="KeyError", traceback="TB"
        )
    answer = bench.ask()
    assert (answer.kind, answer.why) == (
        "over",
        "3 trials failed at the same place, so it is the code: KeyError\nTB",
    )


def test_other_exceptions_do_not_stop_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=X)
    for number in range(5):
        bench.die(bench.take(), "uncaught-exception", place=f"KeyError train.py:{number}")
    assert bench.ask().kind == "trial"


def test_a_faulty_gpu_gets_no_more_trials(bench: Bench) -> None:
    bench.die(bench.take("a", gpu="1"), "gpu-fault")
    assert bench.ask("a", gpu="1").why == "host-a/1 gets no trials: gpu-fault"
    assert bench.take("b", gpu="1").number == 0
    bench.desk.change("lift", by="ada", what="host-a/1")
    assert bench.take("a", gpu="1").number == 1


def test_who_gets_no_trials_leaves_with_the_others_when_all_have_ended(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=X, run_cap=1)
    bench.die(bench.take("a", gpu="1"), "gpu-fault")
    assert bench.ask("a", gpu="1").kind == "wait"
    bench.finish(bench.take("b"), 0.5, "b")
    answer = bench.ask("a", gpu="1")
    assert (answer.kind, answer.why) == ("over", "all trials have ended")
    bench.desk.change("pause", by="ada")
    assert bench.ask("b").kind == "over"


def test_a_full_disk_pauses_its_host(bench: Bench) -> None:
    bench.die(bench.take("a", gpu="1"), "disk-full")
    assert "make room" in bench.ask("c", host="host-a").why
    assert bench.take("b").number == 0


def test_a_diverged_trial_is_pruned_with_its_last_finite_value(bench: Bench) -> None:
    lease = bench.take()
    bench.say(lease, reports=((1, 3.0), (2, 2.5), (3, float("nan"))))
    bench.die(lease, "diverged")
    trial = bench.desk.state().trials[0]
    assert (trial.state, trial.value) == ("pruned", 2.5)


def test_the_table_can_be_changed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=X, on_death={"segmentation-fault": "again", "killed": "stop"})
    bench.die(bench.take(), "segmentation-fault")
    assert bench.states() == ["waiting"]
    bench.die(bench.take(), "killed", because="somebody did it")
    assert bench.ask().why == "killed: somebody did it"


def test_people_pause_resume_and_stop(bench: Bench) -> None:
    bench.desk.change("pause", by="ada")
    assert bench.ask().why == "the sweep is paused"
    bench.desk.change("resume", by="ada")
    lease = bench.take()
    bench.desk.change("stop", by="ada")
    assert bench.ask("b").kind == "over"
    assert not bench.say(lease).is_ended
    bench.desk.change("end", by="ada")
    assert bench.say(lease).is_ended
    with pytest.raises(UsageError, match="a sweep can be told"):
        bench.desk.change("explode", by="ada")


def test_a_target_that_is_reached_ends_the_sweep(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=X, metric={"name": "loss", "target": 0.5})
    bench.finish(bench.take(), 0.75)
    bench.finish(bench.take(), 0.5)
    assert bench.ask().why == "a trial reached 0.5"


def test_a_trial_without_its_metric_failed(bench: Bench) -> None:
    bench.say(bench.take(), ended=Outcome(state="finished", because="it never logged loss"))
    trial = bench.desk.state().trials[0]
    assert (trial.state, trial.because) == ("failed", "it never logged loss")


def without_value(bench: Bench, times: int) -> None:
    for _ in range(times):
        bench.say(bench.take(), ended=Outcome(state="finished", because="it never logged los"))


def test_a_metric_that_no_trial_logs_stops_the_sweep(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=X)
    without_value(bench, 3)
    answer = bench.ask()
    assert (answer.kind, answer.why) == (
        "over",
        "3 trials ended without a value, so it is the code or `metric`: it never logged los",
    )


def test_a_metric_that_some_trial_logs_does_not_stop_it(tmp_path: Path) -> None:
    bench = Bench(tmp_path, parameters=X)
    without_value(bench, 2)
    bench.finish(bench.take(), 0.5)
    without_value(bench, 3)
    assert bench.ask().kind == "trial"


def test_given_trials_come_first_and_taken_ones_are_finished(bench: Bench) -> None:
    assert bench.desk.add({"x": 0.5}) == 0
    assert bench.desk.add({"x": 0.25}, value=0.1, run="old") == 1
    assert bench.take().params == {"x": 0.5}
    assert bench.states() == ["running", "finished"]
    assert bench.desk.again(1, by="ada") == 2
    assert bench.take("b").params == {"x": 0.25}


def test_two_processes_at_one_sweep_agree(bench: Bench) -> None:
    other = bench.open()
    assert [bench.take("a").number, bench.ask("b", desk=other).lease.number] == [0, 1]  # type: ignore[union-attr]
    assert other.state().trials == bench.desk.state().trials


def test_a_torn_line_is_cut_off_and_a_damaged_one_is_said(bench: Bench, tmp_path: Path) -> None:
    bench.take()
    path = tmp_path / "sweeps" / "s1" / "book.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'0badcafe {"e":"ha')
    assert bench.open().state().trials[0].state == "running"
    other = bench.open()
    other.change("pause", by="ada")
    assert other.state().status == "paused"
    assert b"0badcafe" not in path.read_bytes()
    path.write_bytes(whole[:40] + b"#" + whole[41:] + b"rest\n")
    with pytest.raises(JournalError, match="is damaged at byte 0"):
        bench.open().state()


def test_a_sweep_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoSweep, match="there is no sweep 'none'"):
        Desk(open_sweeps(str(tmp_path)), "none")


def test_a_grid_is_walked_once(tmp_path: Path) -> None:
    bench = Bench(tmp_path, method="grid", parameters={"a": {"values": [1, 2, 3]}, "b": {"values": ["x", "y"]}})
    seen = []
    for turn in range(6):
        # Every second trial is asked for by another process.
        lease = bench.ask("a", desk=bench.open() if turn % 2 else None).lease
        assert lease is not None
        seen.append((lease.params["a"], lease.params["b"]))
        bench.finish(lease, 1.0)
    assert sorted(seen) == [(1, "x"), (1, "y"), (2, "x"), (2, "y"), (3, "x"), (3, "y")]
    assert bench.ask().kind == "over"


def test_a_sweep_that_could_not_be_begun_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    begun = Bench(tmp_path, parameters=X)
    with monkeypatch.context() as full:
        full.setattr("holter.storage.files.sweeps.os.write", killed)
        with pytest.raises(OSError, match="No space left"):
            begin_local(str(tmp_path), begun.desk._configuration(), project="p", by="ada")
    assert [each.id for each in list_local(str(tmp_path))] == ["s1"]


SMALLER: dict[str, Any] = {
    "parameters": {"batch": {"values": [64, 256, 7]}, "steps": {"value": 1}},
    "smaller_batch": {"halve": "batch", "double": "steps"},
}


def test_what_does_not_fit_is_tried_once_more_with_a_smaller_batch_where_that_is_asked_for(tmp_path: Path) -> None:
    bench = Bench(tmp_path, **SMALLER)
    bench.desk.add({"batch": 256})
    bench.die(bench.take(), "gpu-out-of-memory")
    again = bench.take()
    assert (again.number, again.params, again.before) == (0, {"batch": 128, "steps": 2}, ("s1-0",))
    bench.finish(again, 0.5)
    bench.desk.add({"batch": 64})
    for _ in range(2):
        bench.die(bench.take(), "gpu-out-of-memory")
    bench.desk.add({"batch": 7})
    odd = bench.take()
    bench.die(odd, "gpu-out-of-memory")
    assert odd.params == {"batch": 7, "steps": 1}
    assert bench.states() == ["finished", "infeasible", "infeasible"]
    trial = bench.desk.state().trials[0]
    assert (trial.params, trial.changed) == ({"batch": 256, "steps": 1}, {"batch": 128, "steps": 2})
    assert bench.desk.again(0, by="ada") == 3
    assert bench.take().params == {"batch": 256, "steps": 1}


@pytest.mark.parametrize("method", ["random", "tpe", "nsgaii"])
def test_changed_bounds_hold_from_the_next_trial_on(tmp_path: Path, method: str) -> None:
    bench = Bench(tmp_path, parameters={**X, "n": {"min": 1, "max": 9}}, method=method)
    running = bench.take("b")
    for value in range(12):
        bench.finish(bench.take(), value)
    bench.desk.change("bounds", by="ada", what="x", bounds=(0.5, 2.0))
    bench.desk.change("bounds", by="ada", what="n", bounds=(3, 4))
    bench.finish(running, 0.0, "b")
    bench.desk = bench.open()
    for value in range(14):
        lease = bench.take()
        assert 0.5 <= lease.params["x"] <= 2
        assert lease.params["n"] in (3, 4)
        bench.finish(lease, value)
    assert bench.desk.importance().keys() <= {"x", "n"}
    assert set(bench.states()) == {"finished"}


def test_bounds_that_can_not_be_are_refused(tmp_path: Path) -> None:
    log = {"distribution": "log_uniform_values", "min": 0.1, "max": 1}
    bench = Bench(tmp_path, parameters={**X, "n": {"min": 1, "max": 9}, "c": {"values": [1, 2]}, "l": log})
    for what, bounds, said in [
        ("y", (0.0, 1.0), "no parameter 'y'"),
        ("x", (1.0, 0.0), "the lower one first"),
        ("x", (float("nan"), 1.0), "the lower one first"),
        ("x", None, "say which bounds"),
        ("n", (0.5, 2.0), "must be whole"),
        ("c", (0.0, 1.0), "has no bounds"),
        ("l", (0.0, 1.0), "must be above 0"),
    ]:
        with pytest.raises(UsageError, match=said):
            bench.desk.change("bounds", by="ada", what=what, bounds=bounds)
