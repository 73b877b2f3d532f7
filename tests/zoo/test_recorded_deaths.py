"""Every death of the zoo that was recorded, judged again by the rules of today."""

import lzma

import msgspec
import pytest

from holter.catalog.present.impersonal import impersonal
from holter.diagnosis.ranking import diagnose
from tests.words import texts_of, wrong_words
from tests.zoo.case import Case
from tests.zoo.fault import load_faults
from tests.zoo.figures import wrong_confident
from tests.zoo.modes import Mode, all_modes
from tests.zoo.recorded import PLACE, REPORTED, answer_of, judge_again, path_of, read_deaths

FAULTS = {fault.name: fault for fault in load_faults()}
MODES = [mode for mode in all_modes() if path_of(mode).exists()]
TOLD_WRONG: dict[str, set[str]] = {}
"""Wrong though sure in these modes, until a rule knows what can't be known there."""


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_no_death_is_told_worse_than_when_it_happened_or_in_wrong_words(mode: Mode) -> None:
    deaths = read_deaths(path_of(mode))
    assert deaths
    worse, texts = set(), set[str]()
    for death in deaths:
        diagnosis = diagnose(death.evidence)
        texts.update(texts_of(diagnosis))
        case = msgspec.structs.replace(Case.of(FAULTS[death.fault], mode), answer=answer_of(diagnosis, death.evidence))
        if wrong_confident([case]) or (death.was_right and not case.is_right):
            worse.add(death.fault)
    assert worse == {fault for fault, modes in TOLD_WRONG.items() if mode.name in modes}
    assert wrong_words(texts) == {}


def test_every_recording_is_of_a_mode_that_there_is() -> None:
    assert sorted(PLACE.iterdir()) == sorted(path_of(mode) for mode in MODES)


def test_a_death_without_names_is_told_the_same() -> None:
    deaths = read_deaths(path_of(MODES[0]))[::10]
    assert len(deaths) > 30
    told = [judge_again(death.evidence) for death in deaths]
    assert [judge_again(impersonal(death.evidence, [("/stage", "/elsewhere")])) for death in deaths] == told


@pytest.mark.parametrize("words", ["/work/", "/root/", "process_api"])
def test_recordings_name_no_machine(words: str) -> None:
    found = [path for path in PLACE.iterdir() if words.encode() in lzma.decompress(path.read_bytes())]
    found += [path for path in REPORTED.iterdir() if words.encode() in path.read_bytes()]
    assert found == []
