"""One death of a machine: copies the disk under a logging program, and reads the copy as the next boot would.

`unshare --mount python -m benchmarks.deaths SCRATCH LIFE_S [control]` prints what it found as JSON. Needs root. The
mounts are in a mount namespace of their own, so they are gone with the last process of it, whatever happens. The
control has its sidecar stopped and never flushes: it must lose rows, or the copies hold more than a disk would.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.death_target import REPORT
from benchmarks.processes import await_sidecar, end, find_sidecar
from benchmarks.reading import read_rows, run_directories
from benchmarks.trials import environment

IMAGE_BYTES = 64 << 20
SAFE_AFTER_S = 1.0
MOST_COPIES = 200
# An ordinary user's PATH leaves out the folder of mkfs and losetup.
TOOLS = os.environ["PATH"] + ":/usr/sbin:/sbin"


class Death(msgspec.Struct, frozen=True, kw_only=True):
    """What the copy of the disk held, against what the program had been promised when the copy began."""

    logged: int
    due: int
    """Rows whose `log()` had returned more than a second before the copy began."""
    due_missing: int
    flushed: int
    flushed_missing: int
    wrong: int
    """Rows that are there and are not what was logged."""
    newest_age_s: float
    """How old the newest row of the copy was when the copy began."""
    copies: int
    """How many were needed for one during which the disk stood still."""


def die(scratch: Path, life_s: float, *options: str) -> Death:
    disk, copy = scratch / "disk.img", scratch / "copy.img"
    with open(disk, "wb") as file:
        file.truncate(IMAGE_BYTES)
    _tool("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", str(disk))
    with mounted(disk, scratch / "before") as before:
        command = [sys.executable, "-m", "benchmarks.death_target", *options]
        target = subprocess.Popen(command, cwd=scratch, env=environment(before), stdout=subprocess.PIPE, bufsize=0)
        try:
            if "control" in options:
                os.kill(await_sidecar(before), signal.SIGSTOP)
            reports = _listen(target, life_s)
            copied_ns, copies = copy_at_rest(disk, copy, before)
            reports += _listen(target, 0.0)
        finally:
            target.kill()
            target.communicate()
            while (sidecar := find_sidecar(before)) is not None:
                end(sidecar)
                time.sleep(0.01)
    with mounted(copy, scratch / "after") as after:
        found = {row.step: row.values for run in run_directories(after) for row in read_rows(run)}
    return judge(reports, found, copied_ns=copied_ns, copies=copies)


def judge(reports: bytes, found: dict[int, dict[str, float]], *, copied_ns: int, copies: int) -> Death:
    whole = reports[: len(reports) - len(reports) % REPORT.size]
    known = [(step, at_ns) for step, at_ns in REPORT.iter_unpack(whole) if at_ns <= copied_ns]
    logged = {step: at_ns for step, at_ns in known if step >= 0}
    flushed = max((-1 - step for step, _ in known if step < 0), default=-1) + 1
    due = [step for step, at_ns in logged.items() if copied_ns - at_ns > SAFE_AFTER_S * 1e9]
    newest = max((step for step in found if step in logged), default=None)
    return Death(
        logged=len(logged),
        due=len(due),
        due_missing=sum(step not in found for step in due),
        flushed=flushed,
        flushed_missing=sum(step not in found for step in range(flushed)),
        wrong=sum(set(values.values()) != {step * 0.5} for step, values in found.items()),
        newest_age_s=(copied_ns - (logged[newest] if newest is not None else min(logged.values()))) / 1e9,
        copies=copies,
    )


def copy_at_rest(disk: Path, copy: Path, mount: Path) -> tuple[int, int]:
    """Copy the image while nothing is written to it: a moment as it could be found after a loss of power.

    What the mounted file system holds in memory only is not in the image. Returns when the copy began, and how many
    attempts it took; a copy into which the disk wrote would be a state that never was.
    """
    counter = Path(f"/sys/dev/block/{os.major(mount.stat().st_dev)}:{os.minor(mount.stat().st_dev)}/stat")
    for attempt in range(1, MOST_COPIES + 1):
        done, under_way = _writes(counter)
        began_ns = time.monotonic_ns()
        _copy_data(disk, copy)
        if not under_way and (done, 0) == _writes(counter):
            return began_ns, attempt
        time.sleep(0.003)
    raise TimeoutError(f"the disk did not stand still for one of {MOST_COPIES} copies")


def _writes(counter: Path) -> tuple[int, int]:
    """How many writes the device has finished, and how many requests are on their way."""
    fields = counter.read_text().split()
    return int(fields[4]), int(fields[8])


def _copy_data(source: Path, target: Path) -> None:
    """Copy what is not a hole, which takes a few milliseconds."""
    with open(source, "rb") as old, open(target, "wb") as new:
        new.truncate(IMAGE_BYTES)
        at = 0
        while at < IMAGE_BYTES:
            try:
                at = os.lseek(old.fileno(), at, os.SEEK_DATA)
            except OSError:  # only holes are left
                return
            stop = os.lseek(old.fileno(), at, os.SEEK_HOLE)
            os.pwrite(new.fileno(), os.pread(old.fileno(), stop - at, at), at)
            at = stop


def _listen(target: "subprocess.Popen[bytes]", seconds: float) -> bytes:
    assert target.stdout is not None
    deadline, data = time.monotonic() + seconds, b""
    while select.select([target.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
        if not (more := target.stdout.read(1 << 16)):
            raise ChildProcessError(f"the program ended with exit code {target.wait()}")
        data += more
        if time.monotonic() > deadline:
            break
    return data


@contextlib.contextmanager
def mounted(image: Path, place: Path) -> Iterator[Path]:
    place.mkdir(exist_ok=True)
    _tool("mount", "-o", "loop", str(image), str(place))
    try:
        yield place
    finally:
        _tool("umount", str(place))


def _tool(*command: str) -> None:
    subprocess.run(command, check=True, env={**os.environ, "PATH": TOOLS}, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    print(msgspec.json.encode(die(Path(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:])).decode())
