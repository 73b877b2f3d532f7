"""What SLURM says about jobs: recorded with version 22.05.8, or, where a test says so, as others published it."""

import time
from pathlib import Path

import pytest

from holter.model.evidence import Job
from holter.probes.postmortem import job as job_source
from holter.probes.postmortem.job import find, look, merge, parse_output, parse_sacct, parse_scontrol, read_tail

RECORDED = Path(__file__).parents[3] / "zoo" / "recordings" / "slurm-22.05"

CANCELLED = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-05-01T10:00:00"
KILLED = "Some of the step tasks have been OOM Killed."


def recorded(name: str, number: str) -> Job:
    known = parse_scontrol((RECORDED / f"{name}.scontrol").read_text(), number)
    assert known is not None
    return merge(known, parse_output((RECORDED / f"{name}.out").read_text(), number, began_ns=0))


@pytest.mark.parametrize(
    ("name", "number", "state", "reason", "exit_code"),
    [
        ("time-limit", "1", "TIMEOUT", "TimeLimit", "0:15"),
        ("cancelled", "2", "CANCELLED", "", "0:15"),
        ("out-of-memory", "3", "OUT_OF_MEMORY", "OutOfMemory", "0:125"),
        ("out-of-memory-in-srun", "4", "OUT_OF_MEMORY", "NonZeroExitCode", "1:0"),
        ("killed", "5", "FAILED", "JobLaunchFailure", "0:9"),
        ("killed-in-srun", "6", "FAILED", "NonZeroExitCode", "137:0"),
        ("preempted", "7", "PREEMPTED", "BeginTime", "0:0"),
    ],
)
def test_ends_of_jobs(name: str, number: str, state: str, reason: str, exit_code: str) -> None:
    found = recorded(name, number)
    assert (found.state, found.reason, found.exit_code) == (state, reason, exit_code)
    assert found.ends_at_ns is None


@pytest.mark.parametrize(
    ("name", "number", "said"),
    [
        ("time-limit", "1", "CANCELLED AT 2026-11-15T11:42:38 DUE TO TIME LIMIT ***"),
        ("preempted", "7", "CANCELLED AT 2026-11-15T11:41:38 DUE TO PREEMPTION ***"),
        ("out-of-memory-in-srun", "4", "srun: error: vm: task 0: Out Of Memory"),
        ("killed-in-srun", "6", "srun: error: vm: task 0: Killed"),
        ("killed", "5", ""),
    ],
)
def test_the_scheduler_s_own_line_is_kept(name: str, number: str, said: str) -> None:
    assert recorded(name, number).said.endswith(said)
    assert bool(recorded(name, number).said) == bool(said)


def test_a_preempted_job_has_been_restarted() -> None:
    assert recorded("preempted", "7").restarts == 1


def test_a_running_job_knows_its_output_and_its_end() -> None:
    found = parse_scontrol((RECORDED / "running.scontrol").read_text(), "2")
    assert found is not None
    assert (found.state, found.output) == ("RUNNING", "/home/me/jobs/cancel.out")
    assert found.ends_at_ns == int(time.mktime((2026, 11, 15, 12, 41, 11, 0, 0, -1))) * 10**9


@pytest.mark.parametrize(
    ("line", "state"),
    [
        (f"{CANCELLED} DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***", "NODE_FAIL"),
        ("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2024-05-01T10:00:00 DUE TO TIME LIMIT ***", "TIMEOUT"),
        ("slurmd[n1]: error: *** JOB 7 CANCELLED AT 2013-05-01T10:00:00 DUE TO TIME LIMIT ***", "TIMEOUT"),
        (f"{CANCELLED} DUE TO JOB REQUEUE ***", "REQUEUED"),
        (f"slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch. {KILLED}", "OUT_OF_MEMORY"),
        (f"[2026-09-21T10:00:00.123] error: Detected 2 oom_kill events in StepId=7.0. {KILLED}", "OUT_OF_MEMORY"),
        (
            "slurmstepd: error: StepId=7.batch exceeded memory limit (734003200 > 52428800), being killed",
            "OUT_OF_MEMORY",
        ),
    ],
    ids=["node failure", "a step", "an old one without a node", "requeue", "23 one kill", "23 three kills", "counted"],
)
def test_lines_of_other_versions_as_their_users_and_sources_have_them(line: str, state: str) -> None:
    said = parse_output(f"epoch 1\n{line}\n", "7", began_ns=0)
    assert said is not None
    assert said.state == state


@pytest.mark.parametrize(
    "line",
    [
        "slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-05-01T10:00:00 DUE TO TIME LIMIT ***",
        "I was CANCELLED AT noon DUE TO TIME LIMIT",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=8.batch.",
        "srun: error: n1: task 0: Exited with exit code 3",
    ],
    ids=["of another job", "the program's own words", "memory of another job", "an exit code"],
)
def test_lines_that_are_not_about_the_end_of_this_job(line: str) -> None:
    assert parse_output(line, "7", began_ns=0) is None


def test_the_end_of_an_earlier_start_of_the_same_job_does_not_count() -> None:
    line = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2024-05-01T10:00:00 DUE TO PREEMPTION ***"
    now_ns = int(time.mktime((2024, 5, 1, 11, 0, 0, 0, 0, -1))) * 10**9
    assert parse_output(line, "7", began_ns=now_ns) is None


def test_accounting_says_who_cancelled_a_job() -> None:
    text = "7|CANCELLED by 1000|0:15|None|0\n"
    assert parse_sacct(text, "7") == Job(
        scheduler="slurm", job="7", state="CANCELLED", exit_code="0:15", restarts=0, source="sacct", by="1000"
    )


def test_accounting_of_older_versions_has_a_line_for_each_start() -> None:
    found = parse_sacct("7|PREEMPTED|0:0\n7|OUT_OF_MEMORY+|0:125\n", "7")
    assert found is not None
    assert (found.state, found.restarts) == ("OUT_OF_MEMORY", 1)


@pytest.mark.parametrize("text", ["", "8|FAILED|1:0\n", "slurm_persist_conn_open: failed\n"])
def test_a_job_that_nobody_knows(text: str) -> None:
    assert parse_sacct(text, "7") is None
    assert parse_scontrol(text, "7") is None


def test_a_job_is_known_by_its_variables() -> None:
    assert find({}) is None
    assert find({"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "2", "SLURM_JOB_END_TIME": "1700000000"}) == Job(
        scheduler="slurm", job="7", restarts=2, ends_at_ns=1700000000 * 10**9, source="environment"
    )
    assert find({"PBS_JOBID": "9.host"}) == Job(scheduler="pbs", job="9.host", source="environment")


def test_without_the_commands_the_output_alone_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_source, "ask", lambda command, within_s: None)
    output = tmp_path / "job.out"
    output.write_text((RECORDED / "time-limit.out").read_text())
    found = look(Job(scheduler="slurm", job="1", output=str(output), ends_at_ns=5), 0)
    assert isinstance(found, Job)
    assert (found.state, found.source, found.ends_at_ns) == ("TIMEOUT", "output", 5)


def test_where_nobody_knows_the_job_it_is_said_what_would_help(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_source, "ask", lambda command, within_s: None)
    found = look(Job(scheduler="slurm", job="1", output="/nowhere"), 0)
    assert not isinstance(found, Job)
    assert "job 1" in found.because


def test_a_file_that_can_t_be_read_has_no_tail() -> None:
    assert read_tail("/nowhere") == ""
