"""Digests that are kept up to date say what a digest of the whole journal says."""

import os
from pathlib import Path

import msgspec
import pytest

from holter.journal.digest import GrowingDigests, digest
from holter.journal.rundir import list_segments
from holter.model.records import Configured, Facts, Saved
from tests.unit.catalog.journals import BEGAN_NS, Journal, alive, named


def whole(directory: Path) -> list[dict[str, object]]:
    found = [digest(journal, paths) for journal, paths in list_segments(str(directory)).items()]
    return [_said(each) for each in found if each]


def grown(growing: GrowingDigests) -> list[dict[str, object]]:
    return [_said(each) for each in growing.digests]


def _said(each: object) -> dict[str, object]:
    fields = msgspec.structs.asdict(each)  # type: ignore[arg-type]  # a Digest
    return {name: fields[name] for name in ("journal", "described", "config", "last", "said", "rows", "highest_step")}


def test_each_update_takes_in_what_was_added(tmp_path: Path) -> None:
    growing = GrowingDigests(str(tmp_path))
    assert growing.update() == []
    journal = Journal(tmp_path, alive()).say(named("grows"))
    for part in range(4):
        journal.log(range(part * 100, part * 100 + 100)).log(range(3), note="x", part=part)
        journal.say(Configured(at_ns=BEGAN_NS, config={"part": part}), Facts(at_ns=BEGAN_NS, facts={"part": part}))
        growing.update()
        assert grown(growing) == whole(tmp_path)


def test_rows_that_stand_behind_one_another_are_counted_and_the_highest_step_is_found_among_them(
    tmp_path: Path,
) -> None:
    growing = GrowingDigests(str(tmp_path))
    journal = Journal(tmp_path, alive())
    for steps in (range(300), [-5, 7_000, 3], [1], range(200, 100, -1), [1 << 40, -(1 << 40), 0]):
        journal.log(steps).log(range(2), rate=0.5)
        growing.update()
        assert grown(growing) == whole(tmp_path)
    assert growing.digests[0].highest_step == 1 << 40


def test_segment_follows_segment(tmp_path: Path) -> None:
    growing = GrowingDigests(str(tmp_path))
    journal = Journal(tmp_path, alive()).say(named("grows"))
    for part in range(5):
        journal.log(range(part * 10_000, part * 10_000 + 10_000))
        growing.update()
        assert growing.digests[0].last == {"loss": 1 / (part * 10_000 + 10_000)}
    assert len(list(tmp_path.glob("*.seg"))) > 1
    assert growing.digests[0].described == named("grows")


def test_every_wish_to_save_is_heard_once_also_across_segments(tmp_path: Path) -> None:
    growing = GrowingDigests(str(tmp_path))
    journal = Journal(tmp_path, alive()).say(named("saves"))
    growing.update()
    for number in range(3):
        journal.say(Saved(at_ns=number, pattern=f"{number}.pt", base="/")).log(range(20_000))
    heard = growing.update()
    assert [saved.pattern for _, saved in heard] == ["0.pt", "1.pt", "2.pt"]
    assert heard[0][0].pid == alive().pid
    assert growing.update() == []


def test_a_record_that_is_not_all_there_yet_comes_with_a_later_update(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "source", alive()).say(named("a")).close()
    [path] = (tmp_path / "source").iterdir()
    data = path.read_bytes()
    copy = tmp_path / "copy" / path.name
    copy.parent.mkdir()
    growing = GrowingDigests(str(copy.parent))
    for length in range(0, len(data) + 1, 7):
        copy.write_bytes(data[:length])
        growing.update()
    copy.write_bytes(data)
    growing.update()
    assert [(each.journal, each.described) for each in growing.digests] == [(journal.id, named("a"))]


def test_a_record_larger_than_what_is_read_at_once_is_whole(tmp_path: Path) -> None:
    growing = GrowingDigests(str(tmp_path))
    Journal(tmp_path, alive()).say(Configured(at_ns=1, config={"text": "x" * 1_000_000})).log(range(2))
    growing.update()
    assert growing.digests[0].config == {"text": "x" * 1_000_000}
    assert growing.digests[0].last == {"loss": 0.5}


def test_a_file_that_is_no_segment_of_ours_says_nothing(tmp_path: Path) -> None:
    (tmp_path / f"{'0' * 32}-000001.seg").write_bytes(bytes(1000))
    (tmp_path / f"{'1' * 32}-000001.seg").write_bytes(b"text" * 100)
    growing = GrowingDigests(str(tmp_path))
    assert growing.update() == []
    assert growing.digests == []


def test_what_was_asked_for_is_not_forgotten_where_another_journal_can_not_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    growing = GrowingDigests(str(tmp_path))
    for number in range(2):
        Journal(tmp_path, alive()).say(named("x"), Saved(at_ns=1, pattern=f"{number}.pt", base="/"))
    last = list(list_segments(str(tmp_path)).values())[-1][0]
    real = os.open

    def refuse(path: str, flags: int) -> int:
        if path == last:
            raise PermissionError(path)
        return real(path, flags)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        with pytest.raises(PermissionError):
            growing.update()
    assert {saved.pattern for _, saved in growing.update()} == {"0.pt", "1.pt"}
    assert growing.update() == []
