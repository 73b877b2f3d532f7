"""The GPU became too hot: it slowed itself down, and then it or the program gave up.

A hot GPU lowers its clock long before it fails, so a run that was merely warm did not die of it; a GPU that was at its
limit when it stopped answering did.

Cool it: clean the fans, leave room between the cards, lower the power limit with `nvidia-smi -pl`.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import ended_well
from holter.diagnosis.gpu_errors import HARDWARE_XIDS, is_about_gpu, xids_near_end
from holter.diagnosis.grades import COUNTED, LIKELY
from holter.diagnosis.remedies import outside
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, RuledOut, Verdict

ADVICE = (outside.cool, outside.resume)
CURVES = ("gpu-heat",)
_LONG_S = 30.0
_OFF_THE_BUS = 79


def diagnose(evidence: Evidence) -> Answer:
    """Fires where a GPU was at its thermal limit and then failed."""
    end, gpu = evidence.subject, evidence.gpu
    if gpu is None or gpu.hottest_c is None or ended_well(end) or not is_about_gpu(end):
        return None
    fallen = [xid for xid in xids_near_end(evidence, HARDWARE_XIDS) if xid.number == _OFF_THE_BUS]
    if not gpu.lost and not fallen:
        return None
    if gpu.slowdown_c is None or gpu.hottest_c < gpu.slowdown_c:
        limit = words.told(", below the {:.0f} °C at which it slows down", gpu.slowdown_c)
        return RuledOut(because=f"the GPU was at most {gpu.hottest_c:.0f} °C{limit}")
    slowed_s = gpu.thermal_slowdown_s or 0.0
    heat = f"it reached {gpu.hottest_c:.0f} °C"
    texts = [
        f"{heat} and slows down at {gpu.slowdown_c:.0f} °C",
        f"it had slowed itself down for {words.seconds(slowed_s)} because of heat" if slowed_s else "",
        f"GPU {words.listed([str(number) for number in gpu.lost])} no longer answers" if gpu.lost else "",
    ]
    found = [facts.fact(facts.GPU, end.at_ns, text) for text in texts if text]
    title = f"The GPU overheated: {heat} (limit {gpu.slowdown_c:.0f} °C) and then stopped"
    grade = COUNTED if slowed_s >= _LONG_S else LIKELY
    return Verdict(grade, title, [*found, facts.of_status(end), facts.of_steps(end)])
