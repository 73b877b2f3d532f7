"""`holter run`: what a command notices of it.

Some fifty small programs run with and without `holter run`, once in pipes and once on a terminal of 33 × 101: they
print, from C and from children too, much and little, text and bytes; ask for their terminal, its size, their signals,
limits and descriptors; read what is typed; leave with codes, exceptions and signals of their own. Exit code, standard
output and standard error must be the same, byte for byte.
"""

from benchmarks.figures import Figure, Measured, Table, show
from benchmarks.plan import Plan
from tests.e2e.commands import COMMANDS
from tests.e2e.launches import UNDER_HOLTER, in_pipes, on_terminal

AT_LEAST = 40
QUICK = 4


def measure(plan: Plan) -> Measured:
    names = list(COMMANDS)[: plan.pick(len(COMMANDS), QUICK)]
    where = {"HOLTER_DIR": str(plan.scratch / "unnoticed")}
    differing = {
        "in pipes": [name for name in names if in_pipes(name, UNDER_HOLTER, **where) != in_pipes(name, [])],
        "on a terminal": [name for name in names if on_terminal(name, UNDER_HOLTER, **where) != on_terminal(name, [])],
    }
    assert plan.is_quick or len(names) >= AT_LEAST
    figures = [
        Figure(
            name="programs that notice `holter run`",
            measured=len({*differing["in pipes"], *differing["on a terminal"]}),
            at_most=0,
        ),
        Figure(name="programs compared", measured=len(names)),
    ]
    rows = [[place, show(len(names)), show(len(names) - len(found))] for place, found in differing.items()]
    notes = [f"Differs {place}: a program that {name}." for place, found in differing.items() for name in found]
    table = Table("With and without `holter run`", ["", "programs", "the same"], rows)
    return Measured(figures=figures, tables=[table], notes=notes, raw=dict(differing))
