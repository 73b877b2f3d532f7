"""What holds memory in real kernels and what frees it, memory line by line, and notebooks as people write them."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kernels import Kernel, kernel_in
from tests.e2e.memory_seeds import MODULE, OPEN, SEEDS
from tests.e2e.programs import only_run, rows, wait_for_cause
from tests.zoo.cgroups import Cgroup, make_cgroup

MIB = 1 << 20


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("notebook")
    (place / "features_of_notebook.py").write_text(MODULE)
    return place


@pytest.fixture(scope="module")
def kernel(place: Path) -> Iterator[Kernel]:
    with kernel_in(place, HOLTER_DIR=str(place / "holter"), HOLTER_STRICT="1") as kernel:
        assert kernel.run(OPEN).status == "ok"
        yield kernel


def number(kernel: Kernel) -> int:
    """Of the cell that runs next."""
    return int(kernel.run("print(get_ipython().displayhook.prompt_count)").stdout) + 1


def rss_mib(kernel: Kernel) -> float:
    return float(kernel.run("print(rss_mib())").stdout)


@pytest.mark.parametrize("name", SEEDS)
def test_who_holds_the_most_is_named_first_and_the_lines_free_it(name: str, kernel: Kernel) -> None:
    seed, at = SEEDS[name], number(kernel)
    for cell in seed.cells:
        kernel.run(cell)

    answer = kernel.run("print(json.dumps([(each.name, each.frees, each.size_bytes) for each in run.variables()][:3]))")
    (named, frees, size_bytes), *_ = json.loads(answer.stdout)

    assert (named, frees) == (seed.name.format(at), seed.frees.format(at))
    assert size_bytes > 48 * MIB
    before_mib = rss_mib(kernel)
    assert kernel.run(frees).status == "ok"
    assert before_mib - rss_mib(kernel) > 0.8 * size_bytes / MIB


def test_the_magic_shows_the_table_in_both_forms(kernel: Kernel) -> None:
    kernel.run("frame = np.ones(9_000_000)")
    [shown] = kernel.run("%holter vars").displays
    assert shown["text/plain"].splitlines()[1].split() == (
        "frame 68.7 MiB numpy.ndarray 9,000,000 float64 del frame".split()
    )
    assert "<td" in shown["text/html"]
    kernel.run("del frame")


def test_free_drops_what_is_safe_and_says_what_came_back(kernel: Kernel) -> None:
    kernel.run("%holter free")
    kernel.run("np.ones(8_000_000)")
    kernel.run("def fail():\n    held = np.ones(8_000_000)\n    1 / 0\nfail()")
    answer = kernel.run("%holter free")
    assert answer.stdout.startswith("holter: dropped 1 output and the frames of the last ZeroDivisionError; ")
    freed_mib = float(answer.stdout.partition(" MiB came back")[0].split()[-1])
    assert 110 < freed_mib < 140
    assert kernel.run("decoy.sum()").results == [{"text/plain": "np.float64(2000000.0)"}]  # names are not touched


def test_free_refuses_what_it_does_not_know(kernel: Kernel) -> None:
    assert (
        "%holter free takes out and traceback, or nothing for both; got 'all'" in kernel.run("%holter free all").stderr
    )


PROFILED = """first = np.ones(8_000_000)
def inner():
    return np.ones(4_000_000)
second = inner()
5 + 5"""


def test_a_cell_line_by_line_is_shown_and_kept(kernel: Kernel, place: Path) -> None:
    at = number(kernel)
    answer = kernel.run(f"%%holter_memory\n{PROFILED}")
    assert answer.results == [{"text/plain": "10"}]
    [shown] = answer.displays
    lines = [line.split() for line in shown["text/plain"].splitlines() if line[:6].strip().isdigit()]
    assert [(row[0], float(row[3]) // 10) for row in lines if float(row[3]) > 10] == [("1", 6.0), ("3", 3.0)]
    [kept] = (place / "holter").rglob(f"files/memory/cell-{at}.txt")
    assert kept.read_text() == shown["text/plain"] + "\n"
    assert kernel.run("del second; first.shape").results == [{"text/plain": "(8000000,)"}]


@pytest.mark.parametrize(("cell", "error"), [("1 / 0", "ZeroDivisionError"), ("a b", "SyntaxError")])
def test_an_error_in_a_profiled_cell_is_the_cells_own(cell: str, error: str, kernel: Kernel) -> None:
    answer = kernel.run(f"%%holter_memory\n{cell}")
    assert answer.status == "error"
    assert error in answer.error
    assert kernel.run("print('still here')").stdout == "still here\n"


def test_a_profiled_function_shows_its_table_below_the_cell(kernel: Kernel, place: Path) -> None:
    answer = kernel.run(
        "@holter.profile_memory\ndef grow():\n    held = np.ones(8_000_000)\n    return len(held)\ngrow()\ngrow()"
    )
    [shown] = answer.displays
    assert "held = np.ones(8_000_000)" in shown["text/html"]
    assert answer.results == [{"text/plain": "8000000"}]
    [kept] = (place / "holter").rglob("files/memory/grow.txt")
    assert "grow, 1 call\n" in kept.read_text()
    assert "grow, 2 calls" in kernel.run("print(grow.memory_profile)").stdout


# As people write them.

EVERY_STEP = """
for step in range(400):
    data = np.random.rand(100_000)
    holter.log({"loss": data.mean(), "spread": data.std(), "values": data})
