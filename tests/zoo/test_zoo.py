"""Some faults provoked for real: one of each cause with a sidecar, one in each other mode, some normal ends.

All of them were provoked once, in every mode, and what was known about each then is judged again by
`test_recorded_deaths.py`; `make zoo` provokes them all again.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holter.diagnosis.ranking import diagnose
from tests.zoo.case import Case
from tests.zoo.fault import HELD, OPEN, Fault, load_faults
from tests.zoo.figures import wrong_confident
from tests.zoo.modes import STANDARD, Mode, all_modes
from tests.zoo.needs import applies, lacks
from tests.zoo.runner import Runner

Wanted = tuple[Fault, Mode]

EVERY_FAULT = load_faults()
# Those of a GPU want all of it for themselves; test_gpu_recordings.py has what they left on one.
FAULTS = [fault for fault in EVERY_FAULT if fault.share == OPEN and "gpu" not in fault.needs]
NORMAL_ENDS = 4


def once() -> list[Wanted]:
    first: dict[str, Fault] = {}
    for fault in FAULTS:
        if fault.cause is not None:
            first.setdefault(fault.cause, fault)
    normal = [fault for fault in FAULTS if fault.cause is None]
    return [(fault, STANDARD) for fault in [*first.values(), *normal[:: len(normal) // NORMAL_ENDS]]]


def sample() -> list[Wanted]:
    """A death in each of the other modes, another one each time."""
    modes = [mode for mode in all_modes() if mode != STANDARD]
    for_all = [fault for fault in FAULTS if fault.cause is not None and not fault.place.job]
    stride = len(for_all) // len(modes)
    return [
        next((fault, mode) for fault in for_all[number * stride :] if applies(fault, mode))
        for number, mode in enumerate(modes)
    ]


def parameters(wanted: list[Wanted]) -> list[object]:
    named = {f"{fault.name} [{mode.name}]": (fault, mode) for fault, mode in wanted}
    return [pytest.param(pair, id=name) for name, pair in named.items()]


class Zoo:
    """Starts everything that the session will ask for at once, and waits for each when it is asked."""

    def __init__(self, runner: Runner, wanted: list[Wanted]) -> None:
        # The longest first: they wait for the time to pass.
        ordered = sorted(wanted, key=lambda pair: -pair[0].takes_s)
        self._futures = {_key(pair): runner.submit(*pair) for pair in ordered if not lacks(pair[0])}

    def case(self, wanted: Wanted) -> Case:
        fault, _ = wanted
        if why := lacks(fault):
            pytest.skip(why)
        return self._futures[_key(wanted)].result()


def _key(wanted: Wanted) -> tuple[str, str]:
    return wanted[0].name, wanted[1].name


def _wanted_by(item: pytest.Item) -> Iterator[Wanted]:
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    # Others have a fixture or a parameter of the same name.
    if "wanted" in parameters and item.path == Path(__file__):
        yield parameters["wanted"]


@pytest.fixture(scope="session")
def zoo(request: pytest.FixtureRequest) -> Iterator[Zoo]:
    wanted = [pair for item in request.session.items for pair in _wanted_by(item)]
    with Runner() as runner:
        yield Zoo(runner, wanted)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("wanted", parameters(once()))
def test_a_death_is_told_right(zoo: Zoo, wanted: Wanted) -> None:
    case = zoo.case(wanted)
    assert not case.trouble
    assert not wrong_confident([case]), case.words
    assert case.is_right, f"{case.words}\n{case.answer}\n{case.output}"
    assert case.evidence is not None
    assert diagnose(case.evidence).cause == case.cause  # a recording of it is worth as much


@pytest.mark.timeout(900)
@pytest.mark.parametrize("wanted", parameters(sample()))
def test_a_death_is_never_told_wrong_with_certainty(zoo: Zoo, wanted: Wanted) -> None:
    case = zoo.case(wanted)
    assert not case.trouble
    assert "error" not in case.answer
    assert not wrong_confident([case]), f"{case.words}\n{case.answer}\n{case.output}"


def test_the_zoo_is_large() -> None:
    for share in (OPEN, HELD):
        faults = [fault for fault in EVERY_FAULT if fault.share == share]
        assert len([fault for fault in faults if fault.cause]) >= 90
        assert len([fault for fault in faults if fault.cause is None]) >= 20
