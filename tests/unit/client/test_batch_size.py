"""The largest batch that fits: the search, and that this process stays as it was."""

import os
import random
from pathlib import Path

import pytest

from holter.client.batch_size import MOST, Tried, _search, fit_batch_size
from holter.errors import UsageError

GPU = "GPU 0"


def found(fitting: int, start: int, *, most: int = MOST, where: str = GPU) -> tuple[int, list[int]]:
    """What the search finds where so many use all of the memory, and what it tried."""
    tried: list[int] = []

    def try_size(size: int) -> Tried:
        tried.append(size)
        return Tried(share=size / fitting if size <= fitting else 2.0, where=where)

    best = _search(try_size, start, most=most, limit=0.9)
    return (best[0] if best is not None else 0), tried


@pytest.mark.parametrize("start", [1, 7, 64, 1000])
@pytest.mark.parametrize("fitting", [1.2, 5, 100, 777, 5000])
def test_it_is_the_largest_but_for_a_sixteenth(start: int, fitting: int) -> None:
    size, tried = found(fitting, start)
    assert 0.9 * fitting * 15 / 16 - 1 <= size <= 0.9 * fitting
    assert len(tried) < 20


def test_where_nothing_fits_there_is_none() -> None:
    assert found(0, 64)[0] == 0


def test_no_more_than_was_allowed_is_tried() -> None:
    size, tried = found(10_000, 64, most=300)
    assert (size, max(tried)) == (300, 300)


def test_the_memory_of_the_host_is_not_filled_to_see_what_happens() -> None:
    assert max(found(1000, 64, where="this process's memory")[1]) <= 901
    assert max(found(1000, 64)[1]) > 901


def test_the_program_stays_as_it_was(tmp_path: Path) -> None:
    held: list[int] = []
    random.seed(5)
    before = random.getstate()
    mark = tmp_path / "pid"

    def step(size: int) -> None:
        held.append(size)
        random.random()
        mark.write_text(str(os.getpid()))
        if size > 40:
            raise MemoryError

    assert 36 <= fit_batch_size(step, 16) <= 40
    assert held == []
    assert random.getstate() == before
    assert int(mark.read_text()) != os.getpid()


def test_a_size_that_ends_its_process_for_memory_is_too_large() -> None:
    def step(size: int) -> None:
        if size > 10:
            os.kill(os.getpid(), 9)

    assert 8 <= fit_batch_size(step, 8, most=64) <= 10


def test_what_fails_for_another_reason_is_told() -> None:
    def step(size: int) -> None:
        raise ValueError("no such column")

    with pytest.raises(RuntimeError, match=r"step\(1\) failed: ValueError: no such column"):
        fit_batch_size(step)


@pytest.mark.parametrize("asked", [{"start": 0}, {"start": 2.5}, {"most": 0}, {"margin": 1.0}, {"start": 9, "most": 5}])
def test_what_can_t_work_is_refused(asked: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="fit_batch_size"):
        fit_batch_size(print, **asked)
