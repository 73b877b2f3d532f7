"""What programs log becomes a version outside of their process, or is said to be absent."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import holter
from holter.artifacts import asks
from holter.artifacts.asks import Ask, list_asks, submit
from holter.artifacts.book import Version
from holter.artifacts.sealing import seal
from holter.artifacts.store import Store
from holter.artifacts.wishes import Source, Wanted, state_of
from holter.artifacts.working_off import work_off
from holter.catalog.read.run_artifacts import artifacts_of
from holter.cli.choice import open_catalog
from holter.errors import NoArtifact, NotSealed, UsageError

WITHIN_S = 60.0


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[holter.Run]:
    monkeypatch.chdir(tmp_path)
    with holter.init(project="p", mode="offline") as run:
        yield run


def store() -> Store:
    return Store(os.environ["HOLTER_DIR"])


def test_a_folder_becomes_a_version_and_comes_back(run: holter.Run, tmp_path: Path) -> None:
    (tmp_path / "data" / "sub").mkdir(parents=True)
    (tmp_path / "data" / "a.txt").write_text("one")
    (tmp_path / "data" / "sub" / "b.bin").write_bytes(bytes(100_000))
    logged = run.log_artifact("data", name="pairs", type="dataset", aliases=["fresh"])
    assert logged.wait(WITHIN_S).version == "v0"
    used = run.use_artifact("pairs:fresh", type="dataset")
    folder = Path(used.download())
    assert (folder / "a.txt").read_text() == "one"
    assert (folder / "sub" / "b.bin").read_bytes() == bytes(100_000)
    used.verify()
    assert (used.logged_by().id, used.size, used.aliases) == (run.id, 100_003, ["fresh", "latest"])
    assert [each.id for each in used.used_by()] == [run.id]
    assert store().book("p", "pairs").find("v0").used_by == [run.id]


def test_what_is_written_after_the_call_is_not_in_the_version(run: holter.Run, tmp_path: Path) -> None:
    for size in (10, 300_000):
        (tmp_path / "model.bin").write_bytes(b"a" * size)
        logged = run.log_model("model.bin", "model")
        (tmp_path / "model.bin").write_bytes(b"b" * size)
        assert Path(logged.wait(WITHIN_S).file()).read_bytes() == b"a" * size


def test_a_file_that_is_written_to_while_it_is_copied_makes_no_version_and_that_is_said(
    run: holter.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.bin").write_bytes(b"a" * 300_000)
    copy = asks._copy

    def while_somebody_writes(source: int, path: str, size: int) -> None:
        with (tmp_path / "model.bin").open("ab") as file:
            file.write(b"b")
        copy(source, path, size)

    monkeypatch.setattr(asks, "_copy", while_somebody_writes)
    monkeypatch.delenv("HOLTER_STRICT")
    logged = run.log_model("model.bin", "model")
    with pytest.raises(NotSealed, match=r"was not kept: model\.bin changed while"):
        logged.wait(WITHIN_S)
    book = store().book("p", "model")
    assert (book.live(), len(book.absent)) == ([], 1)
    assert "changed while it was copied" in book.absent[0].why
    work_off(os.environ["HOLTER_DIR"])
    assert not [name for name in os.listdir(asks.folder_of(os.environ["HOLTER_DIR"])) if name.endswith(".files")]
    assert [each.state for each in artifacts_of(open_catalog().load(run.id))] == ["absent"]


def test_a_file_that_was_removed_before_it_could_be_copied_makes_no_version(
    run: holter.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.bin").write_bytes(b"a")
    artifact = holter.Artifact("model", "model")
    artifact.add_file("model.bin")
    (tmp_path / "model.bin").unlink()
    monkeypatch.delenv("HOLTER_STRICT")
    with pytest.raises(NotSealed, match="was removed before it could be copied"):
        run.log_artifact(artifact).wait(WITHIN_S)


def test_an_immutable_file_that_changed_makes_no_version_and_that_is_said(tmp_path: Path) -> None:
    data = os.environ["HOLTER_DIR"]
    (tmp_path / "w").write_bytes(b"a" * 10)
    source = Source("w", str(tmp_path / "w"), state_of(os.stat(tmp_path / "w")))
    (tmp_path / "w").write_bytes(b"b" * 11)
    submit(data, Ask(wanted=Wanted(project="p", name="model", type="model", at_ns=1, ask="x"), sources=(source,)))
    assert work_off(data) == 1
    book = store().book("p", "model")
    assert (book.live(), [absent.ask for absent in book.absent]) == ([], ["x"])
    assert list_asks(data) == []


def test_what_was_asked_by_a_process_that_died_is_done_later(tmp_path: Path) -> None:
    data = os.environ["HOLTER_DIR"]
    (tmp_path / "w").write_bytes(b"a" * 100_000)
    for number in (1, 2):
        wanted = Wanted(project="p", name="model", type="model", at_ns=number, ask=f"x{number}")
        submit(data, Ask(wanted=wanted, sources=(Source("w", str(tmp_path / "w")),)))
    worker = subprocess.Popen([sys.executable, "-m", "holter.artifacts", data])
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    work_off(data)
    assert [version.name for version in store().book("p", "model").live()] == ["v0"]
    assert list_asks(data) == []


def test_what_is_wrong_is_reported_and_training_goes_on(
    run: holter.Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match="can't be the name of an artifact"):
        run.log_artifact("nothing", name="a/b")
    monkeypatch.setenv("HOLTER_STRICT", "")
    assert run.log_artifact("there-is-no-such-file", name="x").state == "PENDING"
    assert "No such file or directory" in capsys.readouterr().err
    with pytest.raises(NoArtifact, match="there is no artifact 'nothing' in project 'p'"):
        run.use_artifact("nothing:latest")


def test_a_disabled_run_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"a")
    with holter.init(mode="disabled") as run:
        run.log_artifact(str(tmp_path / "w"), name="x").wait()
        assert run.checkpoint(str(tmp_path / "w")) == ""
        assert run.last_checkpoint() is None


def test_files_written_into_an_artifact_and_addresses_are_in_it(run: holter.Run) -> None:
    artifact = holter.Artifact("mixed", "dataset", metadata={"rows": 3})
    with artifact.new_file("notes/read.me") as file:
        file.write("hello")
    artifact.add_reference("s3://bucket/key/part.parquet")
    with pytest.raises(UsageError, match="is no address"):
        artifact.add_reference("bucket/key")
    run.log_artifact(artifact)
    artifact.wait(WITHIN_S)
    assert [(file.path, file.ref) for file in artifact.files()] == [
        ("notes/read.me", ""),
        ("part.parquet", "s3://bucket/key/part.parquet"),
    ]
    assert Path(artifact.get_path("notes/read.me").download()).read_text() == "hello"


def test_an_artifact_that_was_not_logged_is_not_waited_for() -> None:
    with pytest.raises(NotSealed, match="was not logged"):
        holter.Artifact("x", "model").wait()


def test_a_linked_model_is_stored_once(run: holter.Run, tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(os.urandom(200_000))
    linked = run.link_model("m.bin", "registered", aliases=["production"]).wait(WITHIN_S)
    assert linked.qualified_name == "p/registered:v0"
    assert Path(run.use_model("registered:production")).stat().st_size == 200_000
    assert len(list(store().pieces.all())) == 1
    assert store().book("p", f"run-{run.id}-m.bin").find("v0").digest == linked.digest
    with pytest.raises(UsageError, match="can't be the name of an artifact"):
        run.link_model("m.bin", "a registered model")


def test_a_wish_on_which_everything_fails_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = os.environ["HOLTER_DIR"]
    (tmp_path / "w").write_bytes(b"a" * 10)
    for number, name in ((1, "odd"), (2, "model")):
        wanted = Wanted(project="p", name=name, type="model", at_ns=number, ask=f"x{number}")
        submit(data, Ask(wanted=wanted, sources=(Source("w", str(tmp_path / "w")),)))

    def seal_others(store: Store, given: tuple[Source, ...], wanted: Wanted) -> Version:
        if wanted.name == "odd":
            raise RecursionError("too deep")
        return seal(store, given, wanted)

    monkeypatch.setattr("holter.artifacts.working_off.seal", seal_others)
    assert work_off(data) == 2
    assert [absent.why for absent in store().book("p", "odd").absent] == ["RecursionError: too deep"]
    assert [version.name for version in store().book("p", "model").live()] == ["v0"]


def ask_for(name: str, *sources: Source, at_ns: int = 1) -> None:
    wanted = Wanted(project="p", name=name, type="model", at_ns=at_ns, ask=f"x{at_ns}")
    submit(os.environ["HOLTER_DIR"], Ask(wanted=wanted, sources=sources))


def test_a_wish_whose_copies_are_gone_keeps_no_other_waiting(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"a" * 10)
    ask_for("gone", Source("w", str(tmp_path / "small"), offset=0, bytes=10), at_ns=1)
    ask_for("model", Source("w", str(tmp_path / "w")), at_ns=2)
    assert work_off(os.environ["HOLTER_DIR"]) == 2
    [absent] = store().book("p", "gone").absent
    assert absent.why == f"w can't be read: No such file or directory ({tmp_path / 'small'})"
    assert [version.name for version in store().book("p", "model").live()] == ["v0"]


def test_a_copy_that_was_cut_off_makes_no_version(tmp_path: Path) -> None:
    (tmp_path / "0").write_bytes(b"a" * 100_000)
    ask_for("model", Source("w", str(tmp_path / "0"), bytes=300_000))
    work_off(os.environ["HOLTER_DIR"])
    book = store().book("p", "model")
    assert (book.live(), len(book.absent)) == ([], 1)
    assert "the copy of w is not whole" in book.absent[0].why


def test_who_waits_has_somebody_started_again(run: holter.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []

    def start(data: str, environment: dict[str, str]) -> None:
        started.append(data)
        if len(started) == 2:  # the first one was killed
            work_off(data)

    monkeypatch.setattr("holter.client.artifact_calls.start_worker", start)
    monkeypatch.setattr("holter.artifacts.artifact._AGAIN_S", 0.01)
    (tmp_path / "m.bin").write_bytes(b"a")
    assert run.log_artifact("m.bin", name="model").wait(WITHIN_S).version == "v0"


def test_a_project_may_have_any_letters_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.bin").write_bytes(b"a")
    with holter.init(project="team/vision: 2/3", mode="offline") as run:
        logged = run.log_artifact("m.bin", name="model").wait(WITHIN_S)
        assert (logged.version, logged.project) == ("v0", "team/vision: 2/3")
        assert Path(run.use_artifact("model:latest").file()).read_bytes() == b"a"


FULL = """
import os, resource, sys

