"""Real small disks, really filled: training goes on, what is lost is counted, recording resumes."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from holter.journal.decoding import LoggedRow
from holter.journal.digest import digest
from holter.journal.filesystem import keeps_reservations
from holter.journal.reader import scan
from holter.journal.rundir import list_segments
from holter.model.record import Record
from holter.model.records import Lost
from tests.e2e.programs import sidecars, wait_until
from tests.unit.journal.recording import read

ROOT = Path(__file__).parents[2]
MIB = 1 << 20

# Logs until the disk is full and beyond, makes room, goes on. The clock is its own: a second is nobody's wait.
PROGRAM = """
import json, os, sys
from holter.errors import NotKept
from holter.journal import segment, writer
from tests.unit.journal.recording import Recording

directory, ballast, kind = sys.argv[1:]
if kind == "written":
    segment.keeps_reservations = lambda directory: False
recording = Recording(directory)
kept, reasons = [], []

def log(steps):
    for step in steps:
        try:
            recording.log({"loss": step * 0.5, "acc": step * 0.25}, step)
            kept.append(step)
        except NotKept as error:
            reasons.append(str(error))

log(range(40_000))
os.unlink(ballast)
recording.clock.ns += writer.RETRY_NS
log(range(40_000, 41_000))
recording.journal.close()
print(json.dumps({"kept": kept, "lost": len(reasons), "reasons": sorted(set(reasons))}))
"""


class Disk(NamedTuple):
    """A mounted file system of a few MiB. `remount` brings back what would be there after a power cut and a sync."""

    path: Path
    remount: Callable[[], None]


def mount(*arguments: str) -> None:
    found = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip(f"not on this platform: mount {' '.join(arguments)} failed: {found.stderr.strip()}")


def unmount(path: Path, *options: str) -> None:
    subprocess.run(["umount", *options, str(path)], check=True)


@pytest.fixture(params=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    if os.geteuid():
        pytest.skip("not on this platform: only root may mount a small disk")
    path = tmp_path / "disk"
    path.mkdir()
    yield from (tmpfs(path) if request.param == "tmpfs" else ext4(path, tmp_path / "image"))


def tmpfs(path: Path) -> Iterator[Disk]:
    mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(path))
    yield Disk(path, lambda: None)
    unmount(path, "--lazy")


def ext4(path: Path, image: Path) -> Iterator[Disk]:
    if not os.path.exists("/dev/loop-control"):
        pytest.skip("not on this platform: no loop devices")
    with open(image, "wb") as file:
        file.truncate(8 * MIB)
    mkfs = shutil.which("mkfs.ext4", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert mkfs, "mkfs.ext4 is missing: scripts/system-packages installs it"
    subprocess.run([mkfs, "-q", "-m", "0", str(image)], check=True)

    def remount() -> None:
        unmount(path)
        mount("-o", "loop", str(image), str(path))

    mount("-o", "loop", str(image), str(path))
    yield Disk(path, remount)
    unmount(path, "--lazy")


def fill(disk: Path, free_bytes: int) -> Path:
    """Take the space of the disk but for this much."""
    ballast = disk / "ballast"
    status = os.statvfs(disk)
    with open(ballast, "wb") as file:
        os.posix_fallocate(file.fileno(), 0, status.f_bavail * status.f_frsize - free_bytes)
    return ballast


def record_on(disk: Path, kind: str, free_bytes: int) -> tuple[list[int], int, list[str]]:
    """The steps that were kept, how many were not, and why."""
    command = [sys.executable, "-c", PROGRAM, str(disk / "run"), str(fill(disk, free_bytes)), kind]
    program = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert program.returncode != -signal.SIGBUS
    assert program.returncode == 0, program.stderr
    answer = json.loads(program.stdout)
    return answer["kept"], answer["lost"], answer["reasons"]


def segments(disk: Path) -> list[str]:
    [paths] = list_segments(str(disk / "run")).values()
    return paths


def found_on(disk: Path) -> list[Record | LoggedRow]:
    return [each for path in segments(disk) for each in read(Path(path).read_bytes())]


both_kinds = pytest.mark.parametrize("kind", ["mapped", "written"])


@both_kinds
def test_a_full_disk_costs_the_rows_that_did_not_fit_and_says_how_many(disk: Disk, kind: str) -> None:
    kept, lost, reasons = record_on(disk.path, kind, free_bytes=700_000)
    disk.remount()
    assert (len(kept) + lost, kept[-1000:]) == (41_000, list(range(40_000, 41_000)))
    assert 0 < lost < 40_000
    assert reasons == [f"No space left on device ({disk.path / 'run'})"]
    rows = [each.step for each in found_on(disk.path) if isinstance(each, LoggedRow)]
    assert rows == kept
    counted = digest("", segments(disk.path))
    assert counted is not None
    assert sum(each.records for each in counted.said if isinstance(each, Lost)) == lost
    assert counted.rows == len(kept)


@both_kinds
def test_a_disk_that_is_full_from_the_start_is_used_as_soon_as_it_has_room(disk: Disk, kind: str) -> None:
    kept, lost, _ = record_on(disk.path, kind, free_bytes=0)
    disk.remount()
    assert (kept, lost) == (list(range(40_000, 41_000)), 40_000)
    assert [each.step for each in found_on(disk.path) if isinstance(each, LoggedRow)] == kept
    assert [each.records for each in found_on(disk.path) if isinstance(each, Lost)] == [40_000]


@both_kinds
def test_nothing_on_a_full_disk_is_damaged(disk: Disk, kind: str) -> None:
    record_on(disk.path, kind, free_bytes=300_000)
    disk.remount()
    for path in segments(disk.path):
        found = scan(Path(path).read_bytes())
        assert (found.skipped, found.end) == ([], os.path.getsize(path))


def test_a_small_disk_is_written_through_a_mapping(disk: Disk) -> None:
    assert keeps_reservations(str(disk.path))


TRAINING = """
import holter
run = holter.init(project="full")
for step in range(60_000):
    run.log({"loss": step * 0.5}, step=step)
run.finish()
print("trained")
"""


def leave(disk: Path) -> None:
    """End the sidecar, which would keep the disk from being unmounted."""
    for sidecar in sidecars(str(disk)):
        os.kill(sidecar, signal.SIGKILL)
    wait_until(lambda: not sidecars(str(disk)))


def test_training_goes_on_when_the_disk_is_full_and_says_so_once(disk: Disk) -> None:
    fill(disk.path, free_bytes=500_000)
    environment = {
        **os.environ,
        "HOLTER_DIR": str(disk.path / "holter"),
        "HOLTER_STRICT": "",
        "HOLTER_DISK_LIMIT": str(8 * MIB),
    }
    program = subprocess.run(
        [sys.executable, "-c", TRAINING], capture_output=True, text=True, env=environment, check=False
    )
    assert (program.returncode, program.stdout) == (0, "trained\n")
    assert program.stderr.count("No space left on device") == 1
    leave(disk.path)
