"""The death of the machine, 20 times.

A program logs 1,000 rows of 10 scalars a second onto an ext4 image in a loop device and calls `flush()` now and then.
At a random moment the image is copied: it holds what the disk holds, and nothing of what Linux still keeps in
memory. A copy into which the disk wrote meanwhile is taken again, so that each is a state that a loss of power could
have left. The copy is mounted elsewhere (ext4 replays its journal), the run is read there and compared with what the
program had reported before the copy began. One more program is the control: its sidecar is stopped and it never
flushes, so its rows must be missing, or the copies would hold more than a disk does. Needs root.
"""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from benchmarks.deaths import Death
from benchmarks.figures import Figure, Measured, Table, median, show
from benchmarks.plan import Plan
from benchmarks.trials import environment

LIFE_S = (1.5, 5.0)
TIMEOUT_S = 60.0


def measure(plan: Plan) -> Measured:
    if os.geteuid() != 0:
        note = "Not measured: mounting a disk image needs root."
        return Measured(figures=_figures([]), notes=[note])
    deaths = [die_apart(plan, random.uniform(*plan.pick(LIFE_S, (1.6, 1.7)))) for _ in range(plan.pick(20, 1))]
    control = die_apart(plan, 2.0, "control")
    ages = [death.newest_age_s for death in deaths]
    rows = [
        ["rows logged before the copy began", show(sum(death.logged for death in deaths))],
        ["of these older than 1 s", show(sum(death.due for death in deaths))],
        ["of these flushed", show(sum(death.flushed for death in deaths))],
        ["age of the newest row in the copy: median", show(1000 * median(ages), "ms")],
        ["age of the newest row in the copy: most", show(1000 * max(ages), "ms")],
    ]
    rows.append(["control: rows older than 1 s / of these missing", f"{control.due:,} / {control.due_missing:,}"])
    table = Table("In all copies", ["", ""], rows)
    notes = [] if control.due_missing else ["The control lost no row: this measure proves nothing here."]
    raw = {"control": msgspec.structs.asdict(control), "deaths": [msgspec.structs.asdict(death) for death in deaths]}
    return Measured(figures=_figures(deaths), tables=[table], notes=notes, raw=raw)


def die_apart(plan: Plan, life_s: float, *options: str) -> Death:
    """One death, in a mount namespace of its own."""
    with tempfile.TemporaryDirectory(prefix="death-", dir=plan.scratch) as scratch:
        command = [sys.executable, "-m", "benchmarks.deaths", scratch, str(life_s), *options]
        unshare = ["unshare", "--mount", "--propagation", "private"]
        done = subprocess.run(
            [*unshare, *command], env=environment(Path(scratch)), stdout=subprocess.PIPE, check=True, timeout=TIMEOUT_S
        )
        return msgspec.json.decode(done.stdout, type=Death)


def _figures(deaths: list[Death]) -> list[Figure]:
    def total(name: str) -> float | None:
        return sum(getattr(death, name) for death in deaths) if deaths else None

    return [
        Figure(name="rows older than 1 s lost to the death of the machine", measured=total("due_missing"), at_most=0),
        Figure(name="flushed rows lost to the death of the machine", measured=total("flushed_missing"), at_most=0),
        Figure(name="rows that came back changed", measured=total("wrong"), at_most=0),
        Figure(name="deaths", measured=len(deaths) or None),
        Figure(
            name="age of the newest row that survived, most",
            measured=max((1000 * death.newest_age_s for death in deaths), default=None),
            unit="ms",
        ),
    ]
