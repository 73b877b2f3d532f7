"""TensorBoard's event files: written by torch's and tensorboardX's writers, cut, damaged and made up."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holter.formats.event_files import EventFile, crc32c, damaged_of
from holter.formats.event_folders import EventFolder
from holter.formats.event_writer import write_row, write_start
from holter.formats.events import Bars, Event, EventReader, Picture
from holter.formats.protobuf import Malformed
from holter.importing.checksums import damaged_among
from tests.importing.taking_over import RECORDED, rows_of, take_over, the_only


def written(rows: int, tag: str = "loss") -> bytes:
    out = io.BytesIO()
    write_start(out, 1e9)
    for step in range(rows):
        write_row(out, {tag: step / 2}, step, 1e9 + step)
    return out.getvalue()


def test_the_checksum_is_that_of_the_format() -> None:
    assert crc32c(b"123456789") == 0xE3069283


@pytest.mark.parametrize("writer", ["torch", "tensorboardx"])
def test_what_real_writers_write_is_read(writer: str) -> None:
    file = EventFile(str(RECORDED / f"{writer}.tfevents"))
    events = list(file.read())
    steps = [0, 1, 2] if writer == "torch" else [0, 10, 20]
    assert [each.step for each in events if each.tag == "loss"] == steps
    (picture,) = [each.value for each in events if isinstance(each.value, Picture)]
    assert (picture.width, picture.height, picture.data[:4]) == (4, 2, b"\x89PNG")
    (bars,) = [each.value for each in events if isinstance(each.value, Bars)]
    assert (sum(bars.counts), len(bars.edges)) == (100, len(bars.counts) + 1)
    assert [each.value for each in events if each.tag == "note/text_summary"] in (["hello"], ["hello **there**"])
    assert not file.trouble


def test_a_scalar_of_the_new_style_is_a_number() -> None:
    events = EventFile(str(RECORDED / "torch.tfevents")).read()
    assert [each.value for each in events if each.tag == "new/style"] == [0.0, 2.0, 4.0]


def test_a_file_cut_anywhere_has_its_whole_events_and_goes_on_when_the_rest_comes(tmp_path: Path) -> None:
    data = written(5)
    path = tmp_path / "events.out.tfevents.1.x"
    whole = list(_of(path, data))
    for cut in range(len(data)):
        path.write_bytes(data[:cut])
        file = EventFile(str(path))
        first = list(file.read())
        assert first == whole[: len(first)]
        path.write_bytes(data)
        assert first + list(file.read()) == whole
        assert not file.trouble


def _of(path: Path, data: bytes) -> list[Event]:
    path.write_bytes(data)
    return list(EventFile(str(path)).read())


def test_behind_damage_it_says_so_and_what_came_before_is_kept(tmp_path: Path) -> None:
    data = bytearray(written(5))
    third = data.index(b"loss", data.index(b"loss", data.index(b"loss") + 1) + 1)
    data[third - 29] ^= 0xFF  # of its length
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(data)
    done, run = the_only("tensorboard", path, tmp_path / "data")
    assert [step for step, _ in rows_of(run, "loss")] == [0, 1]
    assert len(done.trouble) == 1


def test_an_event_whose_content_changed_is_left_out_and_counted_and_the_next_one_read(tmp_path: Path) -> None:
    data = bytearray(written(5))
    third = data.index(b"loss", data.index(b"loss", data.index(b"loss") + 1) + 1)
    data[third + 6] ^= 0x10  # of its number
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(data)
    done, run = the_only("tensorboard", path, tmp_path / "data")
    assert [step for step, _ in rows_of(run, "loss")] == [0, 1, 3, 4]
    assert done.trouble == [f"{path}: 1 damaged events are left out"]


def test_many_events_are_checked_at_once_as_each_by_itself() -> None:
    out = io.BytesIO()
    for step in range(60):
        write_row(out, {"a" * (step % 3 + 1): step / 2, "note": "x" * (step // 50 * 5000)}, step, 1e9 + step)
    data = bytearray(out.getvalue())
    frames, at = [], 0
    while at < len(data):
        frames.append((at + 12, int.from_bytes(data[at : at + 8], "little")))
        at += frames[-1][1] + 16
    for place in (0, 7, 33, 59):
        data[frames[place][0] + 5] ^= 1
    # The last one is too large to be compared.
    assert damaged_among(bytes(data), frames) == damaged_of(bytes(data), frames) == {0, 7, 33}


@given(st.binary(max_size=200))
def test_made_up_bytes_are_refused_and_nothing_else(data: bytes) -> None:
    try:
        for event in EventReader().read(data):
            assert isinstance(event.tag, str)
    except (Malformed, ValueError, OverflowError):
        pass


def test_a_length_beyond_all_reason_costs_nothing(tmp_path: Path) -> None:
    length = (1 << 62).to_bytes(8, "little")
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(length + b"\0\0\0\0")
    file = EventFile(str(path))
    assert list(file.read()) == []
    assert file.trouble


def test_each_folder_with_events_is_a_run_and_a_repeat_is_the_same_run(tmp_path: Path) -> None:
    for part in ("train", "val"):
        (tmp_path / "logs" / part).mkdir(parents=True)
        (tmp_path / "logs" / part / "events.out.tfevents.1000000000.x").write_bytes(written(3))
    done = take_over("tensorboard", tmp_path / "logs", tmp_path / "data")
    again = take_over("tensorboard", tmp_path / "logs", tmp_path / "other")
    assert [each.run for each in done] == [each.run for each in again]
    assert [each.rows for each in done] == [3, 3]


def test_values_of_one_step_are_one_row(tmp_path: Path) -> None:
    out = io.BytesIO()
    for step in range(2):
        for tag in ("a", "b"):
            write_row(out, {tag: float(step)}, step, 1e9)
    path = tmp_path / "events.out.tfevents.1.x"
    path.write_bytes(out.getvalue())
    done, _ = the_only("tensorboard", path, tmp_path / "data")
    assert done.rows == 2


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "events.out.tfevents.1.x").write_bytes(written(1))
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "events.out.tfevents.1.y").symlink_to(tmp_path / "elsewhere" / "events.out.tfevents.1.x")
    (tmp_path / "logs" / "more").symlink_to(tmp_path / "elsewhere")
    assert list(EventFolder(str(tmp_path / "logs")).read()) == []


def test_a_folder_is_followed_from_now_on(tmp_path: Path) -> None:
    old = tmp_path / "events.out.tfevents.1.old"
    old.write_bytes(written(2))
    folder = EventFolder(str(tmp_path))
    (tmp_path / "val").mkdir()
    (tmp_path / "val" / "events.out.tfevents.2.x").write_bytes(written(2))
    assert [(each.tag, each.step) for each in folder.read()] == [("val/loss", 0), ("val/loss", 1)]
    assert list(folder.read()) == []


def test_a_histogram_has_edges_that_grow_and_at_most_512_parts() -> None:
    bars = Bars((0.0, 1.0, 5.0, 2.0, 0.0), (0.0, 1.0, 2.0, 2.0, 3.0, 4.0)).tidied()
    assert bars == Bars((1.0, 7.0), (1.0, 2.0, 3.0))
    many = Bars((1.0,) * 1200, tuple(map(float, range(1201)))).tidied()
    assert many is not None
    assert (len(many.counts), sum(many.counts), many.edges[0], many.edges[-1]) == (400, 1200.0, 0.0, 1200.0)
    assert Bars((0.0, 0.0), (0.0, 1.0, 2.0)).tidied() is None
