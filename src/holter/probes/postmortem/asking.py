"""Asks the sources after the fact, when whoever watched is gone, or when better evidence may have come since."""

from collections.abc import Sequence

from holter.journal.digest import Digest
from holter.model.records import Looked
from holter.probes.postmortem.past import recall
from holter.probes.postmortem.sources import load_sources


def look_again(digests: Sequence[Digest], ended_ns: int) -> list[Looked]:
    """Return what can still be learnt about the end of a run that is over, to be kept or only to be used.

    Asks nobody who has given a final answer before. Blocks: milliseconds, and some seconds where a scheduler or the
    system's journal must be asked. Never raises.

    Args:
        digests: of all the run's journals.
        ended_ns: when the run ended, or was last seen.
    """
    past = recall(digests, ended_ns)
    if past is None:
        return []
    asked = [source.later(past) for source in load_sources() if source.later is not None]
    return [record for record in asked if record is not None]
