"""Libraries, drivers or compiled modules do not fit together, so the program failed when it loaded or first used
them.

A module built for another NumPy, a CUDA build newer than the driver, a missing shared library, a GPU for which the
build has no code. A package that is simply not installed (`ModuleNotFoundError`) is not this.

Install versions that belong together, all from one source, in a fresh environment; the driver must be at least as new
as the build's CUDA.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.grades import CONSISTENT, INFERRED, NAMED
from holter.diagnosis.remedies import program
from holter.diagnosis.texts import in_exception, type_names
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Verdict

ADVICE = (
    program.match_versions,
    "if that does not help, make a fresh environment and install everything from one source (pip or conda)",
)
SOON_S = 300.0
_IMPORTS = {"ImportError", "OSError", "AttributeError", "SystemError"}
_VERSIONS = ("python", "torch", "cuda", "gpu_driver")


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the exception that ended the subject has the words of a loader, NumPy's or CUDA's version check."""
    end = evidence.subject
    if end.raised is None or ended_well(end) or type_names(end.raised) & {"ModuleNotFoundError"}:
        return None
    is_import = bool(type_names(end.raised) & _IMPORTS)
    what = _what(evidence, is_import=is_import)
    if not what:
        return None
    age_s = (end.at_ns - end.began_ns) / 1e9 if end.began_ns else 0.0
    is_soon, is_sure = age_s <= SOON_S, is_import or what == "the GPU driver and the CUDA build"
    age = f"that was {words.seconds(age_s)} after the program began"
    known = [f"{name} {evidence.facts[name]}" for name in _VERSIONS if isinstance(evidence.facts.get(name), str)]
    had = f"the run had {words.listed(known)}"
    found = [
        facts.of_exception(end.raised, is_type_decisive=is_sure),
        facts.fact(facts.JOURNAL, end.at_ns, age) if end.began_ns else None,
        facts.fact("facts of the run", end.began_ns, had) if known else None,
        facts.of_way(end.raised),
        facts.of_status(end),
    ]
    grade = NAMED if is_sure and is_soon else CONSISTENT if is_soon or is_sure else INFERRED
    return Verdict(grade, f"{what} do not fit together: {words.quote(end.raised.message, 140)}", found)


def _what(evidence: Evidence, *, is_import: bool) -> str:
    if in_exception(evidence, "numpy-mismatch"):
        return "NumPy and a module that was compiled for another one"
    if in_exception(evidence, "cuda-mismatch"):
        return "the GPU driver and the CUDA build"
    if is_import and in_exception(evidence, "library-mismatch"):
        return "a compiled module and the libraries on this machine"
    return "the installed packages" if is_import and in_exception(evidence, "package-mismatch") else ""
