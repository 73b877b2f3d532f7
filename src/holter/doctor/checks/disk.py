"""A place that the training writes to can't take it."""

from collections.abc import Iterator

from holter.doctor.amounts import GB, size
from holter.doctor.machine import Machine, Place

LITTLE = {"checkpoints": 2 * GB, "runs": GB // 2, "temporary files": GB // 2}
FEW_INODES = 10_000
IN_MEMORY = ("tmpfs", "ramfs")


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Not writable, nearly full, out of inodes or of quota, or no disk at all."""
    for place in machine.places:
        yield from _look_at(place)


def _look_at(place: Place) -> Iterator[tuple[str, str, str]]:
    where = f"{place.path} ({place.purpose})"
    elsewhere = {"runs": "set HOLTER_DIR", "temporary files": "set TMPDIR"}.get(place.purpose, "save elsewhere")
    if place.trouble:
        yield f"{where} can't be written to: {place.trouble}", "the training fails when it saves", elsewhere
        return
    if place.free_bytes < LITTLE[place.purpose]:
        what = f"{size(place.free_bytes)} are left on the disk of {where}"
        yield (
            what,
            "a checkpoint that does not fit is cut, and takes the last good one with it",
            f"make room, or {elsewhere}",
        )
    yield from _look_at_quotas(place, where)
    if place.inodes and place.free_inodes < FEW_INODES:
        what = f"{place.free_inodes} more files fit on the disk of {where}, whatever their size (inodes)"
        yield what, "«No space left on device» with room to spare", f"`df -i`; remove small files, or {elsewhere}"
    if place.purpose == "checkpoints" and place.file_system in IN_MEMORY:
        why = "what lies there takes memory, counts for the container's limit, and is gone with the machine"
        yield f"{where} is memory and no disk ({place.file_system})", why, elsewhere


def _look_at_quotas(place: Place, where: str) -> Iterator[tuple[str, str, str]]:
    for quota in place.quotas:
        fix = "; or ".join(quota.advice)
        if quota.free_bytes < LITTLE[place.purpose]:
            what = f"{size(quota.free_bytes)} are left of {quota.name} ({size(quota.total_bytes)}), for {where}"
            yield what, "writing fails with «Disk quota exceeded», whatever the disk has left", fix
        if quota.free_inodes < FEW_INODES:
            what = f"{quota.name} allows {quota.free_inodes:,.0f} more files, whatever their size, for {where}"
            yield what, "«Disk quota exceeded» with room to spare", fix
