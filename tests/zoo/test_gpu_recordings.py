"""What the faults of `faults/gpu.py` left behind on a real NVIDIA H200, judged again by the rules of today.

Recorded with driver 580, PyTorch 2.11, CuPy 14 and JAX 0.11: the journals and the consoles of each run, once with
`holter.init()` and once under `holter run` alone.
"""

import tarfile
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from holter.catalog.judge.gathering import gather
from holter.catalog.judge.verdict import explain, judge
from holter.catalog.read.loaded_run import LoadedRun, load_run
from holter.model.state import Lateness
from holter.model.warning_records import Warned
from tests.guards.playing import Trace, play
from tests.guards.record import read_run
from tests.zoo.fault import Fault
from tests.zoo.faults.gpu import FAULTS

WITHOUT_JOURNALS = frozenset(
    {
        "asks for a GPU that is not there",
        "asks for the GPU in the workers of a loader",
        "reads from the GPU in the workers of a loader",
    }
)
"""Of these only the evidence was kept, beside that of all others: `test_recorded_deaths.py` judges it."""
RECORDED = Path(__file__).parent / "recordings" / "h200-deaths.tar.xz"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("h200")
    with tarfile.open(RECORDED) as kept:
        kept.extractall(place, filter="data")
    return place


def load(recorded: Path, mode: str, fault: Fault) -> LoadedRun:
    directory = recorded / mode / fault.name.replace(" ", "-").replace("'", "")
    loaded = load_run(str(directory), now_ns=time.time_ns(), lateness=Lateness())
    assert loaded is not None
    return loaded


@pytest.mark.parametrize("mode", ["client", "run"])
@pytest.mark.parametrize(
    "fault", [each for each in FAULTS if each.name not in WITHOUT_JOURNALS], ids=lambda fault: fault.name
)
def test_a_death_on_a_gpu_is_told_right(recorded: Path, fault: Fault, mode: str) -> None:
    loaded = load(recorded, mode, fault)
    found = explain(judge(loaded)).diagnosis
    assert (loaded.row.state, found.cause) == (fault.state, fault.cause)
    if fault.cause and found.confidence < 0.9:
        assert fault.name.startswith(("leaves no memory for cuBLAS", "raises at a loss")), found


def test_who_held_the_gpu_is_told(recorded: Path) -> None:
    [fault] = [each for each in FAULTS if each.name.startswith("shares the GPU")]
    found = explain(judge(load(recorded, "client", fault))).diagnosis
    assert "gpu-shared" in found.contributing
    assert any("of the GPU: end it" in each for each in found.advice)


def test_a_fault_of_a_kernel_is_seen_by_the_driver_too(recorded: Path) -> None:
    [fault] = [each for each in FAULTS if each.name == "writes to an address that is not its own"]
    assert any("Xid 31" in fact.text for fact in explain(judge(load(recorded, "client", fault))).diagnosis.evidence)
    assert gather(load(recorded, "client", fault)).state == "failed"


WARNED = Path(__file__).parent / "recordings" / "h200-warned.tar.xz"
"""Runs of `make gpu`, told here again: what each died of, and what its guards had said."""


class Told(NamedTuple):
    cause: str | None
    fact: str = ""
    advice: str = ""
    guard: str = ""
    text: str = ""


SEEN = {
    "assert": Told("gpu-program-fault", fact="Xid 43"),
    "contended": Told(None, guard="gpu-use", text="GPU 0 is shared: 21.5 GiB of its 140 GiB are held by process 996"),
    "contends": Told(None, guard="gpu-use", text="GPU 0 is taken already: 1.9 GiB of its 140 GiB by process 963"),
    "fragments": Told(
        "gpu-out-of-memory",
        fact="5.20 GiB was reserved by PyTorch but not in use, in pieces of at most 410 MiB",
        advice="expandable_segments",
    ),
    "jax": Told("gpu-out-of-memory", guard="gpu-use", text="JAX has taken 105 GiB of GPU 0's 140 GiB at once"),
    "leak": Told(None, guard="memory-forecast", text="the memory of GPU 0 (140 GiB) will be full in about 58 s"),
    "nan": Told(None, guard="divergence", text="NaN in the outputs of two at step 22, the first layer to have it"),
    "nan-compiled": Told(None, guard="divergence", text="NaN in the gradients of all 6 layers at step 22"),
    "oom": Told("gpu-out-of-memory", fact="the program had caught 1 refusal of GPU memory before"),
    "second": Told(
        "gpu-out-of-memory",
        fact="process 768 and 798 had 132 GiB of the GPU in use",
        advice="process 768 holds 20.60 GiB of the GPU: end it",
        guard="gpu-use",
        text="process 768 (python3 of root, left over from",
    ),
    "stall": Told(None, guard="stall", text="it waits for the GPU, which is at work all the time"),
}


@pytest.fixture(scope="module")
def warned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("h200-warned")
    with tarfile.open(WARNED) as kept:
        kept.extractall(place, filter="data")
    return place


@pytest.mark.parametrize("name", SEEN)
def test_what_was_seen_on_a_gpu_is_told_again(warned: Path, name: str) -> None:
    loaded = load_run(str(warned / name), now_ns=time.time_ns(), lateness=Lateness())
    assert loaded is not None
    found, seen = explain(judge(loaded)).diagnosis, SEEN[name]
    assert (loaded.row.state, found.cause) == ("failed" if seen.cause else "finished", seen.cause)
    assert any(seen.fact in fact.text for fact in found.evidence)
    assert not seen.advice or any(seen.advice in each for each in found.advice)
    said = [(each.guard, each.text) for each in loaded.said(Warned)]
    assert not seen.guard or any(guard == seen.guard and seen.text in text for guard, text in said), said


def test_every_recorded_warning_has_its_word_here(warned: Path) -> None:
    assert sorted(each.name for each in warned.iterdir()) == sorted(SEEN)


def test_the_forecast_of_a_full_gpu_comes_again_from_what_was_measured(warned: Path) -> None:
    ticks, rows = read_run(str(warned / "leak"))
    began_ns = ticks[0][0]
    trace = Trace(
        was_killed=False,
        at_s=[(at_ns - began_ns) / 1e9 for at_ns, _ in ticks],
        rows_s=[(at_ns - began_ns) / 1e9 for at_ns in rows],
        constant={},
        columns={key: [values.get(key) for _, values in ticks] for key in ticks[0][1]},
    )
    said = next(each for each in play(trace) if each.guard == "memory-forecast")
    assert said.warned.text.startswith("the memory of GPU 0 (140 GiB) will be full in about")
    free_s = said.warned.eta_s
    # It grew on to the end, at which twelve GiB were left.
    assert free_s is not None
    assert 0.5 <= free_s / (trace.length_s - said.at_s + 12 * 1024 / 480) <= 2
