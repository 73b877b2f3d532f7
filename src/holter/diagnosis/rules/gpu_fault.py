"""The GPU itself failed: it fell off the bus, its memory had an error that could not be corrected, or its link broke.

NVIDIA's driver reports such events as an Xid with a number; 48, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140 and 154
are about the hardware, its firmware or its driver, while 13, 31 and 43 are about the program.

Take the GPU out of use, reset it or reboot the machine, and have it tested; continue elsewhere from the last
checkpoint.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.gpu_errors import HARDWARE_XIDS, is_about_gpu, xids_near_end
from holter.diagnosis.grades import COUNTED, INFERRED, LIKELY, NAMED, UNLIKELY
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies import outside
from holter.diagnosis.texts import in_exception
from holter.model.evidence import Evidence, GpuEvents, KernelLine
from holter.model.verdicts import Answer, Grade, RuledOut, Verdict

ADVICE = (
    "reset the GPU (nvidia-smi --gpu-reset) or reboot, and run dcgmi diag -r 3 before it is used again",
    outside.REPLACE_HARDWARE,
    outside.resume,
)
CURVES = ("gpu-heat", "gpu-memory")
_RECORDED_ONLY = (63, 92)
"""The card went on after these: a row is replaced at the next reset."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires on an Xid of the hardware or a lost GPU near the end of a program that the GPU can have ended."""
    end, gpu = evidence.subject, evidence.gpu or GpuEvents()
    if ended_well(end) or not is_about_gpu(end):
        return None
    xids = list(xids_near_end(evidence, HARDWARE_XIDS))
    if not xids and not gpu.lost and in_exception(evidence, "gpu-hardware-fault") is None:
        return _absent(evidence)
    grade = _grade(evidence, xids)
    if grade is None:
        return None
    lost = words.listed([str(number) for number in gpu.lost])
    errors = f"{words.count(gpu.uncorrected_errors or 0, 'uncorrected memory error')} since the run began"
    texts = [f"Xid {xid.number}: {xid.text or HARDWARE_XIDS[xid.number]}" for xid in xids[:2]]
    found = [facts.fact(facts.GPU, xid.at_ns, text) for xid, text in zip(xids, texts, strict=False)]
    more = [f"GPU {lost} no longer answers NVML" if lost else "", errors if gpu.uncorrected_errors else ""]
    found += [facts.fact(facts.GPU, end.at_ns, text) for text in more if text]
    said = facts.of_exception(end.raised, is_type_decisive=bool(xids or lost))
    title = (
        f"GPU {lost} is lost: it does not answer any more" if lost else "The GPU itself failed, according to its driver"
    )
    if xids:
        title = f"The GPU itself failed: {HARDWARE_XIDS[xids[0].number]} (Xid {xids[0].number})"
    return Verdict(grade, title, [*found, said, facts.of_status(end), facts.of_steps(end)])


def _grade(evidence: Evidence, xids: list[KernelLine]) -> Grade | None:
    end, gpu = evidence.subject, evidence.gpu or GpuEvents()
    speaks = end.raised is not None and says(f"{end.raised.type}: {end.raised.message}", "gpu-spoken-of")
    is_grave = bool(gpu.lost) or any(xid.number not in _RECORDED_ONLY for xid in xids)
    is_hot = gpu.hottest_c is not None and gpu.slowdown_c is not None and gpu.hottest_c >= gpu.slowdown_c
    if (gpu.lost and is_hot) or not (xids or gpu.lost):
        return LIKELY  # then the heat is why, or there are the words of the exception alone
    if is_grave and speaks:
        return NAMED
    is_own = any(xid.pid == end.pid for xid in xids)
    if is_grave and (is_own or end.signal in (6, 7, 11)):
        return COUNTED if is_own else INFERRED
    return INFERRED if speaks else None


def _absent(evidence: Evidence) -> Answer:
    """Only said where a GPU's failure is what one would suspect."""
    error = evidence.subject.raised
    if error is None or "CUDA" not in error.message:
        return None
    if evidence.gpu is not None:
        seen = words.listed([str(xid.number) for xid in evidence.gpu.xids]) or "none"
        near = f"no Xid of the hardware came near the end (Xids seen: {seen})"
        return RuledOut(because=f"{near}, and all GPUs answer")
    remedy = "keep holter's sidecar running, which listens to NVML, or look for `Xid` in `dmesg`"
    return facts.not_observable(evidence, "gpu-events", because="nothing listened to the GPU's driver", remedy=remedy)


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """What a GPU's library complains of may be the GPU's own failure, which its events and Linux's log would tell."""
    was_looked_at = bool(evidence.gpu or evidence.kernel_log)
    return UNLIKELY if verdict.is_vague and not was_looked_at and in_exception(evidence, "gpu-spoken-of") else None
