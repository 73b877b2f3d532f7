"""A SIGTERM from whoever started a notebook's kernel."""

import signal

import msgspec
import pytest

from holter.catalog.read.parents_wishes import add_wishes
from holter.journal.digest import Digest
from holter.model.evidence import Caught
from holter.model.records import CellEnded, CellStarted, KernelAsked, Opened

SECOND = 1_000_000_000
OPENED = Opened(
    at_ns=100 * SECOND,
    run="abcd1234",
    writer="client",
    host="here",
    boot_id="boot",
    pid=7,
    process_started=1,
    holter="0",
    kernel_parent=3,
)
TERM = Caught(at_ns=200 * SECOND, pid=7, thread=7, signal=signal.SIGTERM, code=0, sender_pid=3)
CELL = CellStarted(at_ns=110 * SECOND, ordinal=2)
RESTART = KernelAsked(at_ns=198 * SECOND, kind="restart", is_busy=True)


def wishes(*caught: Caught, digest: Digest) -> list[KernelAsked]:
    add_wishes([digest], caught)
    return [record for record in digest.said if isinstance(record, KernelAsked)]


@pytest.mark.parametrize(("ended", "is_busy"), [(None, True), (1, True), (2, False)])
def test_it_is_a_wish_that_the_kernel_ends(ended: int | None, is_busy: bool) -> None:
    end = CellEnded(at_ns=120 * SECOND, ordinal=ended) if ended else None
    digest = Digest("j", OPENED, cell=CELL, cell_ended=end, said=[])
    assert wishes(TERM, digest=digest) == [KernelAsked(at_ns=TERM.at_ns, kind="shutdown", is_busy=is_busy)]


@pytest.mark.parametrize(
    "changed",
    [{"sender_pid": 9}, {"signal": signal.SIGINT}, {"pid": 8}, {"code": 128}, {"at_ns": 99 * SECOND}],
    ids=["of somebody else", "another signal", "to another", "of a terminal", "before its time"],
)
def test_other_signals_are_none(changed: dict[str, int]) -> None:
    digest = Digest("j", OPENED, cell=CELL, said=[])
    assert wishes(msgspec.structs.replace(TERM, **changed), digest=digest) == []


def test_a_program_that_is_no_kernel_has_no_such_parent() -> None:
    digest = Digest("j", msgspec.structs.replace(OPENED, kernel_parent=0), said=[])
    assert wishes(msgspec.structs.replace(TERM, sender_pid=0), digest=digest) == []


def test_a_parent_that_had_asked_before_wished_what_it_asked_for() -> None:
    assert wishes(TERM, digest=Digest("j", OPENED, cell=CELL, said=[RESTART])) == [RESTART]


def test_an_interrupt_before_it_is_another_matter() -> None:
    interrupt = msgspec.structs.replace(RESTART, kind="interrupt")
    found = wishes(TERM, digest=Digest("j", OPENED, cell=CELL, said=[interrupt]))
    assert [each.kind for each in found] == ["interrupt", "shutdown"]
