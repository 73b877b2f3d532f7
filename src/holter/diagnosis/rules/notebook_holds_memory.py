"""The notebook itself held much of the memory that ran out: variables of earlier cells, displayed values, a last
traceback.

A value that was shown stays in `Out[]` and `_` although its name is deleted, and a cell that failed keeps all its
variables until the next failure.

Free displayed values with `%holter free`, restart the notebook's kernel before a long training, or run it as
a script.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.grades import INFERRED
from holter.diagnosis.remedies.memory import free_outputs, restart_kernel, run_as_script
from holter.diagnosis.scarcity import lacked_gpu_memory, lacked_memory
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Fact, Grade, Verdict

CAUSE = "notebook-holds-memory"
ADVICE = (free_outputs, restart_kernel, run_as_script)
CONTRIBUTES = True
LEAST_SHARE = 0.4
"""Of the memory that there is: a kernel that holds less is not why it ran out."""


def diagnose(evidence: Evidence) -> Answer:
    """Fires where memory ran out in a notebook whose own process held a good part of it."""
    memory = evidence.memory
    if not evidence.is_notebook or not (lacked_memory(evidence) or lacked_gpu_memory(evidence)):
        return None
    at_ns = memory.sampled_ns or evidence.subject.at_ns
    if lacked_gpu_memory(evidence):
        error = evidence.subject.raised
        found = [facts.of_exception(error)] if error else []
        title = "It ran in a notebook, whose earlier cells may still hold GPU memory"
        return _verdict(evidence, INFERRED, title, found)
    limits = [level.limit_bytes for level in memory.levels if level.limit_bytes]
    limit = min([*limits, *([memory.total_bytes] if memory.total_bytes else [])], default=None)
    if limit is None or not memory.own_bytes or memory.own_bytes < LEAST_SHARE * limit:
        return None
    text = f"the notebook's kernel and its children held {words.size(memory.own_bytes)} of {words.size(limit)}"
    return _verdict(evidence, INFERRED, words.sentence(text), [facts.fact(facts.SAMPLES, at_ns, text)])


def _verdict(evidence: Evidence, grade: Grade, title: str, found: list[Fact], /) -> Verdict:
    more = testimony.of_arrays(evidence.subject.raised) if evidence.subject.raised else ()
    return Verdict(
        cause=CAUSE,
        grade=grade,
        title=title,
        because=testimony.few([*found, *more]),
    )
