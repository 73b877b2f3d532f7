"""A worker of a data loader or pool has died.

Says so within two seconds of its death, with the signal, and whether the container's memory was used up at that moment.
A child that was asked to leave (SIGTERM), that left with 0, or that is another program than the one which trains is
none.
"""

from collections.abc import Iterator

from holter.guards.limits import Limits
from holter.guards.seen import Caution, Death, Seen

MORE_MEMORY = "fewer workers (num_workers), a smaller prefetch_factor, or more memory for the container"
LOOK = "run it once with num_workers=0: its error then shows where it comes from; `holter why` once the run has ended"
MOST_AT_ONCE = 3


class Check:
    """Tells of each death once."""

    def look(self, seen: Seen) -> Iterator[Caution]:
        """Those that died since the last look."""
        for death in seen.deaths[:MOST_AT_ONCE]:
            yield Caution(
                subject=str(death.pid),
                text=_text(death),
                advice=(MORE_MEMORY,) if death.why else (LOOK,),
                figures={"pid": death.pid},
                at_once=True,
            )


def _text(death: Death) -> str:
    because = f": {death.why}" if death.why else ""
    name = f" ({death.name})" if death.name else ""
    return f"worker {death.pid}{name} died, {death.how}{because}"


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check()
