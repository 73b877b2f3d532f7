"""Every death of the zoo that was recorded, judged again by the rules of today."""

import lzma

import msgspec
import pytest

from holter.catalog.present.impersonal import impersonal
from holter.diagnosis.grades import SURE, confidence_of
from holter.diagnosis.ranking import diagnose
from holter.model.verdicts import Grade
from tests.words import texts_of, wrong_words
from tests.zoo.case import Case
from tests.zoo.earning import held_cases
from tests.zoo.fault import load_faults
from tests.zoo.figures import MOST_UNSURE, earned, wrong_confident
from tests.zoo.modes import Mode, all_modes
from tests.zoo.recorded import CHECKOUT, PLACE, REPORTED, answer_of, judge_again, path_of, read_deaths

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


def test_every_grade_promises_what_it_earned_on_held_faults() -> None:
    found = earned(held_cases(FAULTS.values()))
    promised = {each.grade: confidence_of(each.grade) for each in found}
    # A grade that rests on a missing witness may promise less than it earned, to stay below what people act on.
    outside = [
        (each.grade, promised[each.grade], each.interval)
        for each in found
        if not each.interval[0] <= promised[each.grade] <= each.interval[1]
        if promised[each.grade] != MOST_UNSURE or each.interval[1] < MOST_UNSURE
    ]
    assert outside == []
    assert list(promised.values()) == sorted(promised.values(), reverse=True)
    assert {grade for grade, number in promised.items() if number >= SURE} == {Grade.NAMED, Grade.COUNTED}


def test_the_page_shows_what_the_product_promises() -> None:
    page = (CHECKOUT / "docs" / "zoo.md").read_text()
    for grade in Grade:
        assert f"| {grade.name.lower()} | {100 * confidence_of(grade):.1f} % |" in page


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
