"""A disk will be full: where the run, the program and temporary files are written.

Warns when it will be full within an hour at this rate, when 512 MiB or a thousand inodes are left, and when the next
checkpoint will not fit: as large as the largest piece that was written twice so far.
"""

from collections.abc import Iterator

import msgspec

from holter.guards.limits import Limits
from holter.guards.seen import Caution, Seen
from holter.guards.trend import BINS, grows
from holter.guards.window import Window
from holter.model.amounts import seconds, size

PLACES = {"run": "where the run is kept", "cwd": "of the working directory", "tmp": "of temporary files"}
AGAINST = ("delete old checkpoints, or write them to another disk", "`holter gc` frees what old runs hold")
PIECE_S = 60.0
LEAST_PIECE = 64 * 2**20
LENGTHS_S = (180.0, 600.0, 2400.0)
EVERY_S = 10.0
MOST_LEFT_SHARE = 0.02
PIECE_MARGIN = 1.1


class _Disk(msgspec.Struct):
    used: Window
    looked_s: float = 0.0
    piece_s: float = 0.0
    pieces: list[float] = []
    found: Caution | None = None


class Check:
    """Follows each place by itself."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._disks: dict[str, _Disk] = {}

    def look(self, seen: Seen) -> Iterator[Caution]:
        """All disks that will be full before long; one that several places share is told once."""
        told: set[float] = set()
        for place in PLACES:
            name = f"system/disk/{place}"
            free, total = seen.last(f"{name}/free_bytes"), seen.last(f"{name}/total_bytes")
            if not total > 0 or total in told:
                continue
            told.add(total)
            disk = self._disks.setdefault(place, _Disk(Window()))
            disk.used.add(seen.now_s, total - free)
            if seen.now_s - disk.looked_s >= EVERY_S:
                disk.looked_s = seen.now_s
                self._weigh_piece(disk, seen.now_s)
                inodes = seen.last(f"{name}/free_inodes")
                disk.found = self._judge(place, disk, seen, free=free, total=total, inodes=inodes)
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

    def _judge(self, place: str, disk: _Disk, seen: Seen, /, **figures: float) -> Caution | None:
        free, total, inodes = figures["free"], figures["total"], figures["inodes"]
        where = f"the disk {PLACES[place]}"
        if inodes < self._limits.least_inodes:
            return Caution(subject=place, text=f"{where} has {inodes:,.0f} inodes left", advice=AGAINST)
        if len(disk.pieces) > 1 and free < disk.pieces[-2] * PIECE_MARGIN:
            text = f"the next checkpoint will not fit: {size(free)} left on {where}, it takes {size(disk.pieces[-2])}"
            return Caution(subject=place, text=text, advice=AGAINST)
        if free < min(self._limits.disk_least_bytes, MOST_LEFT_SHARE * total):
            return Caution(subject=place, text=f"{where} has {size(free)} left", advice=AGAINST)
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
                subject=place,
                text=f"{where} will be full in about {seconds(eta_s)} ({rate})",
                advice=AGAINST,
                since_s=trend.since_s,
                eta_s=eta_s,
                eta_least_s=free / trend.most,
                eta_most_s=free / trend.least,
                figures={
                    "series": f"system/disk/{place}/free_bytes",
                    "used_bytes": total - free,
                    "limit_bytes": total,
                    "bytes_per_s": trend.slope,
                },
            )
        return None


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
