"""Who holds the memory: holders that notebooks have without meaning to, each in a real kernel of its own.

Cells leave about 60 MiB behind (losses with their graphs, outputs, the frames of an exception, caches), beside a decoy
of 16 MiB; `run.variables()` must name the holder first, with lines that give four fifths of it back when they are run.
The time is that of the thread for a namespace with a model and its optimizer, 20,000 arrays, a dict of a million
entries and a hundred names besides, the best of ten looks.
"""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.figures import Figure, Measured, Table
from benchmarks.plan import Plan
from benchmarks.trials import environment
from tests.e2e.kernels import Kernel, kernel_in
from tests.e2e.memory_seeds import MODULE, OPEN, SEEDS, Seed

MOST_MS = 20.0
GIVEN_BACK = 0.8
FIRST = "held = next(iter(run.variables())); print(json.dumps([held.name, held.frees, held.size_bytes]))"

ORDINARY = """
import json, time
import numpy, torch
from holter.memory.variables import variables
model = torch.nn.Sequential(*[torch.nn.Linear(128, 128) for _ in range(20)])
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(1, 128)).sum().backward()
optimizer.step()
namespace = {
    "model": model,
    "optimizer": optimizer,
    "arrays": [numpy.ones(100) for _ in range(20_000)],
    "lookup": {number: str(number) for number in range(1_000_000)},
    **{f"name_{number}": numpy.ones(1000) for number in range(100)},
}
took = []
for _ in range(10):
    start = time.thread_time()
    assert variables(namespace, budget_s=5.0).is_complete
    took.append(time.thread_time() - start)
print(1000 * min(took))
"""


def measure(plan: Plan) -> Measured:
    names = plan.pick(list(SEEDS), ["Out"])
    found = {name: look(plan.scratch / str(at), SEEDS[name]) for at, name in enumerate(names)}
    rows = [[name, wrong or "right"] for name, wrong in found.items()]
    figures = [
        Figure(name="seeded holders that were not named first", measured=sum(map(bool, found.values())), at_most=0),
        Figure(name="seeded holders", measured=len(found)),
        Figure(name="a look at an ordinary namespace", measured=ordinary_ms(plan), unit="ms", at_most=MOST_MS),
    ]
    return Measured(figures=figures, tables=[Table("Named first, and freed", ["", ""], rows)], raw={"wrong": found})


def look(directory: Path, seed: Seed) -> str:
    """What was wrong; empty where nothing was."""
    directory.mkdir()
    (directory / "features_of_notebook.py").write_text(MODULE)
    with kernel_in(directory, **environment(directory)) as kernel:
        kernel.run(OPEN)
        at = int(kernel.run("print(get_ipython().displayhook.prompt_count)").stdout) + 1
        for cell in seed.cells:
            kernel.run(cell)
        name, frees, size_bytes = json.loads(kernel.run(FIRST).stdout)
        if (name, frees) != (seed.name.format(at), seed.frees.format(at)):
            return f"{name} first, freed with {frees!r}"
        before = rss_mib(kernel)
        kernel.run(frees)
        given_back = (before - rss_mib(kernel)) * (1 << 20) / size_bytes
    return "" if given_back > GIVEN_BACK else f"only {given_back:.0%} came back"


def rss_mib(kernel: Kernel) -> float:
    return float(kernel.run("print(rss_mib())").stdout)


def ordinary_ms(plan: Plan) -> float:
    command = [sys.executable, "-c", ORDINARY]
    done = subprocess.run(
        command, cwd=plan.scratch, env=environment(plan.scratch), capture_output=True, text=True, check=True
    )
    return float(done.stdout)
