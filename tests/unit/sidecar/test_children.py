"""What the sidecar calls a child, and which of those that it only hears of are its run's."""

import time
from pathlib import Path

import pytest

from holter.model.clock import Clock
from holter.probes.postmortem.connector import Announced
from holter.probes.postmortem.exit_witnesses import ExitWitnesses
from holter.sidecar.children import MOST_COMMAND, Children, read_command

PROGRAM, NOBODY = 2**30, 2**30 + 1


class Hearsay(ExitWitnesses):
    """Says what it is told to."""

    def __init__(self) -> None:
        super().__init__(frozenset({"connector", "pidfd-info"}))
        self.heard: list[Announced] = []

    def children_since(self, number: int) -> tuple[int, list[Announced]]:
        return len(self.heard), self.heard[number:]

    def announce(self, pid: int, status: int, *, parent: int = PROGRAM, ago_s: float = 0.0) -> None:
        self.heard.append(Announced(pid, status, time.monotonic_ns() - round(ago_s * 1e9), parent))


@pytest.mark.parametrize(
    ("cmdline", "comm", "command"),
    [
        (b"python\0train.py\0", b"python\n", "python train.py"),
        (b"upload\0--api-key\0hunter2\0--token=abc\0", b"upload\n", "upload --api-key … --token=…"),
        (b"x" * 1000, b"x\n", "x" * MOST_COMMAND),
        (b"", b"sh\n", "[sh]"),
        (b"caf\xe9\0", b"caf\xe9\n", "caf\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_command_is_bounded_and_without_secrets(tmp_path: Path, cmdline: bytes, comm: bytes, command: str) -> None:
    process = tmp_path / "7"
    process.mkdir()
    (process / "cmdline").write_bytes(cmdline)
    (process / "comm").write_bytes(comm)
    assert read_command(7, proc=str(tmp_path)) == command


def test_a_process_that_is_gone_has_no_command(tmp_path: Path) -> None:
    assert read_command(7, proc=str(tmp_path)) == ""


def test_an_exit_that_was_only_heard_of_is_told_once_with_its_own_time() -> None:
    exits = Hearsay()
    children = Children(Clock(), exits)
    children.add_root(PROGRAM)
    exits.announce(NOBODY, 11, ago_s=5)
    (told,) = children.look_for_deaths()
    assert (told.pid, told.source, told.status) == (NOBODY, "connector", 11)
    assert 4.5 < (Clock().now_ns() - told.at_ns) / 1e9 < 60
    assert children.look_for_deaths() == []


def test_exits_of_others_and_from_before_the_run_are_none_of_its_business() -> None:
    exits = Hearsay()
    exits.announce(NOBODY, 11)
    children = Children(Clock(), exits)
    children.add_root(PROGRAM)
    exits.announce(NOBODY + 1, 11, parent=NOBODY + 9)
    exits.announce(NOBODY + 2, 0)
    assert children.look_for_deaths() == []


def test_of_many_alike_only_some_are_told() -> None:
    exits = Hearsay()
    children = Children(Clock(), exits)
    children.add_root(PROGRAM)
    for number in range(100):
        exits.announce(NOBODY + number, 1 << 8)
    assert [each.times for each in children.look_for_deaths()] == [1, 2, 3, 4, 8, 16, 32, 64]
