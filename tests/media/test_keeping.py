"""Limits, torn copies, workers that die: media are whole or absent, and what is missing is said."""

import fcntl
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import holter
from holter.client.media.taking import MediaTaker
from holter.journal.spool import FAILED, list_entries, spool_of
from holter.model.media_records import MediaLost, MediaMade
from holter.model.records import Noted
from holter.recording import workshop
from holter.recording.workshop import Workshop, settle
from holter.worker.answering import make
from tests.media.making import Bench

if TYPE_CHECKING:
    from holter.model.record import Record

IMAGE = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def wait_for(directory: Path, count: int) -> None:
    assert len(list_entries(str(directory))) == count


def test_what_does_not_fit_into_the_limit_is_counted_and_said(bench: Bench) -> None:
    bench.log([holter.Image(IMAGE), holter.Image(255 - IMAGE)])
    [name] = list_entries(str(bench.directory))
    told = make(str(bench.directory), name, limit_bytes=20_000)
    [(number, fields)] = told.records
    assert (number, fields["count"], fields["key"]) == (52, 2, "x")
    assert "HOLTER_DISK_LIMIT raises it" in told.warnings[0]


def test_a_spool_that_is_full_takes_no_more_and_rows_go_on(tmp_path: Path) -> None:
    said: list[Record] = []
    complaints: list[str] = []
    taker = MediaTaker(
        str(tmp_path),
        "0" * 32,
        record=said.append,
        complain=lambda cause, text: complaints.append(cause),
        limit_bytes=4 * 30_000,
    )
    for step in range(4):
        assert taker.take({"loss": 1.0, "x": holter.Image(IMAGE)}, step, 1 + step) == {"loss": 1.0}
    assert [each.step for each in said if isinstance(each, MediaLost)] == [2, 3]
    assert set(complaints) == {"media:spool"}
    for name in list_entries(str(tmp_path)):
        os.unlink(os.path.join(spool_of(str(tmp_path)), name))
    taker.take({"x": holter.Image(IMAGE)}, 9, 9)
    wait_for(tmp_path, 1)


def test_whoever_makes_it_again_says_the_same(bench: Bench) -> None:
    bench.log(holter.Image(IMAGE))
    [name] = list_entries(str(bench.directory))
    assert make(str(bench.directory), name, limit_bytes=-1) == make(str(bench.directory), name, limit_bytes=-1)
    assert sorted(path.suffix for path in (bench.directory / "media").iterdir()) == [".png", ".webp"]


def test_nothing_is_left_in_the_spool_where_the_copy_failed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("holter.journal.spool._write", full)
    assert bench.log(holter.Image(IMAGE)) == {}
    assert "No space left on device" in bench.complaints[0]
    assert os.listdir(spool_of(str(bench.directory))) == []


@pytest.mark.parametrize("cut", [0, 5, 40, -1])
def test_a_torn_copy_is_no_picture(bench: Bench, cut: int) -> None:
    bench.log(holter.Image(IMAGE))
    [name] = list_entries(str(bench.directory))
    path = Path(spool_of(str(bench.directory)), name)
    path.write_bytes(path.read_bytes()[:cut])
    said: list[Record] = []
    assert settle(str(bench.directory), record=said.append, within_s=60.0) == 1
    assert [type(each) for each in said] == [MediaLost, Noted]
    assert list_entries(str(bench.directory)) == []
    assert (Path(spool_of(str(bench.directory))) / FAILED / name).is_file()


def test_what_was_left_in_the_middle_of_a_file_is_taken_away(bench: Bench) -> None:
    bench.log(holter.Image(IMAGE))
    spool, media = Path(spool_of(str(bench.directory))), bench.directory / "media"
    media.mkdir()
    torn, old, written_now = media / ".0a.partial", spool / ".1.spool.partial", spool / ".2.spool.partial"
    for path in (torn, old, written_now):
        path.write_bytes(b"half of it")
    os.utime(old, (1, 1))
    assert settle(str(bench.directory), record=lambda _: None, within_s=60.0) == 1
    assert [path.exists() for path in (torn, old, written_now)] == [False, False, True]


def test_a_real_worker_makes_all_that_waits(bench: Bench) -> None:
    for step in range(3):
        bench.log(holter.Image(IMAGE + step), step=step)
    said: list[Record] = []
    assert settle(str(bench.directory), record=said.append, within_s=60.0) == 3
    made = [each for each in said if isinstance(each, MediaMade)]
    assert [each.step for each in made] == [0, 1, 2]
    assert all((bench.directory / item.path).is_file() for each in made for item in each.items)
    assert settle(str(bench.directory), record=said.append, within_s=60.0) == 0


def test_who_reads_waits_for_what_somebody_else_makes(bench: Bench) -> None:
    bench.log(holter.Image(IMAGE))
    [name] = list_entries(str(bench.directory))
    with open(os.path.join(spool_of(str(bench.directory)), workshop.LOCK), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        reader = threading.Thread(target=workshop.await_media, args=(str(bench.directory),), kwargs={"within_s": 60.0})
        reader.start()
        reader.join(0.5)
        assert reader.is_alive()
        os.unlink(os.path.join(spool_of(str(bench.directory)), name))
        reader.join(60)
        assert not reader.is_alive()
        workshop.await_media(str(bench.directory), within_s=0.0)


def test_what_kills_its_worker_twice_is_put_aside_and_the_others_are_made(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mortal:
        """Dies of the first entry."""

        def __init__(self, directory: str, limit_bytes: int) -> None: ...

        def make(self, name: str) -> Any:
            if name == names[0]:
                return None
            told = make(str(bench.directory), name, limit_bytes=-1)
            return workshop._Told(name=name, records=told.records)

        def close(self) -> str:
            return "signal 11"

    for step in range(2):
        bench.log(holter.Image(IMAGE), step=step)
    names = list_entries(str(bench.directory))
    monkeypatch.setattr(workshop, "Worker", Mortal)
    said: list[Record] = []
    Workshop(str(bench.directory), record=said.append).work(until=1e18)
    [lost] = [each for each in said if isinstance(each, MediaLost)]
    assert (lost.step, "died of it (signal 11)" in lost.because) == (0, True)
    assert [each.step for each in said if isinstance(each, MediaMade)] == [1]
