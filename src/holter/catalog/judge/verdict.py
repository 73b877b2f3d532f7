"""Why a run ended: judged once, kept with the run, and read from then on."""

import os
import time
import traceback
from collections.abc import Sequence

import msgspec

from holter.catalog.read.loaded_run import PROGRAM, LoadedRun, counted_marks
from holter.catalog.read.machines import Machines, with_host_seen
from holter.catalog.read.rules_stamp import rules_stamp
from holter.model.evidence import Evidence
from holter.model.records import Alerted, CauseMarked, Console, Edited, Judged, Lost, Marked, Noted
from holter.model.state import FINISHED, RUNNING, with_mark
from holter.model.verdicts import Diagnosis, Explanation
from holter.model.warning_records import Eased, Silenced, Warned

UNKNOWN = "unknown"
NO_EVIDENCE = (
    Alerted,
    CauseMarked,
    Console,
    Eased,
    Edited,
    Judged,
    Lost,
    Marked,
    Noted,
    Silenced,
    Warned,
)


def judge(loaded: LoadedRun, machines: Machines | None = None, *, words: Sequence[Judged] | None = None) -> LoadedRun:
    """The run with its cause, and with the state that the cause demands; a person's mark still wins.

    By what was found before, whatever the rules were, as long as there is no more evidence; else by the rules of today.
    A run that is alive or finished comes back as it is.

    Args:
        machines: what other runs tell about the machines, where a server has them together.
        words: what was found before, in the order of time, where that is not in the journals alone.
    """
    if loaded.by_itself.state in (RUNNING, FINISHED):
        return loaded
    kept = _kept(loaded, loaded.said(Judged) if words is None else words)
    return with_explanation(loaded, kept) if kept is not None else judge_anew(loaded, machines)


def judge_anew(loaded: LoadedRun, machines: Machines | None = None) -> LoadedRun:
    """The same by the rules of today, for a run that died. A failure of ours costs the cause and nothing else."""
    try:
        explanation = _ask(loaded, machines)
    except Exception:  # the boundary: whoever lists runs must see them all
        if os.environ.get("HOLTER_STRICT"):
            raise
        explanation = Explanation(diagnosis=_failed(loaded), may_change=True)
    return with_explanation(loaded, explanation)


def explain(loaded: LoadedRun) -> Explanation:
    """All that can be told about a run: of one that died why, of one that lives or finished how it is."""
    if loaded.explanation is not None:
        return loaded.explanation
    from holter.catalog.judge.explaining import explanation_of, well
    from holter.catalog.judge.gathering import gather

    evidence = gather(loaded)
    # A living run can have a cause, such as `stalled`.
    diagnosis = _ask_the_rules(evidence) if loaded.by_itself.state == RUNNING else None
    if diagnosis is None or not diagnosis.cause:
        diagnosis = well(loaded, evidence)
    return explanation_of(loaded, evidence, diagnosis=diagnosis)


def with_explanation(loaded: LoadedRun, explanation: Explanation) -> LoadedRun:
    """The run as an explanation has it. Pure."""
    by_itself, diagnosis = loaded.by_itself, explanation.diagnosis
    if diagnosis.state and diagnosis.state != by_itself.state:
        by_itself = msgspec.structs.replace(by_itself, state=diagnosis.state)
    outcome = with_mark(by_itself, counted_marks(loaded.digests))
    row = msgspec.structs.replace(loaded.row, state=outcome.state, because=outcome.because, cause=diagnosis.cause)
    return msgspec.structs.replace(loaded, row=row, outcome=outcome, by_itself=by_itself, explanation=explanation)


def as_record(loaded: LoadedRun) -> Judged | None:
    """The explanation to be kept; None where there is none that would hold tomorrow."""
    explanation = loaded.explanation
    if explanation is None or not explanation.rules or not loaded.by_itself.is_final:
        return None
    return Judged(at_ns=time.time_ns(), weighed=weight_of(loaded), found=msgspec.to_builtins(explanation))


def is_by_todays_rules(loaded: LoadedRun) -> bool:
    """Whether its verdict is kept, and no rule is newer."""
    kept = _kept(loaded, loaded.said(Judged))
    return kept is not None and kept.rules == rules_stamp()


def weight_of(loaded: LoadedRun) -> str:
    """Stands for the evidence: another attempt, another process, or one more sentence of anybody changes it."""
    programs = sum(each.opened.writer in PROGRAM for each in loaded.digests)
    said = sum(not isinstance(record, NO_EVIDENCE) for each in loaded.digests for record in each.said)
    return f"{loaded.row.attempt}/{programs}/{said}"


def _kept(loaded: LoadedRun, words: Sequence[Judged]) -> Explanation | None:
    weight = weight_of(loaded)
    return next((read_explanation(each) for each in reversed(words) if each.weighed == weight), None)


def read_explanation(record: Judged) -> Explanation | None:
    """What a record says; None where a newer holter wrote it in another form."""
    try:
        return msgspec.convert(record.found, Explanation)
    except msgspec.ValidationError:
        return None


def _ask(loaded: LoadedRun, machines: Machines | None) -> Explanation:
    from holter.catalog.judge.explaining import explanation_of
    from holter.catalog.judge.gathering import gather

    evidence = gather(loaded)
    if machines is not None:
        evidence = with_host_seen(evidence, loaded, machines=machines)
    return explanation_of(loaded, evidence, diagnosis=_ask_the_rules(evidence), rules=rules_stamp())


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
