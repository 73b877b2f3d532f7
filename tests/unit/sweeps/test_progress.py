"""What an agent says in the terminal."""

import io

from holter.agents.progress import Progress
from holter.sweeps.words import Lease, Outcome


def test_each_trial_has_its_lines_with_the_best_and_the_time_to_go() -> None:
    now = [0.0]
    stream = io.StringIO()
    progress = Progress(metric="loss", goal="minimize", most=4, stream=stream, clock=lambda: now[0])

    def tell(number: int, outcome: Outcome | None, *, fence: int = 1) -> None:
        lease = Lease(sweep="s", number=number, fence=fence, run="r", params={"lr": 0.001, "net": "x" * 99})
        progress.begin(lease)
        now[0] += 60
        progress.end(lease, outcome)

    tell(0, Outcome(state="finished", value=0.5))
    tell(1, Outcome(state="finished", value=0.75), fence=2)
    tell(2, Outcome(state="crashed", cause="gpu-out-of-memory"))
    tell(2, Outcome(state="finished", value=0.1, is_pruned=True))
    tell(2, Outcome(state="crashed", is_given_back=True))
    tell(3, None)
    progress.wait("the sweep is paused")
    progress.wait("the sweep is paused")
    best, values = "best of this agent 0.5 (trial 0)", f"lr=0.001 net={'x' * 39}…"
    assert [line.removeprefix("holter: ") for line in stream.getvalue().splitlines()] == [
        f"trial 0: {values}",
        f"trial 0 finished with loss 0.5 after 60.0 s; {best}; 1 of 4 begun, at most 3 min to go",
        f"trial 1, attempt 2: {values}",
        f"trial 1 finished with loss 0.75 after 60.0 s; {best}; 2 of 4 begun, at most 2 min to go",
        f"trial 2: {values}",
        f"trial 2 crashed (gpu-out-of-memory) after 60.0 s; {best}; 3 of 4 begun, at most 60.0 s to go",
        f"trial 2: {values}",
        f"trial 2 was ended early after 60.0 s; {best}; 3 of 4 begun, at most 60.0 s to go",
        f"trial 2: {values}",
        f"trial 2 was given back after 60.0 s; {best}; 3 of 4 begun, at most 60.0 s to go",
        f"trial 3: {values}",
        "trial 3: its lease was lost, so nothing of it counts; another agent has it",
        "waiting: the sweep is paused",
    ]
