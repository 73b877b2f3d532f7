"""`holter run` and its sidecar, killed and stopped.

Ten programs run under `holter run`: they print lines, bursts, single bytes, from threads and children, more than a pipe
holds after a silence; they leave with codes, an exception, a signal. In the middle of each, `holter run` or the sidecar
gets SIGKILL or SIGSTOP, its output going into a pipe or onto a terminal. The program must end with the code that it
would have had, all that it printed must be read behind and kept in the transcript. A stopped `holter run` is continued
after the program has ended, for only it can hand on the last bytes; a piece that was on its way in the moment of a blow
to it may be read twice, and is kept once.
"""

import signal
import tempfile
from pathlib import Path

from benchmarks.figures import Figure, Measured, Table, show
from benchmarks.plan import Plan
from tests.e2e.survivors import PROGRAMS, ten_programs

VICTIMS = {"launcher": "`holter run`", "sidecar": "sidecar"}
SIGNALS = {signal.SIGKILL: "kill -9", signal.SIGSTOP: "SIGSTOP"}
PLACES = {False: "pipe", True: "terminal"}


def measure(plan: Plan) -> Measured:
    blows = [(victim, number, place) for victim in VICTIMS for number in SIGNALS for place in PLACES]
    rows, otherwise = [], []
    for victim, number, is_terminal in plan.pick(blows, blows[:1]):
        found = strike(victim, number, plan.scratch, is_terminal=is_terminal)
        hurt = {each.partition(":")[0] for each in found}
        name = f"{SIGNALS[number]} of the {VICTIMS[victim]}, {PLACES[is_terminal]}".replace("the `", "`")
        rows.append([name, show(len(PROGRAMS)), show(len(PROGRAMS) - len(hurt))])
        otherwise += [f"After {name}: {each}." for each in sorted(found)]
    hurt_count = sum(int(row[1]) - int(row[2]) for row in rows)
    figures = [
        Figure(name="programs that did not end as they would have", measured=hurt_count, at_most=0),
        Figure(name="programs struck", measured=len(rows) * len(PROGRAMS)),
    ]
    table = Table("Struck", ["", "programs", "ended as they would have"], rows)
    return Measured(figures=figures, tables=[table], notes=otherwise, raw={"otherwise": otherwise})


def strike(victim: str, number: signal.Signals, scratch: Path, *, is_terminal: bool) -> list[str]:
    """What was otherwise, each with the program that it happened to."""
    place = Path(tempfile.mkdtemp(prefix="survivors-", dir=scratch))
    repeats = 1 if victim == "launcher" else 0
    try:
        with ten_programs(place / "runs", on_terminal=is_terminal) as scene:
            scene.strike(victim, number)
            scene.go_on()
            found = scene.await_ends()
            if victim == "launcher" and number == signal.SIGSTOP:
                scene.strike(victim, signal.SIGCONT)
            return found + scene.await_output(repeats=repeats) + scene.await_departures()
    except (AssertionError, OSError) as error:
        return [f"{name}: not judged, {error}" for name in PROGRAMS]
