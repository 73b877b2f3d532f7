"""Steps take much longer than they did at first, or have become uneven.

Compares the last minute of steps with the first third of the run, five minutes after the first row at the earliest,
and says what changed meanwhile: waiting for CPU, disk or memory, heat of the GPU, load of the machine. Where the usual
step takes what it took, it says when a third of the time goes by in pauses that come at no regular distances: steps of
five times the usual length, in both halves of the last ten minutes and 300 steps, and hardly any at first.
"""

from collections.abc import Iterator

from holter.guards.limits import Limits
from holter.guards.progress import paces
from holter.guards.seen import Caution, Seen
from holter.guards.unevenness import Uneven, Unevenness
from holter.guards.window import Window
from holter.model.amounts import seconds

SIGNS = {
    "system/psi/cpu_some_avg10": ("waiting for CPU", " % of the time", 15.0),
    "system/psi/io_some_avg10": ("waiting for disks", " % of the time", 15.0),
    "system/psi/memory_some_avg10": ("waiting for memory", " % of the time", 10.0),
    "system/host/load_1m": ("load of the machine", "", 2.0),
    "system/gpu/0/temperature_celsius": ("GPU 0", " °C", 8.0),
}
ADVICE = "look at what else runs on this machine, at the heat of the GPU and at the disks"
LEAST_PARTS = 10
RECENT_PARTS = 4
STEADY_SHARE = 0.75


class Check:
    """Follows the pace of one run."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._windows = {key: Window() for key in SIGNS}
        self._first: dict[str, float] = {}
        self._unevenness = Unevenness(limits)

    def look(self, seen: Seen) -> Iterator[Caution]:
        """That it has become slower, as long as it is."""
        for key, window in self._windows.items():
            window.add(seen.now_s, seen.last(key))
        uneven = self._unevenness.look(seen)
        pace = seen.progress.pace
        if len(pace) < LEAST_PARTS or seen.now_s - seen.progress.first_s < self._limits.slower_least_s:
            return
        third = max(RECENT_PARTS, len(pace) // 3)
        first, recent = paces(pace[1 : third + 1]), paces(pace[-RECENT_PARTS:])
        before, now = first[len(first) // 2], recent[len(recent) // 2]
        if not self._first:
            self._first = {key: window.mean_since(0.0) for key, window in self._windows.items()}
        if uneven is not None:
            yield self._tell(uneven, seen)
            return
        # All of the last minute is slower than nearly all of the beginning: epochs of two kinds of steps are not.
        if now < self._limits.slower_times * before or recent[0] < first[int(len(first) * STEADY_SHARE)]:
            return
        yield Caution(
            text=f"steps take {seconds(now)}, {now / before:.1f} times as long as at first{self._changed(seen, 60.0)}",
            advice=(ADVICE,),
            figures={"before_s": before, "now_s": now},
        )

    def _tell(self, uneven: Uneven, seen: Seen) -> Caution:
        usual, length = seconds(uneven.usual_s), seconds(uneven.length_s)
        slow = f"{uneven.pauses} took {self._limits.uneven_times:.0f} times the usual {usual} or longer"
        shares = f"{100 * uneven.share:.0f} % of the last {length}, {100 * uneven.before_share:.0f} % at first"
        return Caution(
            subject="uneven",
            text=f"steps have become uneven: {slow}, {shares}{self._changed(seen, uneven.length_s)}",
            advice=(ADVICE, "a disk that fails answers late now and then: `dmesg` and `iostat -x 5` show it"),
            figures={"usual_s": uneven.usual_s, "share": uneven.share, "before_share": uneven.before_share},
        )

    def _changed(self, seen: Seen, length_s: float) -> str:
        found = []
        for key, (what, unit, least) in SIGNS.items():
            before, now = self._first.get(key, float("nan")), self._windows[key].mean_since(seen.now_s - length_s)
            if now - before >= least:
                found.append(f"{what}: {now:.0f}{unit}, {before:.0f} before")
        return f" ({'; '.join(found)})" if found else ""


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
