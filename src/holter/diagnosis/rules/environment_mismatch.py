"""Libraries, drivers or compiled modules do not fit together, so the program failed when it loaded or first used
them.

A module built for another NumPy, a CUDA build newer than the driver, a missing shared library, a GPU for which the
build has no code. A package that is simply not installed (`ModuleNotFoundError`) is not this.

Install versions that belong together, all from one source, in a fresh environment; the driver must be at least as new
as the build's CUDA.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.grades import CONSISTENT, INFERRED, NAMED
from holter.diagnosis.remedies.program import match_versions
from holter.diagnosis.texts import in_exception, type_names
from holter.model.evidence import End, Evidence
from holter.model.verdicts import Answer, Fact, Verdict

CAUSE = "environment-mismatch"
ADVICE = (
    match_versions,
    "if that does not help, make a fresh environment and install everything from one source (pip or conda)",
)
SOON_S = 300.0
_IMPORTS = {"ImportError", "OSError", "AttributeError", "SystemError"}


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the exception that ended the subject has the words of a loader, NumPy's or CUDA's version check."""
    end = evidence.subject
    if end.raised is None or ended_well(end) or type_names(end.raised) & {"ModuleNotFoundError"}:
        return None
    what = _what(evidence)
    if what is None:
        return None
    is_soon = _age_s(end) <= SOON_S
    is_sure = bool(type_names(end.raised) & _IMPORTS) or what == "the GPU driver and the CUDA build"
    return Verdict(
        cause=CAUSE,
        grade=NAMED if is_sure and is_soon else CONSISTENT if is_soon or is_sure else INFERRED,
        title=f"{words.sentence(what)} do not fit together: {words.quote(end.raised.message, 140)}",
        because=testimony.few(_because(evidence, is_sure)),
    )


def _what(evidence: Evidence) -> str | None:
    if in_exception(evidence, "numpy-mismatch"):
        return "NumPy and a module that was compiled for another one"
    if in_exception(evidence, "cuda-mismatch"):
        return "the GPU driver and the CUDA build"
    is_import = evidence.subject.raised is not None and type_names(evidence.subject.raised) & _IMPORTS
    if is_import and in_exception(evidence, "library-mismatch"):
        return "a compiled module and the libraries on this machine"
    return "the installed packages" if is_import and in_exception(evidence, "package-mismatch") else None


def _age_s(end: End) -> float:
    return (end.at_ns - end.began_ns) / 1e9 if end.began_ns else 0.0


def _because(evidence: Evidence, is_sure: bool) -> list[Fact]:
    end = evidence.subject
    if end.raised is None:
        return []
    found = [facts.of_exception(end.raised, is_type_decisive=is_sure)]
    if end.began_ns:
        text = f"that was {words.seconds(_age_s(end))} after the program began"
        found.append(facts.fact(testimony.JOURNAL, end.at_ns, text))
    versions = [
        f"{name} {evidence.facts[name]}"
        for name in ("python", "torch", "cuda", "gpu_driver")
        if _is_text(evidence, name)
    ]
    if versions:
        found.append(facts.fact("facts of the run", end.began_ns, f"the run had {words.listed(versions)}"))
    return [*found, *testimony.of_way(end.raised), facts.of_status(end)]


def _is_text(evidence: Evidence, name: str) -> bool:
    return isinstance(evidence.facts.get(name), str)
