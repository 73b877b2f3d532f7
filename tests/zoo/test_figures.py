"""The figures of the zoo, on cases that nobody had to die for."""

from tests.zoo.case import Case
from tests.zoo.figures import Earned, confusion, earned, false_verdicts, measure, wrong_confident
from tests.zoo.modes import STANDARD, all_modes
from tests.zoo.page import write_page


def case(truth: str | None, said: str | None, confidence: float, *, verdict_s: float = 1.0, trouble: str = "") -> Case:
    state = "crashed" if truth else "finished"
    answer = {"state": "crashed" if said else "finished", "cause": said, "confidence": confidence}
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
    sure, unsure = earned([case("killed", "killed", 0.65), case("killed", "unknown", 0.5), RIGHT, QUIET])
    assert sure == Earned("counted", 0.94, 1, 1)
    assert unsure == Earned("inferred", 0.65, 1, 1)


def test_of_few_verdicts_little_is_known() -> None:
    low, high = Earned("named", 0.97, 10, 10).interval
    assert (round(low, 3), high) == (0.722, 1.0)
    low, high = Earned("consistent", 0.88, 200, 180).interval
    assert (round(low, 3), round(high, 3)) == (0.851, 0.934)


def test_the_matrix_shows_what_was_taken_for_what() -> None:
    assert confusion([RIGHT, WRONG, QUIET]) == {
        "killed": {"killed": 1, "terminated": 1},
        "no cause": {"no cause": 1},
    }


def test_the_page_shows_both_shares() -> None:
    page = write_page([RIGHT, QUIET], [], machine="a machine")
    assert "| client + sidecar, root | 1 | 100.0 % |" in page
    assert "## Held faults\n" in page
    assert "None yet." in page


def test_every_mode_has_its_own_name() -> None:
    names = [mode.name for mode in all_modes()]
    assert len(names) == len(set(names)) == 20
