"""What is kept when torch is refused memory of a GPU. torch is a fake here; `tests/gpu` has the real one."""

import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from holter.client import gpu_refusals
from holter.client.gpu_refusals import MOST_KEPT, Refusals, attach, largest_free
from holter.model.clock import Clock
from holter.model.warning_records import GpuRefused

if TYPE_CHECKING:
    from holter.model.record import Record

GIB = 1 << 30


def snapshot(*, history: bool) -> dict[str, Any]:
    blocks = [{"size": 6 * GIB, "state": "active_allocated"}, {"size": 2 * GIB, "state": "inactive"}]
    other = [{"size": 9 * GIB, "state": "inactive"}]
    return {
        "segments": [{"device": 0, "blocks": blocks}, {"device": 1, "blocks": other}],
        "device_traces": [[{"action": "oom"}]] if history else [[]],
    }


def fake_torch(*, history: bool = False) -> SimpleNamespace:
    stats = {
        "allocated_bytes.all.current": 6 * GIB,
        "reserved_bytes.all.current": 8 * GIB,
        "inactive_split_bytes.all.current": 2 * GIB,
    }
    memory = SimpleNamespace(_snapshot=lambda: snapshot(history=history))
    return SimpleNamespace(cuda=SimpleNamespace(memory=memory, memory_stats=lambda device: stats))


def test_what_is_in_pieces_is_kept_without_a_file() -> None:
    kept: list[Record] = []
    Refusals(fake_torch(), lambda: [("/nowhere", kept.append)], clock=Clock()).observe(0, 4 * GIB, 80 * GIB, GIB)
    [refused] = kept
    assert isinstance(refused, GpuRefused)
    assert (refused.asked, refused.total, refused.free) == (4 * GIB, 80 * GIB, GIB)
    assert (refused.allocated, refused.reserved, refused.split) == (6 * GIB, 8 * GIB, 2 * GIB)
    assert refused.largest_free == 2 * GIB
    assert refused.snapshot == ""


def test_with_the_history_on_the_first_snapshots_become_files(tmp_path: Path) -> None:
    kept: list[Record] = []
    refusals = Refusals(fake_torch(history=True), lambda: [(str(tmp_path), kept.append)], clock=Clock())
    for _ in range(5):
        refusals.observe(0, GIB, 80 * GIB, 0)
    names = [each.snapshot for each in kept if isinstance(each, GpuRefused)]
    assert names == ["gpu-memory-1.pickle", "gpu-memory-2.pickle", "gpu-memory-3.pickle", "", ""]
    assert largest_free(pickle.loads((tmp_path / names[0]).read_bytes()), 1) == 9 * GIB


def test_who_catches_one_after_the_other_fills_no_journal() -> None:
    kept: list[Record] = []
    refusals = Refusals(fake_torch(), lambda: [("/nowhere", kept.append)], clock=Clock())
    for _ in range(2 * MOST_KEPT):
        refusals.observe(0, GIB, 80 * GIB, 0)
    assert len(kept) == MOST_KEPT


def test_a_failure_of_ours_is_no_failure_of_the_program() -> None:
    def broken(device: int) -> dict[str, int]:
        raise RuntimeError(device)

    torch = fake_torch()
    torch.cuda.memory_stats = broken
    Refusals(torch, lambda: [("/nowhere", lambda record: None)], clock=Clock()).observe(0, GIB, GIB, 0)


def test_torch_is_asked_once_and_only_when_the_program_uses_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    later: list[Any] = []
    observers: list[Any] = []
    torch = SimpleNamespace(
        _C=SimpleNamespace(_cuda_attach_out_of_memory_observer=observers.append),
        cuda=SimpleNamespace(_lazy_call=later.append),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(gpu_refusals, "_is_attached", False)
    attach(list)
    attach(list)
    assert (len(later), observers) == (1, [])
    later[0]()
    assert len(observers) == 1


def test_a_torch_without_cuda_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(_C=object(), cuda=object()))
    monkeypatch.setattr(gpu_refusals, "_is_attached", False)
    attach(list)
    assert not gpu_refusals._is_attached
