"""The state of a command under `holter run`, and of the programs that record inside it."""

import pytest

from holter.model.records import Exited, Finished
from holter.model.state import Lateness, Outcome, Witness, settle

SECOND = 1_000_000_000
NOW = 1_000 * SECOND


def process(
    status: int | None = None,
    *,
    began_s: int = 10,
    ended_s: int = 20,
    finished: Finished | None = None,
    joined: tuple[Witness, ...] = (),
    rank: int | None = None,
) -> Witness:
    """A process with a wait status, or a living one."""
    at_ns = ended_s * SECOND
    exited = Exited(at_ns=at_ns, journal="j", pid=1, source="wait", status=status) if status is not None else None
    return Witness(
        pid=1,
        began_ns=began_s * SECOND,
        last_seen_ns=at_ns,
        is_alive=status is None,
        exited=exited,
        finished=finished,
        joined=joined,
        rank=rank,
    )


def outcome(command: Witness) -> Outcome:
    return settle([command], [], now_ns=NOW, lateness=Lateness())


SAID = Finished(at_ns=15 * SECOND, exit_code=0)
LEAVING = Finished(at_ns=15 * SECOND, how="atexit")


@pytest.mark.parametrize(
    ("command", "inner", "state"),
    [
        (None, [], "running"),
        (0, [], "finished"),
        (3 << 8, [], "failed"),
        (9, [], "crashed"),
        (None, [process(0, finished=LEAVING)], "running"),
        (None, [process(0, finished=SAID)], "finished"),
        (3 << 8, [process(0, finished=LEAVING)], "failed"),
        (3 << 8, [process(0, finished=SAID)], "finished"),
        (0, [process(1 << 8)], "failed"),
        (0, [process(9)], "crashed"),
        (0, [process()], "running"),
        (137 << 8, [process(9)], "crashed"),
        (0, [process(9, ended_s=12), process(0, began_s=13)], "finished"),
        (0, [process(9, ended_s=14), process(0, began_s=13)], "crashed"),
        (0, [process(9, rank=1, ended_s=12), process(0, rank=0, began_s=13)], "crashed"),
        (None, [process(9, ended_s=12), process(began_s=13)], "running"),
    ],
)
def test_the_state_of_a_command(command: int | None, inner: list[Witness], state: str) -> None:
    assert outcome(process(command, ended_s=30, joined=tuple(inner))).state == state


def test_the_reason_is_that_of_the_program_inside() -> None:
    found = outcome(process(1 << 8, ended_s=30, joined=(process(9),)))
    assert (found.because, found.ended_at_ns) == ("SIGKILL ended process 1", 20 * SECOND)
