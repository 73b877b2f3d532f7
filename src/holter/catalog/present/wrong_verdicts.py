"""Deaths of which somebody says that the verdict is wrong, in the form in which the crash zoo keeps deaths."""

import os
import pwd
from collections.abc import Iterator

import msgspec

from holter.catalog.judge.verdict import explain
from holter.catalog.present.impersonal import HOME, PERSON, PLACE, impersonal
from holter.catalog.read.loaded_run import LoadedRun
from holter.catalog.read.rules_stamp import rules_stamp
from holter.model.evidence import Evidence
from holter.model.secrets import mask
from holter.model.verdicts import NOTHING, SOMETHING_ELSE, CauseMark
from holter.version import __version__


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """What holter says now."""

    state: str
    cause: str | None
    confidence: float


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says: the id of a cause, `none` or `other`, and how they know."""

    cause: str
    reason: str
    verdict: str
    """The cause that holter named when they said so."""


class WrongVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `holter why --wrong`; `fault`, `was_right` and `evidence` are what the crash zoo reads."""

    fault: str
    was_right: bool = False
    says: Claimed
    verdict: Named
    holter: str = __version__
    rules: str
    """Tells the rules apart that were asked."""
    evidence: Evidence


def wrong_verdict(loaded: LoadedRun, evidence: Evidence, *, mark: CauseMark) -> WrongVerdict:
    """The death with both words on it, and without names of people and machines."""
    diagnosis = explain(loaded).diagnosis
    what = {NOTHING: "to have ended normally", SOMETHING_ELSE: "to have died of something else"}
    said = what.get(mark.cause, f"to have died of {mark.cause}")
    return WrongVerdict(
        fault=f"is said {said} (run {loaded.row.id})",
        says=Claimed(cause=mark.cause, reason=mask(mark.reason), verdict=mark.verdict),
        verdict=Named(state=loaded.by_itself.state, cause=diagnosis.cause, confidence=round(diagnosis.confidence, 3)),
        rules=rules_stamp(),
        evidence=impersonal(evidence, _names(loaded)),
    )


def _names(loaded: LoadedRun) -> Iterator[tuple[str, str]]:
    """Places of the run, the deepest first, and whose it is."""
    cwd = str(loaded.facts.get("cwd") or "")
    data = os.path.dirname(os.path.dirname(loaded.row.directory))
    places = [(data, f"{PLACE}/data"), (cwd, PLACE)]
    # "/" and "/tmp" are everybody's.
    yield from sorted((each for each in places if each[0].count("/") > 1), key=lambda each: -len(each[0]))
    try:
        owner = pwd.getpwuid(os.stat(loaded.row.directory).st_uid)
    except (KeyError, OSError):
        return
    if owner.pw_uid:
        yield owner.pw_dir, HOME
        yield f"/{owner.pw_name}/", f"/{PERSON}/"
