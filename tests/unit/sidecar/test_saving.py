"""When the sidecar copies which file."""

import os
from pathlib import Path

import pytest

from holter.model.records import Saved
from holter.sidecar import saving
from holter.sidecar.saving import Saver


class Served:
    """A saver over a working directory, and what it complained about."""

    def __init__(self, tmp_path: Path, limit_bytes: int = -1) -> None:
        self.work, self.run_dir = tmp_path / "work", tmp_path / "run"
        self.work.mkdir()
        self.run_dir.mkdir()
        self.complaints: list[str] = []
        self.saver = Saver(str(self.run_dir), limit_bytes, complain=self.complaints.append)

    def ask(self, pattern: str, policy: str, *, is_done: bool = False) -> None:
        self.saver.ask(Saved(at_ns=0, pattern=pattern, base=str(self.work), policy=policy, is_done=is_done))

    def write(self, name: str, text: str) -> None:
        (self.work / name).write_text(text)

    def kept(self) -> dict[str, str]:
        files = (self.run_dir / "files").rglob("*") if (self.run_dir / "files").exists() else []
        return {path.name: path.read_text() for path in files if path.is_file()}


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setattr(saving, "EVERY_S", 0.0)
    monkeypatch.setattr(saving, "REST_PER_COPY", 0)
    return Served(tmp_path)


def test_now_is_once(served: Served) -> None:
    served.write("a.pt", "1")
    served.ask("*.pt", "now")
    served.saver.serve()
    served.write("a.pt", "22")
    served.saver.serve()
    served.saver.serve(is_end=True)
    assert served.kept() == {"a.pt": "1"}
    assert not served.saver.is_awaiting


def test_what_the_caller_did_already_is_not_done_again(served: Served) -> None:
    served.write("a.pt", "1")
    served.ask("*.pt", "now", is_done=True)
    served.saver.serve()
    assert served.kept() == {}


def test_live_is_again_and_again_and_for_files_that_come_later(served: Served) -> None:
    served.ask("*.pt", "live")
    served.saver.serve()
    served.write("a.pt", "1")
    served.saver.serve()
    assert served.kept() == {"a.pt": "1"}
    served.write("a.pt", "22")
    served.write("b.pt", "3")
    served.saver.serve()
    assert served.kept() == {"a.pt": "22", "b.pt": "3"}
    (served.work / "a.pt").unlink()
    served.saver.serve()
    assert served.kept() == {"a.pt": "22", "b.pt": "3"}
    assert served.saver.is_awaiting


def test_live_is_not_more_often_than_it_may_be(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "EVERY_S", 60.0)
    served.ask("a.pt", "live")
    served.write("a.pt", "1")
    served.saver.serve()
    served.write("a.pt", "22")
    served.saver.serve()
    assert served.kept() == {"a.pt": "1"}
    served.saver.serve(is_end=True)
    assert served.kept() == {"a.pt": "22"}


def test_the_end_is_the_end(served: Served) -> None:
    served.write("a.pt", "1")
    served.ask("*.pt", "end")
    served.saver.serve()
    assert served.kept() == {}
    served.write("a.pt", "22")
    served.saver.serve(is_end=True)
    assert served.kept() == {"a.pt": "22"}


def test_a_wish_that_nothing_ever_fitted_is_said_at_the_end(served: Served) -> None:
    served.ask("*.pt", "end")
    served.saver.serve()
    assert served.complaints == []
    served.saver.serve(is_end=True)
    assert served.complaints == [f"save('*.pt') matched no file in {served.work}"]


def test_a_file_for_which_there_is_no_room_is_said_once(tmp_path: Path) -> None:
    served = Served(tmp_path, limit_bytes=1000)
    served.write("a.pt", "x" * 700)
    served.write("b.pt", "x" * 700)
    served.ask("*.pt", "live")
    served.saver.serve()
    served.saver.serve()
    assert len(served.kept()) == 1
    assert len(served.complaints) == 1
    assert "the run's limit of 1,000 bytes leaves no room" in served.complaints[0]


def test_a_file_that_cannot_be_copied_is_said_once(served: Served) -> None:
    served.write("a.pt", "1")
    (served.run_dir / "files").write_text("in the way")
    served.ask("*.pt", "live")
    served.saver.serve()
    served.saver.serve()
    assert len(served.complaints) == 1
    assert "a.pt is not kept:" in served.complaints[0]
    os.unlink(served.run_dir / "files")
    served.saver.serve()
    assert served.kept() == {"a.pt": "1"}
