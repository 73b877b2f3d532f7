"""Runs of other hosts that died some time ago: journals as their machines would have written them."""

from typing import NamedTuple

import msgspec

from holter.model.records import Described, Finished, Raised
from tests.e2e.programs import data_directory
from tests.unit.catalog.journals import Journal, elsewhere

HOUR = 3600.0
ECC = ("torch.AcceleratorError", "CUDA error: uncorrectable ECC error encountered")
GPU_MEMORY = ("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 79.1 GiB in all")
MISSING = ("FileNotFoundError", "no such file: shard-007")


class Fate(NamedTuple):
    """Where a run ran, when it ended (seconds since 1970), after how many hours, and what it raised, if anything."""

    run: str
    project: str
    host: str
    ended: float
    hours: float
    raised: tuple[str, str] | None = None


def suffer(fate: Fate) -> None:
    began_ns, ended_ns = int((fate.ended - fate.hours * HOUR) * 1e9), int(fate.ended * 1e9)
    process = msgspec.structs.replace(elsewhere(), host=fate.host)
    journal = Journal(data_directory() / "runs" / fate.run, process)
    journal.say(Described(at_ns=began_ns, project=fate.project, name=fate.run, started_ns=began_ns))
    journal.rows.append({"loss": 1.0}, 0, began_ns)
    if fate.raised is not None:
        kind, message = fate.raised
        traceback = f'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n{kind}: {message}\n'
        journal.say(Raised(at_ns=ended_ns, type=kind, message=message, traceback=traceback))
    journal.say(Finished(at_ns=ended_ns, exit_code=1 if fate.raised else 0)).close()
