"""The notebook itself held much of the memory that ran out: variables of earlier cells, displayed values, a last
traceback.

A value that was shown stays in `Out[]` and `_` although its name is deleted, and a cell that failed keeps all its
variables until the next failure.

Free displayed values with `%holter free`, restart the notebook's kernel before a long training, or run it as
a script.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.grades import INFERRED
from holter.diagnosis.kills import PLAUSIBLE, lacked_gpu_memory, lacked_memory
from holter.diagnosis.remedies import memory as against
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Verdict

ADVICE = (against.free_outputs, against.restart_kernel, against.run_as_script)
CONTRIBUTES = True


def diagnose(evidence: Evidence) -> Answer:
    """Fires where memory ran out in a notebook whose own process held a good part of it."""
    memory, error = evidence.memory, evidence.subject.raised
    if not evidence.is_notebook:
        return None
    if lacked_gpu_memory(evidence):
        title = "It ran in a notebook, whose earlier cells may still hold GPU memory"
        return Verdict(INFERRED, title, [facts.of_exception(error), facts.of_arrays(error)])
    limits = [level.limit_bytes for level in memory.levels] + [memory.total_bytes]
    limit = min((each for each in limits if each), default=None)
    if not lacked_memory(evidence) or limit is None or (memory.own_bytes or 0) < PLAUSIBLE * limit:
        return None
    text = f"the notebook's kernel and its children held {words.size(memory.own_bytes or 0)} of {words.size(limit)}"
    found = facts.fact(facts.SAMPLES, memory.sampled_ns or evidence.subject.at_ns, text)
    return Verdict(INFERRED, text, [found, facts.of_arrays(error)])