def fill():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))

def make_room():
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

for name, size in (("a.bin", 200_000), ("b.bin", 3_000_000)):
    with open(name, "wb") as file:
        file.write(os.urandom(size))
"""
STAGING = """
import holter
from holter.client import artifact_calls
artifact_calls.start_keeper = lambda run, data: None
run = holter.init(project="p", mode="offline")
artifact = holter.Artifact("model", "model")
artifact.add_file("a.bin")
artifact.add_file("b.bin")
fill()
run.log_artifact(artifact)
make_room()
run.finish()
"""
SEALING = """
from holter.artifacts.asks import Ask, list_asks, submit
from holter.artifacts.store import Store
from holter.artifacts.wishes import Source, Wanted
from holter.artifacts.working_off import work_off
data = os.environ["HOLTER_DIR"]
wanted = Wanted(project="p", name="model", type="model", at_ns=1, ask="x")
submit(data, Ask(wanted=wanted, sources=(Source("b.bin", os.path.abspath("b.bin")),)))
fill()
print(work_off(data), len(list_asks(data)))
make_room()
print(work_off(data), [version.name for version in Store(data).book("p", "model").live()])
"""


def on_full_disk(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """A program that can write no file of more than a megabyte, for a while."""
    command = [sys.executable, "-c", FULL + source]
    environment = {**os.environ, "HOLTER_STRICT": ""}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_what_did_not_fit_on_the_disk_leaves_no_copy(tmp_path: Path) -> None:
    program = on_full_disk(tmp_path, STAGING)
    assert (program.returncode, "File too large" in program.stderr) == (0, True), program.stderr
    folder = asks.folder_of(os.environ["HOLTER_DIR"])
    assert [name for name in os.listdir(folder) if name.endswith(".files")] == []


def test_what_can_not_be_sealed_on_a_full_disk_is_sealed_when_there_is_room(tmp_path: Path) -> None:
    program = on_full_disk(tmp_path, SEALING)
    assert program.stdout.splitlines() == ["0 1", "1 ['v0']"], program.stderr
