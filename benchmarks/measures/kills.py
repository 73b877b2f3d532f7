"""`kill -9` at random moments.

Programs log rows, some back to back, some with pauses of 0.1 or 1 ms, and report each row through a pipe after
`log()` has returned for it. They are killed with SIGKILL at a random moment of the first 0.8 s: the process alone,
the process and its sidecar at once, the process within 200 ms of the call of `init()`, the process after its sidecar
was stopped with SIGSTOP. Then all rows are read from the journals and compared with what the program had logged: a
row is lost if it was reported and is not there; it is invented if it is not what the program logged, is there twice,
or lies beyond the one row that may have been in flight. The state is what `holter why --json` says. A kill that comes
so early that there is no run yet, and no row acknowledged, proves nothing: it is not counted, and made again.
"""

import os

import msgspec

from benchmarks.figures import Figure, Measured, Table, show
from benchmarks.kills import Aim, Struck, strike_all
from benchmarks.plan import Plan

COUNTS = {Aim.PROCESS: 500, Aim.PROCESS_AND_SIDECAR: 500, Aim.INFANT: 100, Aim.SIDECAR_STOPPED: 50}
QUICK_COUNTS = {Aim.PROCESS: 3, Aim.PROCESS_AND_SIDECAR: 3, Aim.INFANT: 3, Aim.SIDECAR_STOPPED: 2}


def measure(plan: Plan) -> Measured:
    lanes = 2 * len(os.sched_getaffinity(0))
    struck = strike_all(plan.pick(COUNTS, QUICK_COUNTS), plan.scratch, lanes=lanes)
    figures = [
        Figure(name="acknowledged rows lost to kill -9", measured=sum(each.lost for each in struck), at_most=0),
        Figure(name="rows invented", measured=sum(each.invented for each in struck), at_most=0),
        Figure(name="killed runs that are not `crashed`", measured=len(_not_crashed(struck)), at_most=0),
        Figure(name="kills", measured=len(struck)),
        Figure(name="rows acknowledged", measured=sum(each.acknowledged for each in struck)),
    ]
    raw = {"kills": [msgspec.structs.asdict(each) for each in struck]}
    return Measured(figures=figures, tables=[_table(struck)], notes=_notes(struck), raw=raw)


def _not_crashed(struck: list[Struck]) -> list[Struck]:
    return [each for each in struck if each.state != "crashed"]


def _notes(struck: list[Struck]) -> list[str]:
    unborn = sum(each.unborn for each in struck)
    stayed = sum(each.sidecar_left is False for each in struck)
    notes = (
        [f"{unborn} more kills fell inside `init()`, before there was a run, and were made again."] if unborn else []
    )
    return notes + ([f"{stayed} sidecars had not left 10 s after the kill and were ended."] if stayed else [])


def _table(struck: list[Struck]) -> Table:
    rows = []
    for aim in Aim:
        of_aim = [each for each in struck if each.aim == aim]
        sums = [sum(getattr(each, name) for each in of_aim) for name in ("acknowledged", "lost", "invented")]
        in_flight = sum(each.found > each.acknowledged for each in of_aim)
        states = ", ".join(sorted({each.state or "no run" for each in of_aim}))
        rows.append([str(aim), *map(show, (len(of_aim), *sums, in_flight)), states])
    return Table(
        "Killed", ["", "kills", "rows acknowledged", "lost", "invented", "one row in flight kept", "state"], rows
    )
