"""Every death of the zoo that was recorded, judged again by the rules of today."""

import lzma

import pytest

from holter.catalog.judge.explaining import LEFT_IN_ORDER, unheard_request
from holter.diagnosis.ranking import diagnose
from holter.model.evidence import Evidence
from holter.model.state import FINISHED
from tests.zoo.case import Case
from tests.zoo.fault import load_faults
from tests.zoo.figures import wrong_confident
from tests.zoo.modes import Mode, all_modes
from tests.zoo.recorded import PLACE, Death, path_of, read_deaths

FAULTS = {fault.name: fault for fault in load_faults()}
MODES = [mode for mode in all_modes() if path_of(mode).exists()]
TOLD_WRONG = {
    "is interrupted, saves, and leaves with 1": {"sidecar, root, no signals", "sidecar, user, no signals"},
    "sorts with a tool what does not fit": {
        "sidecar, root, no signals, no pidfd-info, no connector",
        "sidecar, user, no signals, no pidfd-info, no connector",
    },
    "is a test that expects errors and gets them": {"after the fact, root, no signals"},
}
"""Wrong though sure in these modes, until a rule knows what can't be known there."""


def judged(death: Death, mode: Mode) -> Case:
    diagnosis = diagnose(death.evidence)
    is_unsure = diagnosis.state == FINISHED and (any(unheard_request(death.evidence)) or not _is_known(death.evidence))
    case = Case.of(FAULTS[death.fault], mode)
    case.answer.update(
        state=diagnosis.state, cause=diagnosis.cause, confidence=LEFT_IN_ORDER if is_unsure else diagnosis.confidence
    )
    return case


def _is_known(evidence: Evidence) -> bool:
    """Whether somebody saw or said how it left."""
    end = evidence.subject
    return end.status is not None or (end.finished is not None and end.finished.how in ("finish", "context"))


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_no_death_is_told_worse_than_when_it_happened(mode: Mode) -> None:
    deaths = read_deaths(path_of(mode))
    assert deaths
    worse = []
    for death in deaths:
        case = judged(death, mode)
        if wrong_confident([case]) or (death.was_right and not case.is_right):
            worse.append(death.fault)
    assert set(worse) == {fault for fault, modes in TOLD_WRONG.items() if mode.name in modes}


def test_every_recording_is_of_a_mode_that_there_is() -> None:
    assert sorted(PLACE.iterdir()) == sorted(path_of(mode) for mode in MODES)


@pytest.mark.parametrize("words", ["/work/", "/root/", "process_api"])
def test_recordings_name_no_machine(words: str) -> None:
    found = [path for path in PLACE.iterdir() if words.encode() in lzma.decompress(path.read_bytes())]
    assert found == []
