"""What a process that could not say so itself was near to running out of, as it was last seen."""

import contextlib
import os
import signal
from collections.abc import Iterable, Mapping

import msgspec

from holter.journal.signal_log import read_signal_log
from holter.model.evidence import Disk, Holder, Surroundings
from holter.probes.limits import parse_limits
from holter.probes.live.disk import measure
from holter.probes.postmortem.scene import Scene
from holter.probes.procfs import PROC, read_file

TURN = 5
MOST_OUTPUTS = 8

Row = Mapping[str, float | int]


def look(row: Row, limits: bytes, *, paths: Mapping[str, str], process: Mapping[str, float]) -> Surroundings:
    """Return what the last samples come to. Pure.

    Args:
        row: the run's last samples.
        limits: the process's `/proc/PID/limits`, read while it lived.
        paths: where its disks are: `run`, `cwd`, `tmp`, `shm`.
        process: of the process itself: `open_files`, `address_space_bytes` and `cpu_s`.
    """
    soft = {name: pair[0] for name, pair in parse_limits(limits).items()} if limits else {}
    return Surroundings(
        disks=tuple(_disks(row, paths)) or None,
        open_files=_whole(process.get("open_files")),
        open_files_limit=soft.get("open_files"),
        threads=_whole(row.get("system/cgroup/pids_current")),
        threads_limit=_whole(row.get("system/cgroup/pids_max")),
        address_space_bytes=_whole(process.get("address_space_bytes")),
        address_space_limit_bytes=soft.get("address_space"),
        data_limit_bytes=soft.get("data_size"),
        stack_limit_bytes=soft.get("stack_size"),
        file_size_limit_bytes=soft.get("file_size"),
        cpu_limit_s=soft.get("cpu_time"),
        cpu_used_s=process.get("cpu_s"),
        memory_available_bytes=_whole(row.get("system/host/memory_available_bytes")),
    )


def at_death(scene: Scene) -> None:
    """Of the program itself, and of who wrote into a mapped file that had no page for it."""
    faults = [each for each in read_signal_log(scene.directory).caught if each.signal == signal.SIGBUS]
    for death in [death for death in scene.unclean if death.is_bus_error or not death.is_child]:
        paths = places(scene.directory, death.cwd)
        found = measure_again(look(death.row, death.limits, paths=paths, process=death.process))
        found = msgspec.structs.replace(found, heeded=death.heeded, stack_start=death.stack_start or None)
        found = with_outputs(found, death.outputs)
        if not death.is_silent:  # it may have had nothing of ours in it to look around
            scene.say("last-seen", found, pid=death.pid)
        else:
            found = with_mapped_files(found, [each.mapping for each in faults if each.pid == death.pid])
            holders = scene.gpu.holders() if scene.gpu is not None else None
            scene.say("surroundings", with_gpu_holders(found, holders) if holders else found, pid=death.pid)


def places(directory: str, cwd: str) -> dict[str, str]:
    """Where the disks of a run are, by the names that they have in its samples."""
    return {"run": directory, "cwd": cwd, "tmp": os.environ.get("TMPDIR") or "/tmp", "shm": "/dev/shm"}


def measure_again(found: Surroundings) -> Surroundings:
    """The same, with the disks as they are now where they have less room by now: they may fill up within a second."""

    def measured(disk: Disk) -> Disk:
        free_bytes, _, free_inodes = map(_whole, measure(disk.path))
        return msgspec.structs.replace(
            disk,
            free_bytes=min((each for each in (disk.free_bytes, free_bytes) if each is not None), default=None),
            free_inodes=min((each for each in (disk.free_inodes, free_inodes) if each is not None), default=None),
        )

    return msgspec.structs.replace(found, disks=tuple(map(measured, found.disks))) if found.disks else found


def with_gpu_holders(found: Surroundings, holders: tuple[Holder, ...]) -> Surroundings:
    """The same, with who has memory of the GPUs."""
    return msgspec.structs.replace(found, gpu_holders=holders)


def with_mapped_files(found: Surroundings, mappings: Iterable[str]) -> Surroundings:
    """The same, with the disks of the files in these lines of /proc/PID/maps, and how long the files are."""
    paths = {parts[5].strip() for line in mappings if len(parts := line.split(None, 5)) == 6}
    disks = [disk for path in sorted(paths) if path.startswith("/") and (disk := _measure(path, "mapped file"))]
    return msgspec.structs.replace(found, disks=(*(found.disks or ()), *disks)) if disks else found


def with_outputs(found: Surroundings, paths: Iterable[str]) -> Surroundings:
    """The same, with the disks of the files into which the run printed, of very many some."""
    disks = [disk for path in sorted(paths)[:MOST_OUTPUTS] if (disk := _measure(path, "output"))]
    return msgspec.structs.replace(found, disks=(*(found.disks or ()), *disks)) if disks else found


def read_outputs(pid: int, proc: str = PROC) -> tuple[str, ...]:
    """Return the files that are a living process's standard output and standard error; no terminals, pipes, devices."""
    found = []
    for number in (1, 2):
        with contextlib.suppress(OSError):
            found.append(os.readlink(f"{proc}/{pid}/fd/{number}"))
    return tuple(path for path in dict.fromkeys(found) if path.startswith("/") and not path.startswith("/dev/"))


def _measure(path: str, what: str) -> Disk | None:
    try:
        space, size = os.statvfs(path), os.stat(path).st_size
    except OSError:
        return None
    return Disk(
        path=path,
        what=what,
        free_bytes=space.f_bavail * space.f_frsize,
        total_bytes=space.f_blocks * space.f_frsize,
        free_inodes=space.f_favail if space.f_files else None,
        total_inodes=space.f_files or None,
        file_bytes=size,
    )


def read_limits(pid: int, proc: str = PROC) -> bytes:
    """Return a living process's limits as text, empty where nobody can look."""
    return read_file(f"{proc}/{pid}/limits") or b""


def _disks(row: Row, paths: Mapping[str, str]) -> list[Disk]:
    names = {
        "cwd": "working directory",
        "tmp": "temporary directory",
        "run": "run directory",
        "shm": "shared memory",
    }
    return [
        Disk(
            path=paths[key],
            what=what,
            free_bytes=_whole(row.get(f"system/disk/{key}/free_bytes")),
            total_bytes=_whole(row.get(f"system/disk/{key}/total_bytes")),
            free_inodes=_whole(row.get(f"system/disk/{key}/free_inodes")),
        )
        for key, what in names.items()
        if paths.get(key) and _whole(row.get(f"system/disk/{key}/total_bytes")) is not None
    ]


def _whole(value: float | None) -> int | None:
    return int(value) if value is not None and value == value else None
