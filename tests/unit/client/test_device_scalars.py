"""Scalars on a GPU are recorded without waiting for it. There is a faithful stand-in for the GPU, and none real."""

import sys
from pathlib import Path
from typing import Any

import pytest

from holter.client import device_scalars
from holter.client.recorder import Recorder
from holter.journal.decoding import LoggedRow
from holter.model.awaiting import Awaited
from holter.model.clock import Clock
from holter.model.masking import Masking
from holter.model.record import Record
from holter.model.records import Finished
from tests.unit.client.fake_gpu import BOOL, INT64, Gpu
from tests.unit.journal.recording import opened, read


@pytest.fixture(params=[True, False], ids=["kernels write", "copies"])
def gpu(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Gpu:
    found = Gpu(is_mapped=request.param)
    monkeypatch.setitem(sys.modules, "torch", found)
    return found


class Recording:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.said: list[str] = []
        self.recorder = Recorder(str(directory), opened, complain=self._complain, clock=Clock(), masking=Masking())

    def _complain(self, cause: str, text: str) -> bool:
        self.said.append(text)
        return True

    def log(self, data: dict[str, Any], step: int | None = None) -> None:
        self.recorder.log(data, step, None)

    def records(self) -> list[Record | LoggedRow]:
        (path,) = self.directory.glob("*.seg")
        return read(path.read_bytes())

    def points(self) -> dict[tuple[int, str], Any]:
        rows = [each for each in self.records() if isinstance(each, LoggedRow)]
        return {(row.step, name): value for row in rows for name, value in row.values.items()}

    def pending(self) -> int:
        return [each.pending for each in self.records() if isinstance(each, Awaited)][-1]


def test_a_scalar_on_the_gpu_is_recorded_by_a_later_call_and_nobody_waits(tmp_path: Path, gpu: Gpu) -> None:
    recording = Recording(tmp_path)
    for step in range(3):
        recording.log({"loss": gpu.tensor(step / 2), "lr": 0.1})
    assert recording.points() == {(step, "lr"): 0.1 for step in range(3)}
    assert recording.pending() == 3
    gpu.stream.run()
    recording.log({"lr": 0.1})
    assert recording.points() == {(step, "lr"): 0.1 for step in range(4)} | {
        (step, "loss"): step / 2 for step in range(3)
    }
    assert (recording.pending(), gpu.waits) == (0, 0)


def test_what_arrived_and_what_is_on_its_way_are_told_by_one_record_of_a_call(tmp_path: Path, gpu: Gpu) -> None:
    recording = Recording(tmp_path)
    for step in range(3):
        recording.log({"loss": gpu.tensor(step)})
        gpu.stream.run()
    told = [(each.pending, each.step) for each in recording.records() if isinstance(each, Awaited)]
    assert told == [(1, 0), (1, 1), (1, 2)]
    recording.log({})
    assert recording.pending() == 0


def test_a_row_of_nothing_else_is_one_row(tmp_path: Path, gpu: Gpu) -> None:
    recording = Recording(tmp_path)
    for step in range(10):
        recording.log({"loss": gpu.tensor(step)})
        gpu.stream.run()
    recording.recorder.close(Finished(at_ns=1))
    assert recording.points() == {(step, "loss"): step for step in range(10)}
    assert recording.recorder.rows.rows == 10


def test_the_value_is_that_of_the_moment_also_where_it_is_changed_in_place(tmp_path: Path, gpu: Gpu) -> None:
    recording, total = Recording(tmp_path), gpu.tensor(0)
    for _ in range(4):
        total.add_(1)
        recording.log({"total": total})
    gpu.stream.run()
    recording.recorder.flush()
    assert recording.points() == {(step, "total"): step + 1 for step in range(4)}
    assert gpu.waits == 0


def test_what_has_not_arrived_is_not_there_and_what_has_is(tmp_path: Path, gpu: Gpu) -> None:
    recording = Recording(tmp_path)
    recording.log({"loss": gpu.tensor(1)})
    recording.log({"loss": gpu.tensor(2)})
    gpu.stream.run(2)  # the first copy and its event
    recording.log({"lr": 1})
    assert recording.points() == {(0, "loss"): 1, (2, "lr"): 1}
    assert recording.recorder.summarised() == {"loss": 1, "lr": 1}


def test_whole_numbers_and_booleans_stay_what_they_are(tmp_path: Path, gpu: Gpu) -> None:
    recording = Recording(tmp_path)
    recording.log(
        {"seen": gpu.tensor((1 << 60) + 1, INT64), "is_best": gpu.tensor(1, BOOL), "in": {"side": gpu.tensor(2)}}
    )
    gpu.stream.run()
    recording.log({})
    assert recording.points() == {(0, "seen"): (1 << 60) + 1, (0, "is_best"): True, (0, "in.side"): 2.0}


def test_finish_waits_for_what_is_on_its_way_and_not_for_ever(
    tmp_path: Path, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holter.client.recorder.CLOSE_WITHIN_S", 0.01)
    recording = Recording(tmp_path)
    recording.log({"loss": gpu.tensor(1)})
    recording.recorder.close(Finished(at_ns=1))
    assert recording.pending() == 1
    assert recording.said == ["not recorded, still on the GPU after 0.01 s: 1 of the values logged last"]


def test_nothing_is_asked_or_copied_while_a_graph_is_captured(tmp_path: Path, gpu: Gpu) -> None:
    recording = Recording(tmp_path)
    recording.log({"loss": gpu.tensor(1)})
    gpu.is_capturing = True
    before = len(gpu.stream.work)
    recording.log({"loss": gpu.tensor(2), "lr": 0.1})
    assert (gpu.asked_while_capturing, len(gpu.stream.work)) == (0, before)
    assert recording.said == ["loss: logged while a CUDA graph is captured, and not recorded"]
    gpu.is_capturing = False
    gpu.stream.run()
    recording.log({"lr": 0.1})
    assert recording.points() == {(0, "loss"): 1, (1, "lr"): 0.1, (2, "lr"): 0.1}


def test_a_gpu_that_fails_costs_what_is_on_it_and_is_said(tmp_path: Path, gpu: Gpu) -> None:
    recording = Recording(tmp_path)
    recording.log({"loss": gpu.tensor(1)})
    gpu.failure = RuntimeError("CUDA error: device-side assert triggered")
    recording.log({"lr": 0.1})
    assert recording.said == [
        "values on the GPU can't be read any more, 1 of them are lost (CUDA error: device-side assert triggered)"
    ]
    assert recording.points() == {(1, "lr"): 0.1}


def test_who_is_far_ahead_waits_for_the_oldest_only(tmp_path: Path, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_scalars, "SLOTS", 4)
    monkeypatch.setattr("holter.client.device_scalars.time.sleep", lambda seconds: gpu.stream.run(2))
    recording = Recording(tmp_path)
    for step in range(10):
        recording.log({"loss": gpu.tensor(step)})
    gpu.stream.run()
    recording.log({"lr": 0.1})
    assert {(step, "loss"): step for step in range(10)}.items() <= recording.points().items()
    assert (gpu.pinned, gpu.waits) == (4, 0)


def test_a_row_of_more_than_there_are_places_for_takes_none_for_good(
    tmp_path: Path, gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_scalars, "SLOTS", 4)
    monkeypatch.setattr("holter.client.device_scalars.time.sleep", lambda seconds: gpu.stream.run())
    recording = Recording(tmp_path)
    recording.log({f"layer {number}": gpu.tensor(number) for number in range(10)})
    recording.log({"loss": gpu.tensor(1)})
    recording.recorder.flush()
    assert recording.points() == {(0, f"layer {number}"): number for number in range(10)} | {(1, "loss"): 1}
    assert (gpu.waits, recording.said) == (0, [])


def test_a_program_may_choose_to_wait(tmp_path: Path, gpu: Gpu) -> None:
    recording = Recording(tmp_path)
    recording.recorder.waits_for_gpu = True
    recording.log({"loss": gpu.tensor(1)})
    assert recording.points() == {(0, "loss"): 1}
    assert gpu.waits >= 1


class DTensor:
    """A part of a tensor of which other ranks have the rest."""

    def item(self) -> float:
        raise AssertionError("read: all ranks would have to")

    __float__ = item


def test_a_distributed_tensor_is_never_read(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.log({"loss": DTensor(), "lr": 0.1})
    assert recording.points() == {(0, "lr"): 0.1}
    assert recording.said[0].startswith("'loss' is a DTensor and not recorded")


class JaxScalar:
    size = 1
    shape = ()

    def __init__(self, value: float) -> None:
        self.value = value
        self.is_asked = self.is_there = False

    def devices(self) -> set[Any]:
        return {type("Device", (), {"platform": "gpu"})}

    def copy_to_host_async(self) -> None:
        self.is_asked = True

    def is_ready(self) -> bool:
        return self.is_there

    def item(self) -> float:
        assert self.is_there, "waited"
        return self.value


def test_a_scalar_of_jax_comes_by_itself(tmp_path: Path) -> None:
    recording, loss = Recording(tmp_path), JaxScalar(0.5)
    recording.log({"loss": loss})
    assert loss.is_asked
    recording.log({"lr": 0.1})
    assert recording.points() == {(1, "lr"): 0.1}
    loss.is_there = True
    recording.log({"lr": 0.1})
    assert recording.points()[0, "loss"] == 0.5


def test_scalars_of_the_cpu_are_recorded_as_ever(tmp_path: Path) -> None:
    import torch

    recording = Recording(tmp_path)
    recording.log({"loss": torch.tensor(0.5)})
    assert recording.points() == {(0, "loss"): 0.5}
    assert not any(isinstance(each, Awaited) for each in recording.records())
