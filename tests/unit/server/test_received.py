"""Ranges of journals become the files that they were cut from."""

import contextlib
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.errors import JournalError, UsageError
from holter.journal.frame import HEADER_SIZE, MAGIC, Header, encode_header
from holter.journal.rundir import list_segments
from holter.storage.files.received import ReceivedRuns
from tests.clocks import FakeClock
from tests.unit.journal.recording import scratch
from tests.unit.server.remote import RemoteJournal


@pytest.fixture
def journal(tmp_path: Path) -> RemoteJournal:
    """One of three segments."""
    found = RemoteJournal(tmp_path / "far", "r1", clock=FakeClock())
    found.describe()
    found.log(30_000)
    return found


@pytest.fixture
def received(tmp_path: Path) -> Iterator[ReceivedRuns]:
    opened = ReceivedRuns(str(tmp_path / "data"))
    yield opened
    opened.close()


def segments(directory: Path) -> dict[str, bytes]:
    found = {
        Path(path).name: Path(path).read_bytes() for paths in list_segments(str(directory)).values() for path in paths
    }
    return {name: data.rstrip(b"\0") for name, data in found.items()}


def test_a_received_run_is_made_of_the_same_files(
    journal: RemoteJournal, received: ReceivedRuns, tmp_path: Path
) -> None:
    data = journal.stream()
    assert received.accept(journal.id, "r1", offset=0, data=data) == len(data)
    assert len(segments(journal.directory)) == 3
    assert segments(tmp_path / "data" / "runs" / "r1") == segments(journal.directory)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RemoteJournal:
    """The same one for each example: its id is random, and an example must come out the same when it is tried again."""
    found = RemoteJournal(tmp_path_factory.mktemp("recorded") / "far", "r1", clock=FakeClock())
    found.log(6_000)
    return found


@given(cuts=st.lists(st.integers(1, 60_000), max_size=30), seed=st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])
def test_ranges_that_are_cut_repeated_and_disordered_add_up_to_the_same(
    recorded: RemoteJournal, cuts: list[int], seed: random.Random
) -> None:
    data = recorded.stream()
    with scratch() as folder:
        received = ReceivedRuns(f"{folder}/data")
        have, sizes = 0, [*cuts, 1 << 20]
        while have < len(data):
            size = sizes.pop(0) if len(sizes) > 1 else sizes[0]
            start = max(0, have + seed.choice([0, 0, -1000, 5000]))
            answer = received.accept(recorded.id, "r1", offset=start, data=data[start : start + size])
            stop = min(start + size, len(data))
            is_kept = start <= have and (have or stop >= HEADER_SIZE)
            assert answer == (max(have, stop) if is_kept else have)
            have = answer
            if seed.random() < 0.1:
                received.close()
                received = ReceivedRuns(f"{folder}/data")
        received.close()
        assert segments(Path(folder) / "data" / "runs" / "r1") == segments(recorded.directory)


def test_a_header_that_ends_like_another_begins_is_kept_whole(received: ReceivedRuns) -> None:
    journal = bytes(range(16))
    headers = (encode_header(Header(journal, 1, 0, at)) for at in range(100_000))
    header = next(each for each in headers if each.endswith(MAGIC[:1]))
    assert received.accept(journal.hex(), "r1", offset=0, data=header) == len(header)


def test_a_header_may_be_cut_anywhere(recorded: RemoteJournal) -> None:
    data = recorded.stream()
    second = data.index(MAGIC, HEADER_SIZE)
    for cut in range(second + 1, second + HEADER_SIZE):
        with scratch() as folder:
            received = ReceivedRuns(f"{folder}/data")
            for start, stop in ((0, cut), (cut, cut + 1), (cut + 1, len(data))):
                assert received.accept(recorded.id, "r1", offset=start, data=data[start:stop]) == stop
            received.close()
            assert segments(Path(folder) / "data" / "runs" / "r1") == segments(recorded.directory)


def test_what_ends_like_a_header_begins_and_is_none_stays_where_it_is(received: ReceivedRuns, tmp_path: Path) -> None:
    journal = bytes(range(16))
    first = encode_header(Header(journal, 1, 0, 1)) + MAGIC + b"no header" + MAGIC[:3]
    rest = MAGIC[3:] + bytes(range(1, 100)) + MAGIC[:1]
    assert received.accept(journal.hex(), "r1", offset=0, data=first) == len(first)
    assert received.accept(journal.hex(), "r1", offset=len(first), data=rest) == len(first + rest)
    assert list(segments(tmp_path / "data" / "runs" / "r1").values()) == [first + rest]


def test_a_gap_is_refused_with_the_offset_that_is_there(journal: RemoteJournal, received: ReceivedRuns) -> None:
    data = journal.stream()
    assert received.accept(journal.id, "r1", offset=100, data=data[100:200]) == 0
    have = received.accept(journal.id, "r1", offset=0, data=data[:1000])
    assert have == 1000
    assert received.accept(journal.id, "r1", offset=2000, data=data[2000:3000]) == have
    assert received.accept(journal.id, "r1", offset=0, data=data[:500]) == have


