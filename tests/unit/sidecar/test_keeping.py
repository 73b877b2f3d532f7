"""When the files of a run are written."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import Configured, Noted, Saved
from holter.sidecar import keeping
from holter.sidecar.flight_recorder import find_dumps
from holter.sidecar.keeping import Keeper
from holter.wire.way_back import Watch
from tests.unit.catalog.journals import BEGAN_NS, Journal, alive, named


def wait_for(claim: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def keeper(directory: Path, said: list[Record] | None = None, *, limit_bytes: int = -1) -> Keeper:
    watch = Watch(
        run="r1",
        directory=str(directory),
        journal="",
        pid=alive().pid,
        process_started=0,
        limit_bytes=limit_bytes,
        collect_facts=False,
    )
    return Keeper(watch, (said if said is not None else []).append, clock=Clock())


def finish(kept: Keeper) -> None:
    wait_for(kept.finish)


def test_a_change_is_in_the_files_after_a_while_and_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "REFRESH_S", 0.02)
    journal = Journal(tmp_path, alive()).say(named("r1"), Configured(at_ns=BEGAN_NS, config={"lr": 1})).log([0])
    kept = keeper(tmp_path)
    summary = tmp_path / "summary.json"
    wait_for(summary.exists)
    journal.log([1])
    wait_for(lambda: json.loads(summary.read_text()) == {"loss": 0.5})
    journal.say(Configured(at_ns=BEGAN_NS, config={"lr": 2}))
    wait_for(lambda: (tmp_path / "config.yaml").read_text().endswith("lr: 2\n"))
    monkeypatch.setattr(keeping, "REFRESH_S", 60.0)
    journal.log([3])
    finish(kept)
    assert json.loads(summary.read_text()) == {"loss": 0.25}
    assert "holter" in (tmp_path / "debug-internal.log").read_text()


def test_a_wish_to_save_is_served_at_once_when_the_bell_rings(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_text("weights")
    run_dir = tmp_path / "run"
    journal = Journal(run_dir, alive()).say(named("r1"))
    kept = keeper(run_dir)
    wait_for((run_dir / "config.yaml").exists)
    journal.say(Saved(at_ns=1, pattern="model.pt", base=str(tmp_path), policy="now"))
    kept.ring()
    wait_for((run_dir / "files" / "model.pt").exists)
    finish(kept)


def test_the_wishes_of_an_earlier_attempt_are_not_served_again(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_text("weights")
    run_dir = tmp_path / "run"
    wish = Saved(at_ns=1, pattern="model.pt", base=str(tmp_path), policy="live")
    Journal(run_dir, alive(), attempt=0).say(named("r1"), wish).close()
    finish(keeper(run_dir))
    assert not (run_dir / "files").exists()


def test_what_is_not_kept_is_noted(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_bytes(bytes(5000))
    run_dir = tmp_path / "run"
    wish = Saved(at_ns=1, pattern="model.pt", base=str(tmp_path), policy="live")
    Journal(run_dir, alive()).say(named("r1"), wish).close()
    said: list[Record] = []
    finish(keeper(run_dir, said, limit_bytes=1000))
    assert ["leaves no room" in getattr(record, "text", "") for record in said] == [True]


def test_a_directory_that_is_gone_is_no_reason_to_end(tmp_path: Path) -> None:
    finish(keeper(tmp_path / "gone"))


def test_what_pytorch_s_flight_recorder_wrote_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, dumps, said = tmp_path / "r1", tmp_path / "dumps", list[Record]()
    run.mkdir()
    dumps.mkdir()
    monkeypatch.setenv("TORCH_FR_DUMP_TEMP_FILE", str(dumps / "trace_"))
    (dumps / "trace_1").write_bytes(b"of an earlier training")
    os.utime(dumps / "trace_1", (1, 1))
    Journal(run, alive()).say(named("r1"))
    kept = keeper(run, said)
    (dumps / "trace_0").write_bytes(b"of this one")
    (dumps / "trace_notes").write_bytes(b"of somebody else")
    finish(kept)
    assert [path.name for path in (run / "files").iterdir()] == ["trace_0"]
    assert [each.text for each in said if isinstance(each, Noted)] == [
        "trace_0 of PyTorch's flight recorder is kept: torchfrtrace reads it"
    ]


@pytest.mark.parametrize(
    ("environment", "dump"),
    [
        ({"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "{}/nccl_rank"}, "nccl_rank3"),
        ({"XDG_CACHE_HOME": "{}"}, "torch/comm_lib_trace_rank_3"),
        ({"HOME": "{}"}, ".cache/torch/comm_lib_trace_rank_3"),
    ],
)
def test_the_flight_recorder_s_files_are_where_pytorch_puts_them(
    environment: dict[str, str], dump: str, tmp_path: Path
) -> None:
    path = tmp_path / dump
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"")
    placed = {name: value.format(tmp_path) for name, value in environment.items()}
    assert str(path) in find_dumps(placed, since_s=0.0)
