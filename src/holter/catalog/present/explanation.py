"""The verdict on a run in the form that programs rely on. Pure, but for runs that live or finished."""

from collections.abc import Sequence
from typing import Any

import msgspec

from holter.catalog.judge.verdict import explain
from holter.catalog.read.loaded_run import LoadedRun
from holter.catalog.read.stacks import STACK
from holter.model.records import Marked
from holter.model.run_row import RunRow
from holter.model.verdicts import Diagnosis, Explanation, Fact


def as_json(loaded: LoadedRun) -> dict[str, Any]:
    """The object of `holter why --json`."""
    return told(loaded.row, explain(loaded), marks=loaded.said(Marked))


def told(row: RunRow, found: Explanation, *, marks: Sequence[Marked]) -> dict[str, Any]:
    """The same from what is kept of the run."""
    diagnosis = with_marks(found.diagnosis, marks)
    return {
        "run": row.id,
        "state": row.state,
        "cause": diagnosis.cause,
        "confidence": round(diagnosis.confidence, 3),
        "grade": diagnosis.grade,
        "candidates": diagnosis.candidates,
        "title": diagnosis.title,
        "evidence": diagnosis.evidence,
        "advice": diagnosis.advice,
        "contributing": diagnosis.contributing,
        "ruled_out": diagnosis.ruled_out,
        "not_observable": [
            {"what": each.cause, "because": each.because, "remedy": each.remedy} for each in diagnosis.not_observable
        ],
        "curves": diagnosis.curves,
        "cell": found.cell,
        "stack": found.stack.lines if found.stack.title == STACK else (),
        "cause_mark": row.cause_mark,
    }


def with_marks(diagnosis: Diagnosis, marks: Sequence[Marked]) -> Diagnosis:
    """The diagnosis with what people said beside it."""
    facts = [
        Fact("person", record.at_ns / 1e9, f"{record.by} marked it {record.state or 'as it was'}: {record.reason}")
        for record in marks
    ]
    return msgspec.structs.replace(diagnosis, evidence=(*diagnosis.evidence, *facts))
