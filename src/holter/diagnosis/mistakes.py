"""The mistakes with processes and GPUs that end programs, by the words that Python and the libraries find for them."""

import msgspec

from holter.diagnosis.advice import Remedy
from holter.diagnosis.phrases.tags import says
from holter.diagnosis.remedies import program, several
from holter.diagnosis.texts import foreign_text, lines_near_end
from holter.model.evidence import Evidence
from holter.model.records import Raised


class Mistake(msgspec.Struct, frozen=True):
    """One mistake: who says it, what it is in half a sentence, and what helps."""

    tag: str
    explanation: str
    remedy: Remedy


_AFTER_FORK = Mistake(
    "cuda-after-fork", "a forked worker can't use the GPU that its parent already uses", several.SPAWN_FOR_CUDA
)
_GUARD = "a worker started by `spawn` imports the script again, and the script starts workers when imported"
_PICKLED = "what goes to another process is pickled, and local functions, lambdas and open handles can't be"
_MISTAKES = (
    Mistake("no-main-guard", _GUARD, program.GUARD_MAIN),
    _AFTER_FORK,
    Mistake("no-such-gpu", "the program asks for a GPU that it can't see", several.choose_gpu),
    Mistake("unpicklable", _PICKLED, several.PICKLABLE),
    Mistake("two-writers", "another process has the same file open for writing", several.ONE_WRITER),
)


def find_mistake(raised: Raised) -> Mistake | None:
    """The mistake behind an exception, if its words are known."""
    text = foreign_text(raised)
    is_of_a_worker = raised.where in ("child", "pool") or says(text, "of-a-worker")
    return _find(text, is_of_a_worker=is_of_a_worker)


def find_mistake_of_workers(evidence: Evidence) -> Mistake | None:
    """The mistake that workers printed in their last moments; they have no other way to say it."""
    text = "\n".join(line.text for line in reversed(list(lines_near_end(evidence))))
    return _find(text, is_of_a_worker=True)


def _find(text: str, *, is_of_a_worker: bool) -> Mistake | None:
    if is_of_a_worker and says(text, "cuda-not-initialised"):
        return _AFTER_FORK
    return next((mistake for mistake in _MISTAKES if says(text, mistake.tag)), None)


def forked_with_threads(evidence: Evidence) -> bool:
    """Python warned that the program forked while threads ran, at any time: a child may then wait for ever."""
    return any(says(line.text, "fork-among-threads") for line in evidence.said)
