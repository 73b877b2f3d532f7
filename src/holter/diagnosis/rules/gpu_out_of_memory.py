"""The GPU had no memory left for what the program asked of it.

The program itself, a second process on the same GPU, memory that is reserved in pieces too small to use, or a framework
that takes the whole GPU at the start: the message and the list of the GPU's processes tell which.

Lower the batch size, use mixed precision, accumulate gradients; end what else runs on the GPU; in TensorFlow call
`set_memory_growth`, in JAX set `XLA_PYTHON_CLIENT_PREALLOCATE=false`.
"""

import re

from holter.diagnosis import facts, words
from holter.diagnosis.advice import advise
from holter.diagnosis.causality.ends import left_with
from holter.diagnosis.memory_reading import unused_in_pieces
from holter.diagnosis.texts import foreign_text, is_own_raise, line_near_end
from holter.model.evidence import Evidence
from holter.model.records import Raised
from holter.model.verdicts import Answer, Fact, Verdict

CAUSE = "gpu-out-of-memory"
BY_TYPE, BY_WORDS, BY_LIBRARY, PRINTED = 0.97, 0.87, 0.7, 0.75
_TYPES = re.compile(
    r"(?:^|\n)(?:torch\.(?:cuda\.|_C\.|mps\.)?|cupy\.\S*|numba\.\S*)?(?:OutOfMemoryError|CudaOutOfMemory\w*): "
)
_SAYS = re.compile(
    r"(?:CUDA|HIP|MPS|XPU|GPU)\S* (?:backend )?out of memory|CUDA error: out of memory|CUDA_ERROR_OUT_OF_MEMORY"
    r"|cudaErrorMemoryAllocation|RESOURCE_EXHAUSTED: .*(?:GPU|CUDA|device|HBM|allocat)"
    r"|OOM when allocating tensor.*(?:device:GPU|gpu)|failed to allocate .* from device",
    re.DOTALL,
)
_XLA = re.compile(r"(?:Jax|Xla)RuntimeError|ResourceExhaustedError|AcceleratorError|InternalError")
_LIBRARY = re.compile(r"CU(?:BLAS|DNN|SOLVER|FFT)_STATUS_ALLOC_FAILED")
_ON_CPU = re.compile(r"device:CPU|DefaultCPUAllocator|on device cpu|\bCpuDevice")
_ASKED = re.compile(r"[Tt]r(?:ied|ying) to allocate ([\d.]+ ?[KMGT]i?B)|allocate (\d+) bytes")
_OTHER = re.compile(r"Process (\d+) has ([\d.]+ [KMGT]iB) memory in use")


def diagnose(evidence: Evidence) -> Answer:
    """Fires on the exception's type, less surely on its words."""
    raised = evidence.subject.raised
    if raised is None:
        line = line_near_end(evidence, _SAYS) if left_with(evidence.subject) else None
        return _verdict(evidence, PRINTED, [facts.of_console(line)]) if line else None
    confidence = _confidence(raised)
    if confidence is None:
        return None
    return _verdict(evidence, confidence, [facts.of_exception(raised, is_type_decisive=confidence == BY_TYPE)])


def _confidence(raised: Raised) -> float | None:
    """None where it is about something else, such as the host's memory."""
    text = foreign_text(raised)
    if not text or _ON_CPU.search(text):
        return None
    if _TYPES.search(text) or (_XLA.search(text) and _SAYS.search(text)):
        return BY_TYPE
    if _SAYS.search(text) and not is_own_raise(raised):
        return BY_WORDS
    return BY_LIBRARY if _LIBRARY.search(text) else None


def _verdict(evidence: Evidence, confidence: float, found: list[Fact], /) -> Verdict:
    others = _others(evidence)
    return Verdict(
        cause=CAUSE,
        confidence=confidence,
        title=_title(evidence, others),
        because=(*found, *_holder_facts(evidence), *_shared_facts(evidence), facts.of_status(evidence.subject))[:5],
        advice=advise(CAUSE, evidence),
        contributing=("gpu-shared",) if others else (),
    )


def _title(evidence: Evidence, others: list[str]) -> str:
    raised = evidence.subject.raised
    asked = _ASKED.search(raised.message) if raised else None
    size = next(filter(None, asked.groups()), "") if asked else ""
    size = words.size(int(size)) if size.isdigit() else size
    what = f" when {words.process(evidence.subject)} asked for {size} more" if size else ""
    shared = f"; {words.listed(others[:2])} of it" if others else ""
    return words.sentence(f"the GPU was out of memory{what}{shared}")


def _others(evidence: Evidence) -> list[str]:
    """`process 400 holds 110.60 GiB`, for each that is not of the run."""
    holders = (evidence.surroundings.gpu_holders if evidence.surroundings else None) or ()
    known = [f"{each.name} ({each.pid}) held {words.size(each.rss_bytes)}" for each in holders if not each.is_ours]
    raised = evidence.subject.raised
    own = {end.pid for end in (*evidence.ranks, *evidence.children, evidence.subject)}
    said = _OTHER.findall(raised.message) if raised else []
    return known or [f"process {pid} held {size}" for pid, size in said if int(pid) not in own]


def _holder_facts(evidence: Evidence) -> list[Fact]:
    holders = (evidence.surroundings.gpu_holders if evidence.surroundings else None) or ()
    if not holders:
        return []
    names = [f"{each.name} ({each.pid}) {words.size(each.rss_bytes)}" for each in holders[:3]]
    at_ns = evidence.subject.raised.at_ns if evidence.subject.raised else evidence.subject.at_ns
    return [facts.fact(facts.GPU, at_ns, "the GPU's memory was held by " + ", ".join(names))]


def _shared_facts(evidence: Evidence) -> list[Fact]:
    raised = evidence.subject.raised
    unused = unused_in_pieces(raised.message) if raised else ""
    if raised is None or not unused:
        return []
    return [facts.fact(facts.EXCEPTION, raised.at_ns, f"{unused} was reserved by PyTorch but not in use")]
