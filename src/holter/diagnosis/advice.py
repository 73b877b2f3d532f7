"""Advice: sentences with the numbers of this run, the most useful first.

A cause names its remedies in its own file (`ADVICE`). They are sentences, or functions of the evidence, those that
several causes share in `remedies`; one that makes no sense for the run says nothing, and is left out.
"""

from collections.abc import Callable, Iterable

from holter.model.evidence import Evidence

Remedy = str | Callable[[Evidence], str]
MOST = 6


def advise(evidence: Evidence, remedies: Iterable[Remedy], *, first: Iterable[str] = ()) -> tuple[str, ...]:
    """What these remedies say of this run; `first` fits this case and comes before."""
    sentences = [*first, *(remedy if isinstance(remedy, str) else remedy(evidence) for remedy in remedies)]
    return tuple(dict.fromkeys(sentence for sentence in sentences if sentence))[:MOST]
