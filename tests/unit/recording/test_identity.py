"""Which run a process belongs to."""

import re

from holter.recording.identity import identify_run, new_name

SLURM = {"SLURM_JOB_ID": "12", "SLURM_CLUSTER_NAME": "c", "SLURM_JOB_NAME": "train"}


def test_a_chosen_id_wins_over_every_scheduler() -> None:
    identity = identify_run("mine", {**SLURM, "TORCHELASTIC_RUN_ID": "x", "RANK": "3"}, agent="")
    assert (identity.run, identity.rank) == ("mine", 3)


def test_all_tasks_of_a_slurm_job_are_one_run_and_a_requeue_is_its_next_attempt() -> None:
    first = identify_run("", {**SLURM, "SLURM_PROCID": "0"}, agent="a")
    second = identify_run("", {**SLURM, "SLURM_PROCID": "1"}, agent="b")
    again = identify_run("", {**SLURM, "SLURM_RESTART_COUNT": "1"}, agent="c")
    assert first.run == second.run == again.run
    assert (first.attempt, again.attempt) == (1, 2)
    assert (first.rank, second.rank) == (0, 1)


def test_array_tasks_and_other_jobs_are_runs_of_their_own() -> None:
    runs = {
        identify_run("", {**SLURM, **other}, agent="").run
        for other in ({}, {"SLURM_ARRAY_TASK_ID": "1"}, {"SLURM_ARRAY_TASK_ID": "2"}, {"SLURM_JOB_ID": "13"})
    }
    assert len(runs) == 4


def test_programs_in_an_interactive_allocation_are_not_one_run() -> None:
    environ = {**SLURM, "SLURM_JOB_NAME": "interactive"}
    assert identify_run("", environ, agent="").run != identify_run("", environ, agent="").run


def test_torchruns_workers_are_one_run_by_its_id_or_else_by_their_agent() -> None:
    named = {"TORCHELASTIC_RUN_ID": "job7", "RANK": "0", "TORCHELASTIC_RESTART_COUNT": "2"}
    unnamed = {"TORCHELASTIC_RUN_ID": "none", "RANK": "1"}
    assert identify_run("", named, agent="a").run == identify_run("", named, agent="b").run
    assert identify_run("", named, agent="a").attempt == 3
    assert identify_run("", unnamed, agent="a").run == identify_run("", unnamed, agent="a").run
    assert identify_run("", unnamed, agent="a").run != identify_run("", unnamed, agent="b").run


def test_a_plain_program_gets_a_new_id_of_eight_characters() -> None:
    ids = {identify_run("", {}, agent="").run for _ in range(100)}
    assert len(ids) == 100
    assert all(re.fullmatch(r"[0-9a-z]{8}", run) for run in ids)


def test_names_can_be_said_aloud() -> None:
    assert re.fullmatch(r"[a-z]+-[a-z]+-\d{1,2}", new_name())