"""
BATCHED = """
for step in range(200):
    losses = [float(np.random.rand()) for batch in range(16)]
    for batch, loss in enumerate(losses):
        holter.log({f"batch/{batch}": loss}, step=step)
    holter.log({"epoch_loss": sum(losses) / len(losses)}, step=step)
"""
EXPLICIT = """
for step in range(200):
    holter.log({"train/loss": 1 / (step + 1)}, commit=False)
    holter.log({"val/loss": 2 / (step + 1)}, commit=False)
    holter.log({"epoch": step})
    if step % 50 == 0:
        holter.log.flush()
"""
WELL = {
    "a row at every step": (EVERY_STEP, 400, {"loss", "spread"}, 399),
    "batches with their step": (BATCHED, 200 * 17, {"epoch_loss", *(f"batch/{n}" for n in range(16))}, 199),
    "commit=False and flush()": (EXPLICIT, 200 * 3, {"train/loss", "val/loss", "epoch"}, 199),
}


@pytest.mark.parametrize("name", WELL)
def test_a_notebook_runs_to_its_end_and_keeps_every_row(name: str, tmp_path: Path) -> None:
    code, expected, keys, last = WELL[name]
    with kernel_in(tmp_path) as kernel:
        opened = kernel.run("import numpy as np, holter\nrun = holter.init(project='notebook')")
        ran = kernel.run(code)
        ended = kernel.run("holter.finish()")
        assert [each.status for each in (opened, ran, ended)] == ["ok"] * 3
        assert (ran.stdout, ran.displays) == ("", [])
        assert ran.stderr.count("\n") <= 1  # an array is no number: said once
        kernel.shut_down()
    view = only_run().row
    kept = rows(view.directory)
    assert (view.state, view.cause, len(kept)) == ("finished", None, expected)
    assert {key for row in kept for key in row.values} == keys
    assert max(row.step for row in kept) == last
    with kernel_in(tmp_path) as successor:
        assert successor.run("import holter; run = holter.init(project='notebook')").cards == []


LEAK_LIMIT_BYTES = 900 * MIB
LEAKING = """
for _ in range(12):
    losses.append(model(torch.rand(2000, 500)).square().mean())
features = np.random.rand(1_000_000)
features
"""


@pytest.fixture
def small() -> Iterator[Cgroup]:
    if os.geteuid():
        pytest.skip("not on this platform: only root can make cgroups")
    cgroup = make_cgroup("memory")
    cgroup.limit_memory(LEAK_LIMIT_BYTES)
    yield cgroup
    cgroup.remove()


def test_a_notebook_that_leaks_through_out_and_losses_dies_with_the_right_card(small: Cgroup, tmp_path: Path) -> None:
    with kernel_in(tmp_path) as kernel:
        small.procs.write_text(str(kernel.pid))
        kernel.run("import numpy as np, torch, holter\nrun = holter.init(project='notebook')\nlosses = []")
        kernel.run("model = torch.nn.Sequential(torch.nn.Linear(500, 500), torch.nn.Tanh(), torch.nn.Linear(500, 1))")
        for _ in range(30):
            kernel.client.execute(LEAKING)
        kernel.dies()
    wait_for_cause("cgroup-out-of-memory")
    assert only_run().row.state == "crashed"
    with kernel_in(tmp_path) as successor:
        card = successor.run("import holter; run = holter.init(project='notebook')").card
    assert "cgroup-out-of-memory" in card
    assert "of 900 MiB (its memory limit)" in card
    assert "losses.append(model(torch.rand(2000, 500)).square().mean())" in card
    assert "losses  list" in card
    held = card[card.index("losses  list") :]
    assert "Out[" in held
