"""The GPU became too hot: it slowed itself down, and then it or the program gave up.

A hot GPU lowers its clock long before it fails, so a run that was merely warm did not die of it; a GPU that was at its
limit when it stopped answering did.

Cool it: clean the fans, leave room between the cards, lower the power limit with `nvidia-smi -pl`.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.gpu_errors import HARDWARE_XIDS, is_about_gpu, xids_near_end
from holter.diagnosis.grades import COUNTED, LIKELY
from holter.diagnosis.remedies.outside import cool, resume
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, RuledOut, Verdict

CAUSE = "gpu-overheated"
ADVICE = (cool, resume)
CURVES = ("gpu-heat",)
_LONG_S = 30.0


def diagnose(evidence: Evidence) -> Answer:
    """Fires where a GPU was at its thermal limit and then failed."""
    end, gpu = evidence.subject, evidence.gpu
    if gpu is None or gpu.hottest_c is None or ended_well(end) or not is_about_gpu(end):
        return None
    has_failed = bool(gpu.lost) or any(xid.number == 79 for xid in xids_near_end(evidence, HARDWARE_XIDS))
    if not has_failed:
        return None
    if gpu.slowdown_c is None or gpu.hottest_c < gpu.slowdown_c:
        limit = f", below the {gpu.slowdown_c:.0f} °C at which it slows down" if gpu.slowdown_c is not None else ""
        return RuledOut(cause=CAUSE, because=f"the GPU was at most {gpu.hottest_c:.0f} °C{limit}")
    slowed_s = gpu.thermal_slowdown_s or 0.0
    at_ns = end.at_ns
    found = [
        facts.fact(facts.GPU, at_ns, f"it reached {gpu.hottest_c:.0f} °C and slows down at {gpu.slowdown_c:.0f} °C")
    ]
    if slowed_s:
        found.append(
            facts.fact(facts.GPU, at_ns, f"it had slowed itself down for {words.seconds(slowed_s)} because of heat")
        )
    if gpu.lost:
        found.append(facts.fact(facts.GPU, at_ns, f"GPU {words.listed([str(n) for n in gpu.lost])} no longer answers"))
    return Verdict(
        cause=CAUSE,
        grade=COUNTED if slowed_s >= _LONG_S else LIKELY,
        title=f"The GPU overheated: it reached {gpu.hottest_c:.0f} °C (limit {gpu.slowdown_c:.0f} °C) and then stopped",
        because=testimony.few([*found, facts.of_status(end), *testimony.of_steps(end)]),
    )
