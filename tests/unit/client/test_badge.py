"""How a run shows itself in a notebook."""

import math
from pathlib import Path

from holter.client.badge import Shown, bundle, read_curves
from holter.wire.addresses import page_of
from tests.unit.catalog.journals import Journal, dead


def test_the_badge_has_a_curve_for_each_metric() -> None:
    shown = bundle(Shown("mnist/tidy-fox-1", "recording", "abcd1234", "", {"loss": [3.0, 2.0, 1.0], "flat": [5.0]}))
    assert shown["text/plain"].splitlines() == [
        "holter run mnist/tidy-fox-1 (abcd1234), recording",
        "  loss  █▅▁  1",
        "  flat  ▅  5",
    ]
    assert shown["text/html"].count("<svg") == 2
    assert "<a " not in shown["text/html"]


def test_nothing_of_the_users_is_markup_in_the_badge() -> None:
    evil = "<img src=x>"
    shown = bundle(Shown(evil, evil, evil, 'https://h/"onclick="x', {evil: [1.0]}))["text/html"]
    assert "<img" not in shown
    assert 'href="https://h/&quot;onclick=&quot;x"' in shown


def test_a_run_that_lies_nowhere_has_no_curves(tmp_path: Path) -> None:
    assert read_curves("", "00") == {}
    assert read_curves(str(tmp_path / "gone"), "00") == {}


def test_the_page_of_a_run_has_an_address_whatever_its_project_is_called() -> None:
    assert page_of("a b/ü", "abcd1234") == "p/a%20b%2F%C3%BC/r/abcd1234"


def test_the_last_value_is_shown_also_where_it_is_no_finite_number(tmp_path: Path) -> None:
    losses = {"loss": [2.0, 1.0, math.nan], "up": [1.0, math.inf], "down": [-math.inf], "healed": [1.0, math.nan, 3.0]}
    journal = Journal(tmp_path, dead())
    for key, values in losses.items():
        for step, value in enumerate(values):
            journal.log([step], **{key: value})
    journal.close()
    curves = read_curves(str(tmp_path), journal.id)
    shown = bundle(Shown("odd", "recording", "abcd1234", "", curves))
    assert shown["text/plain"].splitlines()[1:] == [
        "  loss    █▁!  NaN",
        "  up      ▅!  Inf",
        "  down    !  -Inf",
        "  healed  ▁!█  3",
    ]
    assert [shown["text/html"].count(f">{text}</td>") for text in ("NaN", "Inf", "-Inf", "3")] == [1, 1, 1, 1]
    assert shown["text/html"].count("color:#c48000") == 3
    assert "nan," not in shown["text/html"]
