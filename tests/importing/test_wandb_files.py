"""W&B's run files, as wandb 0.31.0 wrote them: whole, cut, damaged and made up."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.formats.leveldb_log import BLOCK, HEADER, LogFile
from holter.formats.protobuf import Malformed
from holter.formats.wandb_records import Items, kind_of
from holter.importing.wandb_media import medium_of
from tests.importing.taking_over import RECORDED, rows_of, take_over, the_only

NAMES = ("dot.png", "../secret.png", "link.png", "/etc/hostname", "missing.png", ".")


def test_a_run_comes_over_with_all_that_has_a_place(tmp_path: Path) -> None:
    done, run = the_only("wandb", RECORDED / "finished.wandb", tmp_path)
    assert (run.project, run.name, run.state, run.tags) == ("cats", "tiny", "finished", ["a", "b"])
    assert run.config == {"lr": 0.1, "model": {"width": 4}}
    assert list(rows_of(run, "loss")) == [(0, 1.0), (1, 0.5), (2, 1 / 3), (3, 0.25), (4, 0.2)]
    assert [value for _, value in rows_of(run, "nested.a")] == [0, 1, 2, 3, 4]
    assert (run.summary["best"], run.summary["text"]) == (0.5, "row 4")
    assert [line for line in run.console() if "hello" in str(line)]
    assert dict(done.left_out) == {"image-file in rows": 1}  # its file is not there
    assert done.trouble == []


def test_a_run_that_ended_with_a_code_is_failed(tmp_path: Path) -> None:
    _, run = the_only("wandb", RECORDED / "failed.wandb", tmp_path)
    assert run.state == "failed"


def test_a_file_cut_anywhere_has_its_whole_records(tmp_path: Path) -> None:
    data = (RECORDED / "finished.wandb").read_bytes()
    whole = list(LogFile(str(RECORDED / "finished.wandb")).read())
    path = tmp_path / "run-x.wandb"
    for cut in range(0, len(data), 7):
        path.write_bytes(data[:cut])
        found = list(LogFile(str(path)).read())
        assert found == whole[: len(found)]


def test_a_run_whose_process_died_has_no_end(tmp_path: Path) -> None:
    data = (RECORDED / "finished.wandb").read_bytes()
    path = tmp_path / "run-x.wandb"
    path.write_bytes(data[: len(data) * 3 // 4])
    done, run = the_only("wandb", path, tmp_path / "data")
    assert run.state == "crashed"
    assert len(list(rows_of(run, "loss"))) >= 3
    assert done.trouble == [f"{path}: the last record is not all there: it is left out"]


def test_behind_damage_the_next_block_is_read(tmp_path: Path) -> None:
    first, *_ = LogFile(str(RECORDED / "finished.wandb")).read()
    data = (RECORDED / "finished.wandb").read_bytes()
    second_block = data[HEADER:]
    damaged = bytearray(data.ljust(BLOCK, b"\0"))
    damaged[HEADER + 20] ^= 0xFF
    path = tmp_path / "run-x.wandb"
    path.write_bytes(bytes(damaged) + second_block)
    file = LogFile(str(path))
    assert next(file.read()) == first
    assert file.damaged == 1


def test_a_resumed_run_is_one_run_and_loses_no_row(tmp_path: Path) -> None:
    for number, name in enumerate(("failed", "finished")):
        folder = tmp_path / "wandb" / f"offline-run-2026111{number}_000000-abc123xy"
        folder.mkdir(parents=True)
        shutil.copy(RECORDED / f"{name}.wandb", folder / "run-abc123xy.wandb")
    done, run = the_only("wandb", tmp_path, tmp_path / "data")
    assert [value for _, value in rows_of(run, "loss")] == [1.0, 0.5, 1 / 3, 0.25, 0.2] * 2
    assert [step for step, _ in rows_of(run, "loss")] == [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert "go on from 6" in done.trouble[0]


def test_files_of_the_folder_come_along_and_links_do_not(tmp_path: Path) -> None:
    folder = tmp_path / "run-1"
    (folder / "files").mkdir(parents=True)
    shutil.copy(RECORDED / "finished.wandb", folder / "run-abc123xy.wandb")
    (folder / "files" / "config.yaml").write_text("lr: 1")
    (tmp_path / "secret").write_text("secret")
    (folder / "files" / "link").symlink_to(tmp_path / "secret")
    (folder / "files" / "out").symlink_to(tmp_path)
    done, _ = the_only("wandb", folder, tmp_path / "data")
    kept = {path.name for path in (tmp_path / "data" / "runs" / done.run / "files").rglob("*")}
    assert kept == {"config.yaml"}


def test_a_picture_that_a_row_names_comes_along_and_a_name_that_leads_elsewhere_does_not(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    picture = (RECORDED / "dot.png").read_bytes()
    (tmp_path / "files" / "dot.png").write_bytes(picture)
    (tmp_path / "secret.png").write_bytes(picture)
    (tmp_path / "files" / "link.png").symlink_to(tmp_path / "secret.png")
    named = {name: medium_of({"_type": "image-file", "path": name}, str(tmp_path / "files")) for name in NAMES}
    assert [name for name, medium in named.items() if medium is not None] == ["dot.png"]


def test_tables_films_sounds_and_pages_that_rows_name_are_media(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes((RECORDED / "dot.png").read_bytes())
    cells = [1, {"_type": "image-file", "path": "dot.png"}, {"_type": "image-file", "path": "../x.png"}]
    (tmp_path / "t.table.json").write_text(json.dumps({"columns": ["a", "b", 3], "data": [cells]}))
    (tmp_path / "torn.table.json").write_text('{"columns": ["a"], "data": [[1')
    (tmp_path / "page.html").write_text("<b>x</b>")
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    (tmp_path / "f.mp4").write_bytes(b"film")

    def found(kind: str, path: str) -> Any:  # noqa: ANN401  any medium
        return medium_of({"_type": kind, "path": path}, str(tmp_path))

    table = found("table-file", "t.table.json")
    assert (table.columns, table.data[0][0], table.data[0][1].kind) == (["a", "b", "3"], 1, "image")
    assert table.data[0][2] == cells[2]
    kinds = {"html-file": "page.html", "audio-file": "a.wav", "video-file": "f.mp4"}
    assert [found(kind, path).kind for kind, path in kinds.items()] == ["html", "audio", "video"]
    assert [
        found(kind, path) for kind, path in {"table-file": "torn.table.json", "html-file": "/etc/passwd"}.items()
    ] == [
        None,
        None,
    ]


@given(st.binary(max_size=200))
def test_made_up_records_are_refused_and_nothing_else(data: bytes) -> None:
    try:
        _, body = kind_of(data)
        list(Items().read(body or data))
    except Malformed:
        pass


@pytest.mark.parametrize("data", [b"", b":W&B", b":W&B\xe1\xbe\x00" + b"\xff" * 100_000, b"\0" * 70_000])
def test_a_file_that_is_none_is_an_empty_run_that_says_so(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "run-x.wandb"
    path.write_bytes(data)
    (done,) = take_over("wandb", path, tmp_path / "data")
    assert done.rows == 0
