"""A disk, or your quota on it, will be full: where the run, the program and temporary files are written.

Warns when it will be full within an hour at this rate, when 512 MiB or a thousand inodes are left, and when the next
checkpoint will not fit: as large as the largest piece that was written twice so far. Where you or your group have a
quota on the file system, what it leaves is looked at in the same way.
"""

from collections.abc import Iterator

import msgspec

from holter.guards.limits import Limits
from holter.guards.seen import Caution, Seen
from holter.guards.trend import BINS, grows
from holter.guards.window import Window
from holter.model.amounts import seconds, size
from holter.model.quota import Quota

PLACES = {"run": "where the run is kept", "cwd": "of the working directory", "tmp": "of temporary files"}
AGAINST = ("delete old checkpoints, or write them to another disk", "`holter gc` frees what old runs hold")
PIECE_S = 60.0
LEAST_PIECE = 64 * 2**20
LENGTHS_S = (180.0, 600.0, 2400.0)
EVERY_S = 10.0
MOST_LEFT_SHARE = 0.02
PIECE_MARGIN = 1.1


class _Room(msgspec.Struct, frozen=True, kw_only=True):
    """What something can be written to: a disk, or the share of it that somebody may have."""

    subject: str
    name: str
    free: float
    total: float
    inodes: float
    quota: Quota | None = None
    series: str = ""

    @property
    def has(self) -> str:
        return f"{self.name} ({size(self.total)})" if self.quota and self.total > 0 else self.name

    @property
    def advice(self) -> tuple[str, ...]:
        return self.quota.advice if self.quota else AGAINST


class _Disk(msgspec.Struct):
    used: Window
    looked_s: float = 0.0
    piece_s: float = 0.0
    pieces: list[float] = []
    found: Caution | None = None


class Check:
    """Follows each disk and each quota by itself."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._disks: dict[str, _Disk] = {}

    def look(self, seen: Seen) -> Iterator[Caution]:
        """All disks that will be full before long; one that several places share is told once."""
        told: set[float | str] = set()
        for room in (room for place in PLACES for room in _rooms(place, seen)):
            shared = room.name if room.quota else room.total
            if shared in told:
                continue
            told.add(shared)
            disk = self._disks.setdefault(room.subject, _Disk(Window()))
            disk.used.add(seen.now_s, room.total - room.free)
            if seen.now_s - disk.looked_s >= EVERY_S:
                disk.looked_s = seen.now_s
                self._weigh_piece(disk, seen.now_s)
                disk.found = self._judge(room, disk)
            if disk.found is not None:
                yield disk.found

    def _weigh_piece(self, disk: _Disk, now_s: float) -> None:
        """What was written within a minute is one piece."""
        if now_s - disk.piece_s < PIECE_S or not disk.used.covers(PIECE_S):
            return
        disk.piece_s = now_s
        values = disk.used.over(PIECE_S, BINS)
        if (piece := values[-1][1] - values[0][1]) >= LEAST_PIECE:
            disk.pieces = sorted([*disk.pieces, piece])[-8:]

    def _judge(self, room: _Room, disk: _Disk) -> Caution | None:
        free, total, where = room.free, room.total, room.has
        if room.inodes < self._limits.least_inodes:
            text = f"{where} has {room.inodes:,.0f} inodes left"
            return Caution(subject=room.subject, text=text, advice=room.advice)
        if len(disk.pieces) > 1 and free < disk.pieces[-2] * PIECE_MARGIN:
            left = f"{size(free)} left {'of' if room.quota else 'on'} {where}"
            text = f"the next checkpoint will not fit: {left}, it takes {size(disk.pieces[-2])}"
            return Caution(subject=room.subject, text=text, advice=room.advice)
        if free < min(self._limits.disk_least_bytes, MOST_LEFT_SHARE * total):
            return Caution(subject=room.subject, text=f"{where} has {size(free)} left", advice=room.advice)
        for length_s in LENGTHS_S:
            if not disk.used.covers(length_s):
                break
            trend = grows(disk.used.over(length_s, BINS), length_s, self._limits, capacity=free * 2)
            if trend is None or trend.eta_s(free) > min(
                self._limits.disk_horizon_s, self._limits.trust_times * length_s
            ):
                continue
            eta_s = trend.eta_s(free)
            rate = f"{size(free)} left, {size(trend.slope * 60)}/min"
            return Caution(
                subject=room.subject,
                text=f"{where} will be {'used up' if room.quota else 'full'} in about {seconds(eta_s)} ({rate})",
                advice=room.advice,
                since_s=trend.since_s,
                eta_s=eta_s,
                eta_least_s=free / trend.most,
                eta_most_s=free / trend.least,
                figures={
                    **({"series": room.series} if room.series else {}),
                    "used_bytes": total - free,
                    "limit_bytes": total,
                    "bytes_per_s": trend.slope,
                },
            )
        return None


def _rooms(place: str, seen: Seen) -> Iterator[_Room]:
    """The disk of a place, and the quotas on it."""
    series = f"system/disk/{place}/free_bytes"
    total = seen.last(f"system/disk/{place}/total_bytes")
    if total > 0:
        yield _Room(
            subject=place,
            name=f"the disk {PLACES[place]}",
            free=seen.last(series),
            total=total,
            inodes=seen.last(f"system/disk/{place}/free_inodes"),
            series=series,
        )
    for quota in seen.quotas.get(place, ()):
        yield _Room(
            # No series: a curve of the disk would not show it, others write there, too.
            subject=f"{place}/{'group' if quota.group else 'user'}-quota",
            name=quota.name,
            free=quota.free_bytes,
            total=quota.total_bytes,
            inodes=quota.free_inodes,
            quota=quota,
        )


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