def test_two_processes_may_receive_the_same_journal(journal: RemoteJournal, tmp_path: Path) -> None:
    data, one, other = journal.stream(), ReceivedRuns(str(tmp_path)), ReceivedRuns(str(tmp_path))
    have = 0
    while have < len(data):
        for each in (one, other):
            have = each.accept(journal.id, "r1", offset=have, data=data[have : have + 300_000])
    one.close()
    other.close()
    assert segments(tmp_path / "runs" / "r1") == segments(journal.directory)


@pytest.mark.parametrize("run", ["", "..", "../x", ".hidden", "a/b", "a\0b", "x" * 200])
def test_names_that_could_leave_the_directory_are_refused(run: str, received: ReceivedRuns, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        received.accept("a" * 32, run, offset=0, data=b"HOLTERJ\n")
    with pytest.raises(UsageError):
        received.accept_transcript(run, "output.log", offset=0, data=b"x")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("name", ["../output.log", "output.txt", "config.yaml", "output.log/x", ""])
def test_only_transcripts_are_taken_as_such(name: str, received: ReceivedRuns) -> None:
    with pytest.raises(UsageError):
        received.accept_transcript("r1", name, offset=0, data=b"x")


def test_what_is_no_journal_is_refused(received: ReceivedRuns, tmp_path: Path) -> None:
    with pytest.raises(JournalError):
        received.accept("a" * 32, "r1", offset=0, data=b"<html>" * 100)
    with pytest.raises(UsageError):
        received.accept("xyz", "r1", offset=0, data=b"")


def test_a_transcript_grows_by_ranges(received: ReceivedRuns, tmp_path: Path) -> None:
    assert received.accept_transcript("r1", "output.log", offset=0, data=b"one\n") == 4
    assert received.accept_transcript("r1", "output.log", offset=9, data=b"x") == 4
    assert received.accept_transcript("r1", "output.log", offset=2, data=b"e\ntwo\n") == 8
    assert (tmp_path / "data" / "runs" / "r1" / "output.log").read_bytes() == b"one\ntwo\n"


class Unsynced:
    """What was written, made or named and not brought to the disk since, by inode."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.inodes: set[int] = set()
        self._open, self._mkdir = os.open, os.mkdir
        patch.setattr(os, "open", self._opening)
        patch.setattr(os, "mkdir", self._making)
        for name in ("pwrite", "write", "ftruncate"):
            patch.setattr(os, name, self._noting(getattr(os, name), self.inodes.add))
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, self._noting(getattr(os, name), self.inodes.discard))

    def _noting(self, real: Callable[..., object], note: Callable[[int], None]) -> Callable[..., object]:
        def noted(fd: int, *rest: object) -> object:
            note(os.fstat(fd).st_ino)
            return real(fd, *rest)

        return noted

    def _opening(self, path: str, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_CREAT and not os.path.exists(path):
            self.inodes.add(os.stat(os.path.dirname(path)).st_ino)
        return self._open(path, flags, mode)

    def _making(self, path: str, mode: int) -> None:
        self._mkdir(path, mode)
        if path.endswith("r1"):  # what is above it is there before anything can be acknowledged
            self.inodes.add(os.stat(os.path.dirname(path)).st_ino)


def test_whatever_is_acknowledged_was_brought_to_the_disk_before(
    journal: RemoteJournal, received: ReceivedRuns, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file that was written to, and the directory of every new one."""
    received.accept_transcript("other", "output.log", offset=0, data=b"hello\n")  # and what is made for all runs
    unsynced = Unsynced(monkeypatch)
    data, have, left = journal.stream(), 0, []
    while have < len(data):
        have = received.accept(journal.id, "r1", offset=have, data=data[have : have + 50_000])
        left.append(set(unsynced.inodes))
    received.accept_transcript("r1", "output.log", offset=0, data=b"hello\n")
    left.append(set(unsynced.inodes))
    assert len(list((tmp_path / "data" / "runs" / "r1").glob("*.seg"))) == 3
    assert left == [set()] * len(left)


def held(directory: Path) -> int:
    """How many descriptors this process has of what lies below a directory."""
    found = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found += os.readlink(f"/proc/self/fd/{name}").startswith(str(directory))
    return found


def test_many_runs_hold_no_descriptor_of_their_own(tmp_path: Path, journal: RemoteJournal) -> None:
    data, place = journal.stream(), tmp_path / "data"
    received = ReceivedRuns(str(place))
    have = [received.accept(journal.id, f"r{number}", offset=0, data=data) for number in range(20)]
    assert held(place) == 1  # the claim on the directory
    again = [received.accept(journal.id, f"r{number}", offset=have[number], data=b"") for number in range(20)]
    assert again == have
    received.close()
    assert held(place) == 0
