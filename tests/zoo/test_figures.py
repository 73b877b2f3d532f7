"""The figures of the zoo, on cases that nobody had to die for."""

from pathlib import Path

import msgspec
import pytest

from holter.model.verdicts import Grade
from tests.zoo import earning
from tests.zoo.case import Case
from tests.zoo.earning import first_sights, keep_sights, read_sights, with_calibration
from tests.zoo.fault import load_faults
from tests.zoo.figures import Earned, confusion, earned, false_verdicts, measure, promises, wrong_confident
from tests.zoo.modes import STANDARD, all_modes
from tests.zoo.page import calibration, write_page

ROOT = Path(__file__).parents[2]


def case(truth: str | None, said: str | None, confidence: float, *, verdict_s: float = 1.0, **more: str) -> Case:
    state = "crashed" if truth else "finished"
    grade, trouble = more.get("grade", ""), more.get("trouble", "")
    answer = {"state": "crashed" if said else "finished", "cause": said, "confidence": confidence, "grade": grade}
    return Case(
        fault=f"is {truth}",
        kind="killed",
        share="open",
        mode=STANDARD,
        truths=(truth,),
        state=state,
        answer=answer,
        verdict_s=verdict_s,
        trouble=trouble,
    )


RIGHT = case("killed", "killed", 0.95)
WRONG = case("killed", "terminated", 0.5, verdict_s=3.0)
WRONG_THOUGH_SURE = case("killed", "terminated", 0.9)
ABSTAINED = case("killed", "unknown", 0.0)
UNSEEN = case("killed", None, 1.0)
QUIET = case(None, None, 1.0)
FALSE = case(None, "killed", 0.6)


def test_shares_are_of_all_deaths_and_normal_ends_are_none() -> None:
    found = measure([RIGHT, WRONG, ABSTAINED, QUIET])
    assert found.cases == 3
    assert (found.right, found.abstained, found.confident) == (1 / 3, 1 / 3, 1 / 3)
    assert (found.p50_s, found.p95_s) == (1.0, 3.0)


def test_the_brier_score_leaves_out_abstentions() -> None:
    assert measure([RIGHT, WRONG, ABSTAINED]).brier == (0.05**2 + 0.5**2) / 2


def test_a_fault_that_did_not_happen_counts_for_nothing() -> None:
    assert measure([case("killed", "terminated", 1.0, trouble="it ended with 0")]).cases == 0


def test_who_sees_no_cause_in_a_death_is_wrong_though_sure() -> None:
    assert wrong_confident([RIGHT, WRONG, ABSTAINED, WRONG_THOUGH_SURE, UNSEEN]) == [WRONG_THOUGH_SURE, UNSEEN]


def test_anything_said_about_a_normal_end_is_false() -> None:
    assert false_verdicts([QUIET, FALSE, RIGHT]) == [FALSE]


def test_a_grade_earns_what_its_verdicts_came_to() -> None:
    guess = msgspec.structs.replace(ABSTAINED, answer={**ABSTAINED.answer, "grade": "remote", "candidates": ["killed"]})
    found = earned([case("killed", "killed", 0.9, grade="inferred"), guess, UNSEEN, RIGHT, QUIET])
    assert [(each.grade.name, each.verdicts, each.right) for each in found] == [
        ("NAMED", 2, 1),
        ("COUNTED", 0, 0),
        ("CONSISTENT", 0, 0),
        ("LIKELY", 0, 0),
        ("INFERRED", 1, 1),
        ("REMOTE", 1, 1),
    ]


def test_of_few_verdicts_little_is_known() -> None:
    low, high = Earned(Grade.NAMED, 10, 10).interval
    assert (round(low, 3), high) == (0.722, 1.0)
    low, high = Earned(Grade.CONSISTENT, 200, 180).interval
    assert (round(low, 3), round(high, 3)) == (0.851, 0.934)
    assert Earned(Grade.REMOTE, 0, 0).interval == (0.0, 1.0)


