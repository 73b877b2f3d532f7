"""What the faults of `faults/gpu.py` left behind on a real NVIDIA H200, judged again by the rules of today.

Recorded with driver 580, PyTorch 2.11, CuPy 14 and JAX 0.11: the journals and the consoles of each run, once with
`holter.init()` and once under `holter run` alone.
"""

import tarfile
import time
from pathlib import Path

import pytest

from holter.catalog.judge.gathering import gather
from holter.catalog.judge.verdict import explain, judge
from holter.catalog.read.loaded_run import LoadedRun, load_run
from holter.model.state import Lateness
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
