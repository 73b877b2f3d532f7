"""The tasks of a step of SLURM, under `holter run -- srun …`: what srun's own words make known of them."""

import pytest

from holter.diagnosis.ranking import diagnose
from holter.diagnosis.rivals import SURE
from holter.model.evidence import Evidence, Memory, MemoryLevel, Said
from tests.causes.specimens import before, evidence, exited, said

TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/home/ada/train.py", line 8, in <module>',
    "    raise ValueError(text)",
    "ValueError: the tokenizer has 32000 entries",
)
QUIET = Memory(levels=(MemoryLevel(level=0, kills=0, kills_lately=0),), host_kills=0)


def step(code: int, *lines: str) -> Evidence:
    """What `srun` left with, and what was printed, the last 0.1 s before the end."""
    spoken: list[Said] = [said(text, before_s=0.1 * (len(lines) - number)) for number, text in enumerate(lines)]
    return evidence(exited(code, role="command", rank=0), said=tuple(spoken), memory=QUIET, state="failed")


@pytest.mark.parametrize(
    ("seen", "cause", "state"),
    [
        (step(139, "srun: error: vm: task 0: Segmentation fault"), "segmentation-fault", "crashed"),
        (step(139, "srun: error: n1: tasks 0-3: Segmentation fault (core dumped)"), "segmentation-fault", "crashed"),
        (step(137, "srun: error: vm: task 0: Killed"), "killed", "crashed"),
        (step(1, "srun: error: vm: task 0: Out Of Memory"), "cgroup-out-of-memory", "crashed"),
        (step(134, "srun: error: vm: task 2: Aborted"), "aborted", "crashed"),
        (step(3, "srun: error: vm: task 0: Exited with exit code 3"), "nonzero-exit", "failed"),
        (step(1, *TRACEBACK, "srun: error: vm: task 1: Exited with exit code 1"), "uncaught-exception", "failed"),
        # The first one counts; srun ends the others.
        (
            step(
                143,
                *TRACEBACK,
                "srun: error: vm: task 1: Exited with exit code 1",
                "srun: error: vm: task 0: Terminated",
            ),
            "uncaught-exception",
            "failed",
        ),
        # Somebody else's words, and a step that was well.
        (step(3, "error: vm: task 0: Segmentation fault"), "nonzero-exit", "failed"),
    ],
)
def test_the_first_task_that_srun_tells_of_is_the_one_to_ask_about(seen: Evidence, cause: str, state: str) -> None:
    told = diagnose(seen)
    assert (told.cause, told.state) == (cause, state)
    assert told.confidence < SURE


def test_the_task_is_named() -> None:
    told = diagnose(step(139, "srun: error: vm: task 3: Segmentation fault"))
    assert told.title.startswith("Rank 3 crashed in native code")
    assert "SIGSEGV ended rank 3 (read by srun)" in [fact.text for fact in told.evidence]


def test_the_counters_of_the_batch_script_are_not_those_of_the_step() -> None:
    told = diagnose(step(137, "srun: error: vm: task 0: Killed"))
    assert not [fact for fact in told.evidence if fact.source == "cgroup"]


def test_a_program_that_records_speaks_for_itself() -> None:
    seen = evidence(exited(3), said=(said("srun: error: vm: task 0: Segmentation fault"),))
    assert diagnose(seen).cause == "nonzero-exit"
    assert before(0) == seen.ended_ns
