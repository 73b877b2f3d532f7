"""The verdict on a run as it is told: what the rules say, and what the journals say where no rule had a word."""

from collections.abc import Iterator
from typing import Any

import msgspec

from holter.catalog.present.closest_call import closest_call
from holter.catalog.present.journal_account import testimony
from holter.catalog.read.fatal_cell import as_told
from holter.catalog.read.run_view import LoadedRun
from holter.catalog.read.stacks import STACK, stack_of
from holter.model.evidence import REQUESTS, Evidence
from holter.model.records import Marked
from holter.model.state import FINISHED, RUNNING
from holter.model.verdicts import Diagnosis, Fact, NotObservable

WORTH_SAYING = 0.1
LEFT_IN_ORDER = 0.8
"""How sure it is that a program which left in order left with 0 and of itself, where nobody could see one of both."""


def as_json(loaded: LoadedRun, evidence: Evidence) -> dict[str, Any]:
    """The verdict in the form that programs rely on."""
    view, diagnosis = loaded.view, explained(loaded, evidence)
    stack = stack_of(evidence, diagnosis.cause)
    return {
        "run": view.id,
        "state": view.state,
        "cause": diagnosis.cause,
        "confidence": round(diagnosis.confidence, 3),
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
        "cell": as_told(loaded),
        "stack": stack.lines if stack.title == STACK else (),
        "cause_mark": view.cause_mark,
    }


def explained(loaded: LoadedRun, evidence: Evidence) -> Diagnosis:
    """The diagnosis as it is told: with what the journals say where no rule had anything to say."""
    diagnosis = loaded.diagnosis or _of_the_living(loaded, evidence) or _well(loaded, evidence)
    told = [*diagnosis.evidence, *_marks(loaded)]
    if not diagnosis.evidence:
        told = [*testimony(loaded), *_marks(loaded)]
    unseen = list(diagnosis.not_observable)
    if diagnosis.cause == "unknown" or loaded.by_itself.status is None:
        unseen += _missing_status(loaded, evidence)
    return msgspec.structs.replace(diagnosis, evidence=tuple(told), not_observable=tuple(unseen))


def _of_the_living(loaded: LoadedRun, evidence: Evidence) -> Diagnosis | None:
    """A cause that a living run can have, such as `stalled`."""
    if loaded.by_itself.state != RUNNING:
        return None
    from holter.diagnosis.ranking import diagnose  # some fifty files, which only who asks for a verdict needs

    diagnosis = diagnose(evidence)
    return diagnosis if diagnosis.cause else None


def _well(loaded: LoadedRun, evidence: Evidence) -> Diagnosis:
    """Of a run that finished, or is alive."""
    outcome = loaded.by_itself
    if outcome.state == FINISHED:
        facts = [*testimony(loaded), *_closest_call(evidence)]
        is_known = outcome.is_said or outcome.status is not None
        title = f"{'Finished normally' if is_known else 'It seems to have finished'}: {outcome.because}"
        unseen = tuple(unheard_request(evidence))
        confidence = LEFT_IN_ORDER if unseen or not is_known else 1.0
        return Diagnosis(
            cause=None,
            confidence=confidence,
            title=title,
            state=FINISHED,
            evidence=tuple(facts),
            not_observable=unseen,
        )
    late = "; its heartbeats are late" if outcome.is_stale else ""
    title = f"It is still running: {outcome.because}{late}"
    return Diagnosis(cause=None, confidence=0.0 if late else 1.0, title=title, state=outcome.state)


def unheard_request(evidence: Evidence) -> Iterator[NotObservable]:
    """A program that handles SIGTERM may leave with 0 because of one."""
    around, end = evidence.surroundings, evidence.subject
    has_client = end.role != "command" or end.finished is not None
    was_heard = any(each.signal in REQUESTS for each in end.signals)
    if around is not None and around.heeds_requests and not has_client and not was_heard:
        yield NotObservable(
            cause="terminated",
            because="the program handles signals such as SIGTERM, and nothing in it recorded whether one came",
            remedy="call `holter.init()` in the program",
        )


def _closest_call(evidence: Evidence) -> Iterator[Fact]:
    call = closest_call(evidence.memory)
    if call is not None and call.used_bytes >= WORTH_SAYING * call.limit_bytes:
        share = f"{call.used_bytes / call.limit_bytes:.0%}".replace("%", " %")
        text = f"closest call: it held {_size(call.used_bytes)}, {share} of {call.whose} of {_size(call.limit_bytes)}"
        yield Fact("samples", call.at_ns / 1e9, text)


def _marks(loaded: LoadedRun) -> list[Fact]:
    return [
        Fact("person", record.at_ns / 1e9, f"{record.by} marked it {record.state or 'as it was'}: {record.reason}")
        for record in loaded.said(Marked)
    ]


def _missing_status(loaded: LoadedRun, evidence: Evidence) -> Iterator[NotObservable]:
    if loaded.by_itself.state == RUNNING or loaded.by_itself.is_said or loaded.by_itself.status is not None:
        return
    if (unseen := evidence.unseen.get("exit-status")) is not None:
        yield NotObservable(cause="exit status", because=unseen.because, remedy=unseen.remedy)


def _size(count: float) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"
