"""What a benchmark found, in its file and on the page."""

from pathlib import Path

import pytest

from benchmarks.figures import Figure, Measured, Table
from benchmarks.machine import Machine
from benchmarks.peer_fill import make_rows
from benchmarks.report import BEGIN, END, Result, load, save, write_docs


def result(**changes: object) -> Result:
    fields: dict[str, object] = {
        "measure": "start",
        "method": "Starting.\n\nHow it is measured.",
        "date": "2026-01-02 03:04 UTC",
        "took_s": 5.0,
        "foreign_cores": 0.25,
        "is_quick": False,
        "machine": Machine("processor", 2, 4.0, "Linux", "ext4", "3.11", {"holter": "0.1"}),
        "found": Measured(
            figures=[
                Figure(name="import", measured=2.0, unit="×", at_most=2.5),
                Figure(name="first log", measured=70.04, unit="ms", at_most=60.0),
                Figure(name="finish", measured=0.5, unit="ms"),
                Figure(name="against a peer", measured=None, at_most=1.0),
            ],
            tables=[Table("Title", ["", "p50"], [["holter", "1 µs"]])],
            notes=["A remark."],
        ),
    }
    return Result(**(fields | changes))  # type: ignore[arg-type]  # the fields are those of Result


def test_a_figure_is_met_missed_or_not_measured() -> None:
    assert [figure.verdict for figure in result().found.figures] == ["met", "missed", "", "not measured"]


def test_the_docs_hold_the_figures_between_their_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    save(result(), tmp_path / "results")
    save(result(measure="kills", is_quick=True), tmp_path / "results")
    write_docs(page, load(tmp_path / "results"), ["kills", "start"])
    text = page.read_text()
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert "| import | ≤ 2.5 × | 2 × | met |" in text
    assert "| first log | ≤ 60 ms | 70 ms | missed |" in text
    assert "| finish | 0.5 ms |" in text
    assert "## Starting\n\nHow it is measured." in text
    assert "kills" not in text
    written = page.read_text()
    write_docs(page, load(tmp_path / "results"), ["kills", "start"])
    assert page.read_text() == written


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no marks")
    with pytest.raises(ValueError, match=r"page\.md lacks the marks"):
        write_docs(page, [result()], ["start"])
    assert page.read_text() == "no marks"


def test_everybody_gets_the_same_points() -> None:
    rows = list(make_rows(3, 2, points=4))
    assert rows == list(make_rows(3, 2, points=4))
    assert rows != list(make_rows(4, 2, points=4))
    assert [step for step, _ in rows] == [0, 1, 2, 3]
    assert [list(row) for _, row in rows] == [["train/00", "val/00"], *[["train/00"]] * 3]