def test_a_grade_promises_what_it_earned_and_never_more_than_is_known() -> None:
    found = [
        Earned(Grade.NAMED, 1000, 1000),  # none was wrong yet: that is not «never»
        Earned(Grade.COUNTED, 1000, 980),
        Earned(Grade.CONSISTENT, 200, 194),  # a witness is missing
        Earned(Grade.LIKELY, 50, 40),  # few
        Earned(Grade.INFERRED, 0, 0),  # nothing is known but what the next one earned
        Earned(Grade.REMOTE, 200, 60),
    ]
    assert list(promises(found).values()) == [0.997, 0.98, 0.899, 0.67, 0.3, 0.3]


def test_grades_that_can_not_be_told_apart_promise_the_same() -> None:
    found = [Earned(Grade.LIKELY, 60, 45), Earned(Grade.INFERRED, 240, 195), Earned(Grade.REMOTE, 100, 30)]
    assert list(promises(found).values()) == [0.8, 0.8, 0.3]


def test_the_matrix_shows_what_was_taken_for_what() -> None:
    assert confusion([RIGHT, WRONG, QUIET]) == {
        "killed": {"killed": 1, "terminated": 1},
        "no cause": {"no cause": 1},
    }


def test_the_page_shows_both_shares() -> None:
    page = write_page([RIGHT, QUIET], [], held=[RIGHT], machine="a machine")
    assert "| client + sidecar, root | 1 | 100.0 % |" in page
    assert "## Held faults\n" in page
    assert "None yet." in page


def test_every_mode_has_its_own_name() -> None:
    names = [mode.name for mode in all_modes()]
    assert len(names) == len(set(names)) == 20


def test_what_is_said_at_first_sight_is_kept_and_not_what_is_said_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "first_sight.jsonl"
    new, mended, open_one = [
        msgspec.structs.replace(RIGHT, fault=name, share=share, answer={**RIGHT.answer, "candidates": []})
        for name, share in (("is new", "held"), ("was met before", "held"), ("is open", "open"))
    ]
    worse = msgspec.structs.replace(new, answer={**new.answer, "cause": "terminated"})
    keep_sights([new, mended, open_one], met=frozenset({"was met before"}), path=path)
    monkeypatch.setattr(earning, "rules_stamp", lambda: "mended rules")
    elsewhere = msgspec.structs.replace(worse, mode=all_modes()[1])
    keep_sights([worse, elsewhere], met=frozenset(), path=path)
    assert [(each.fault, each.mode, each.answer["cause"]) for each in read_sights(path)] == [
        ("is new", STANDARD.name, "killed")
    ]


def test_only_the_table_of_the_grades_is_written_anew() -> None:
    page = write_page([RIGHT, QUIET], [], held=[RIGHT], machine="a machine")
    changed = with_calibration(page, ["| a table |"])
    assert "\n## Calibration\n\n| a table |\n\n## What was taken for what\n" in changed
    assert with_calibration(changed, list(calibration([RIGHT]))) == page


def test_the_page_and_the_readme_tell_of_the_newest_edition_what_was_recorded_of_it() -> None:
    sixth = [each for each in first_sights(load_faults()) if each.kind.startswith("sixth_")]
    assert false_verdicts(sixth) == []
    modes = ["sidecar, root", "sidecar, user", "sidecar, root, no pidfd-info, no connector", "holter run, root"]
    told = []
    for mode in modes:
        cases = [each for each in sixth if each.mode.name == mode]
        found = measure(cases)
        assert found.right is not None
        told.append(f"{found.right:.1%}".replace("%", " %") + f", {len(wrong_confident(cases))}, {found.brier:.3f}")
    assert f"| sixth | 70 | {' | '.join(told)} |" in (ROOT / "docs" / "zoo.md").read_text()
    shares = [words.split(".")[0] for words in told]
    assert shares[:3] == ["97"] * 3
    assert "97 % of 70 in the newest edition" in (readme := (ROOT / "README.md").read_text())
    assert f"`holter run` alone {round(float(told[3].split(' ')[0]))} %" in readme
