"""Libraries, drivers or compiled modules do not fit together, so the program failed when it loaded or first used
them.

A module built for another NumPy, a CUDA build newer than the driver, a missing shared library, a GPU for which the
build has no code. A package that is simply not installed (`ModuleNotFoundError`) is not this.

Install versions that belong together, all from one source, in a fresh environment; the driver must be at least as new
as the build's CUDA.
"""

import re

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.advice import advise
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.texts import in_exception, type_names
from holter.model.evidence import End, Evidence
from holter.model.verdicts import Answer, Fact, Verdict

CAUSE = "environment-mismatch"
SOON_S = 300.0
_LIBRARY = re.compile(
    r"undefined symbol: \S+|version `[^']+' not found|\.so\S*: cannot open shared object"
    r"|wrong ELF class|invalid ELF header|file too short|DLL load failed|symbol not found"
    r"|cannot allocate memory in static TLS block|dynamic module does not define (?:module export|init) function"
)
_NUMPY = re.compile(
    r"numpy\.(?:dtype|ufunc|ndarray) size changed|_ARRAY_API not found|compiled using NumPy 1\.x"
    r"|multiarray failed to import|compiled against (?:ABI|API) version|Numpy is not available|binary incompatib"
)
_CUDA = re.compile(
    r"driver version is insufficient|driver on your system is too old|no kernel image is available"
    r"|Driver/library version mismatch|CUDNN_STATUS_(?:SUBLIBRARY_)?(?:VERSION|ARCH)_MISMATCH|unsupported toolchain"
    r"|cuDNN version incompatibility|Loaded runtime CuDNN library|not compiled with CUDA enabled"
    r"|forward compatibility was attempted"
)
_VERSIONS = re.compile(
    r"jaxlib is version|requires? jaxlib|jaxlib version \S+ is newer|is incompatible with|incompatible version"
    r"|requires (?:torch|numpy|transformers|tokenizers)[^\n]*but"
)
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
        confidence=0.96 if is_sure and is_soon else 0.85 if is_soon or is_sure else 0.7,
        title=f"{words.sentence(what)} do not fit together: {words.quote(end.raised.message, 140)}",
        because=testimony.few(_because(evidence, is_sure)),
        advice=advise(CAUSE, evidence),
    )


def _what(evidence: Evidence) -> str | None:
    if in_exception(evidence, _NUMPY):
        return "NumPy and a module that was compiled for another one"
    if in_exception(evidence, _CUDA):
        return "the GPU driver and the CUDA build"
    is_import = evidence.subject.raised is not None and type_names(evidence.subject.raised) & _IMPORTS
    if is_import and in_exception(evidence, _LIBRARY):
        return "a compiled module and the libraries on this machine"
    return "the installed packages" if is_import and in_exception(evidence, _VERSIONS) else None


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
