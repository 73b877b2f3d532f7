"""The mistakes with processes and GPUs that end programs, by the words that Python and the libraries find for them."""

import re

import msgspec

from holter.diagnosis.advice import Remedy
from holter.diagnosis.remedies import program, several
from holter.diagnosis.texts import foreign_text, lines_near_end
from holter.model.evidence import Evidence
from holter.model.records import Raised


class Mistake(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake: what it is, in half a sentence, and what helps."""

    name: str
    explanation: str
    remedy: Remedy


_NO_MAIN_GUARD = re.compile(r"before the\s+current process has finished its bootstrapping phase|freeze_support\(\)")
_CUDA_AFTER_FORK = re.compile(r"Cannot re-initialize CUDA in forked subprocess|CUDA.*forked subprocess")
_NOT_INITIALISED = re.compile(r"CUDA error: initialization error")
"""What CUDA says to a forked child of a process that uses it; elsewhere it is trouble with the driver."""
_OF_A_WORKER = re.compile(r"Caught \S+ in \S+ worker process")
_NO_SUCH_GPU = re.compile(r"invalid device ordinal|No CUDA GPUs are available|Invalid device id\b")
_UNPICKLABLE = re.compile(
    r"Can't (?:get|pickle) (?:local object|<)|cannot pickle '|Can't get attribute|PicklingError|Can't get local object"
)
_FORK_AFTER_THREADS = re.compile(
    r"multi-threaded, use of fork\(\) may lead to deadlocks|os\.fork\(\) was called.*(?:multithreaded|JAX)"
)
_TWO_WRITERS = re.compile(
    r"unable to lock file|database is locked|unable to truncate a file which is already open|file is already open"
)

_AFTER_FORK = Mistake(
    name="CUDA after fork",
    explanation="a forked worker can't use the GPU that its parent already uses",
    remedy=several.SPAWN_FOR_CUDA,
)


def find_mistake(raised: Raised) -> Mistake | None:
    """The mistake behind an exception, if its words are known."""
    text = foreign_text(raised)
    is_of_a_worker = raised.where in ("child", "pool") or _OF_A_WORKER.search(text) is not None
    if is_of_a_worker and _NOT_INITIALISED.search(text):
        return _AFTER_FORK
    return _find(text)


def find_mistake_of_workers(evidence: Evidence) -> Mistake | None:
    """The mistake that workers printed in their last moments; they have no other way to say it."""
    text = "\n".join(line.text for line in reversed(list(lines_near_end(evidence))))
    return _AFTER_FORK if _NOT_INITIALISED.search(text) else _find(text)


def _find(text: str) -> Mistake | None:
    if _NO_MAIN_GUARD.search(text):
        explanation = (
            "a worker started by `spawn` imports the script again, and the script starts workers when imported"
        )
        return Mistake(name="no main guard", explanation=explanation, remedy=program.GUARD_MAIN)
    if _CUDA_AFTER_FORK.search(text):
        return _AFTER_FORK
    if _NO_SUCH_GPU.search(text):
        explanation = "the program asks for a GPU that it can't see"
        return Mistake(name="no such GPU", explanation=explanation, remedy=several.choose_gpu)
    if _UNPICKLABLE.search(text):
        explanation = "what goes to another process is pickled, and local functions, lambdas and open handles can't be"
        return Mistake(name="not PICKLABLE", explanation=explanation, remedy=several.PICKLABLE)
    if _TWO_WRITERS.search(text):
        explanation = "another process has the same file open for writing"
        return Mistake(name="two writers", explanation=explanation, remedy=several.ONE_WRITER)
    return None


def forked_with_threads(evidence: Evidence) -> bool:
    """Python warned that the program forked while threads ran, at any time: a child may then wait for ever."""
    return any(_FORK_AFTER_THREADS.search(line.text) for line in evidence.said)
