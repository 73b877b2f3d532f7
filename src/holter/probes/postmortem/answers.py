"""How the answer of a source is kept in a journal."""

import msgspec

from holter.model.evidence import Unseen
from holter.model.finding import Finding
from holter.model.records import Looked


def answer(source: str, found: Finding, *, at_ns: int, pid: int = 0) -> Looked:
    """The sentence in which an answer is kept."""
    if isinstance(found, Unseen):
        return Looked(at_ns=at_ns, source=source, pid=pid, because=found.because, remedy=found.remedy)
    return Looked(at_ns=at_ns, source=source, pid=pid, found=msgspec.to_builtins(found))
