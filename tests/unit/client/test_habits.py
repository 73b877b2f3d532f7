"""Habits that no GPU is at hand for: what is noticed of invented ones, and what is none."""

import os
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from holter.client.habits.forking import CONTEXT, noticed_at_fork
from holter.client.habits.noticing import Noticing
from holter.client.habits.overwriting import ENOUGH, Overwriting
from holter.client.habits.resident import AFTER_S, Resident

GIB = 1 << 30


class Tensor:
    """As much of torch's as is looked at."""

    def __init__(self, gib: float, *, items: int = 50_000, requires_grad: bool = False, is_cuda: bool = True) -> None:
        self.shape, self.ndim, self.device = (items, 8), 2, "cuda:0"
        self.is_cuda, self.requires_grad = is_cuda, requires_grad
        self._bytes = int(gib * GIB)

    def numel(self) -> int:
        return self._bytes // 4

    def element_size(self) -> int:
        return 4


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("torch")
    module.Tensor = Tensor
    module.cuda = SimpleNamespace(
        is_initialized=lambda: True, get_device_properties=lambda device: SimpleNamespace(total_memory=16 * GIB)
    )
    monkeypatch.setitem(sys.modules, "torch", module)


def look(habit: Resident) -> list[str]:
    assert list(habit.look(0.0, 1)) == []
    return [f"{each.what} {each.share}" for each in habit.look(AFTER_S, 100)]


@pytest.mark.usefixtures("torch")
def test_a_dataset_on_the_gpu_is_named_with_its_size() -> None:
    images = Tensor(8)
    assert look(Resident()) == ["images (8.0 GiB) 0.5"]
    del images


@pytest.mark.usefixtures("torch")
def test_a_dataset_inside_of_an_object_is_found_too() -> None:
    dataset = SimpleNamespace(tensors=(Tensor(6), Tensor(0.1)))
    assert look(Resident()) == ["dataset.tensors[0] (6.0 GiB) 0.375"]
    del dataset


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(
    "other",
    [
        Tensor(2),
        Tensor(8, items=64),
        Tensor(8, requires_grad=True),
        Tensor(8, is_cuda=False),
    ],
    ids=["small", "a batch", "a weight", "in the host's memory"],
)
def test_what_is_no_dataset_on_a_gpu_is_none(other: Tensor) -> None:
    assert look(Resident()) == []


@pytest.mark.usefixtures("torch")
def test_it_is_looked_for_once() -> None:
    habit = Resident()
    assert look(habit) == []
    images = Tensor(8)
    assert list(habit.look(2 * AFTER_S, 200)) == []
    del images


@pytest.mark.parametrize(("device", "is_noticed"), [("GPU", True), ("CPU", False)])
def test_a_fork_is_noticed_once_tensorflow_has_a_gpu(
    device: str, is_noticed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = SimpleNamespace(_context_handle=object(), _logical_devices=[SimpleNamespace(device_type=device)])
    monkeypatch.setitem(sys.modules, CONTEXT, SimpleNamespace(_context=context))
    noticed = noticed_at_fork()
    assert (noticed is not None) == is_noticed
    assert noticed is None or os.path.basename(__file__) in noticed.where


def test_a_fork_is_none_of_its_business_before_tensorflow_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert noticed_at_fork() is None
    monkeypatch.setitem(sys.modules, CONTEXT, SimpleNamespace(_context=None))
    assert noticed_at_fork() is None


def test_values_are_overwritten_only_within_one_step() -> None:
    steady, replacing = Overwriting(), Overwriting()
    for step in range(2 * ENOUGH):
        steady.see({"loss": 1.0}, step)
        replacing.see({"loss": 1.0, f"other {step}": 2.0}, 7)
    assert steady.notice() is None
    noticed = replacing.notice()
    assert noticed is not None
    assert (noticed.what, noticed.times, noticed.step) == ("loss", 2 * ENOUGH, 7)
    assert replacing.notice() is None


def test_a_habit_whose_look_fails_is_dropped_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOLTER_STRICT", raising=False)
    monkeypatch.setattr(Resident, "look", lambda self, now_s, rows: 1 / 0)
    kept: list[object] = []
    noticing = Noticing(kept.append)
    for second in range(3):
        noticing.look(float(second), second)
    assert kept == []
    assert [type(each).__name__ for each in noticing.habits] == ["Collecting", "Clearing", "Eager"]
    noticing.close()
    assert noticing.habits == []
