"""What `holter run` tells the programs that it started, in one variable of their environment."""

from collections.abc import Mapping

import msgspec

VARIABLE = "HOLTER_LAUNCHED"


class Launched(msgspec.Struct, frozen=True):
    """The run that a launcher made for whoever joins it, and which streams it takes care of."""

    run: str
    journal: str
    captured: tuple[str, ...] = ()
    """The files, pipes and terminals that are being kept already, as `stream_id` names them."""


def read_launched(environ: Mapping[str, str]) -> Launched | None:
    """None where no launcher started this process, or the user has chosen another run since."""
    run, _, rest = environ.get(VARIABLE, "").partition(":")
    journal, _, captured = rest.partition(":")
    if not run or environ.get("HOLTER_RUN_ID") != run:
        return None
    return Launched(run, journal, tuple(captured.split(",")) if captured else ())


def as_variable(launched: Launched) -> str:
    """The other way round."""
    return f"{launched.run}:{launched.journal}:{','.join(launched.captured)}"
