"""Why a run ended: the rules are asked, and their answer becomes part of the run."""

import os
import traceback

import msgspec

from holter.catalog.read.run_view import LoadedRun, counted_marks
from holter.catalog.read.sightings import Sightings, add_sightings
from holter.model.evidence import Evidence
from holter.model.state import FINISHED, RUNNING, with_mark
from holter.model.verdicts import Diagnosis

UNKNOWN = "unknown"


def diagnose_run(loaded: LoadedRun, sightings: Sightings | None = None) -> Diagnosis:
    """What the rules make of all that is known about the end of a run."""
    from holter.catalog.judge.gathering import gather

    evidence = gather(loaded)
    if sightings is not None:
        evidence = add_sightings(evidence, loaded, sightings=sightings)
    return _ask_the_rules(evidence)


def judge(loaded: LoadedRun, sightings: Sightings | None = None) -> LoadedRun:
    """The run with its cause, and with the state that the cause demands; a person's mark still wins.

    A run that is alive or finished comes back as it is. A failure of ours costs the cause and nothing else.

    Args:
        sightings: what other runs tell about the machines, where a server has them together.
    """
    if loaded.by_itself.state in (RUNNING, FINISHED):
        return loaded
    try:
        diagnosis = diagnose_run(loaded, sightings)
    except Exception:  # the boundary: whoever lists runs must see them all
        if os.environ.get("HOLTER_STRICT"):
            raise
        diagnosis = _failed(loaded)
    return with_diagnosis(loaded, diagnosis)


def with_diagnosis(loaded: LoadedRun, diagnosis: Diagnosis) -> LoadedRun:
    """The run as a diagnosis has it. Pure."""
    by_itself = loaded.by_itself
    if diagnosis.state and diagnosis.state != by_itself.state:
        by_itself = msgspec.structs.replace(by_itself, state=diagnosis.state)
    outcome = with_mark(by_itself, counted_marks(loaded.digests))
    view = msgspec.structs.replace(loaded.view, state=outcome.state, because=outcome.because, cause=diagnosis.cause)
    return msgspec.structs.replace(loaded, view=view, outcome=outcome, by_itself=by_itself, diagnosis=diagnosis)


def _ask_the_rules(evidence: Evidence) -> Diagnosis:
    from holter.diagnosis.ranking import diagnose  # some fifty files, which only a run that died needs

    return diagnose(evidence)


def _failed(loaded: LoadedRun) -> Diagnosis:
    last = traceback.format_exc().strip().splitlines()[-1]
    return Diagnosis(
        cause=UNKNOWN,
        confidence=0.0,
        title=f"{loaded.by_itself.because} (holter failed to explain it: {last})",
        state=loaded.by_itself.state,
    )
