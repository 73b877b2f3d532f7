"""A data directory full of forged runs, and one among them that is well."""

from pathlib import Path
from typing import NamedTuple

from holter.errors import JournalError
from holter.journal.rundir import run_directory, segment_path
from holter.model.clock import Clock
from holter.server.ingest.ingest import Ingest
from holter.storage.opening import Storage, open_storage
from holter.storage.series import Line
from tests.clocks import FakeClock
from tests.unit.server.forged import Forged, Forger
from tests.unit.server.remote import RemoteJournal, send

ROWS = 50
# What is sent is synced to the disk, which takes its time; what comes of it is the same.
SENT = 20


class ForgedData(NamedTuple):
    """Where it is, and which forged runs are in it."""

    data: str
    runs: list[Forged]
    refused: int

    @property
    def url(self) -> str:
        return f"sqlite:{self.data}/index"

    @property
    def kinds(self) -> int:
        return sum(len(each.kinds) for each in self.runs)


def forge(place: Path, *, every: int) -> ForgedData:
    """Take every so-manieth forged run: some are sent over the wire, the others are laid beside them.

    Those with lying headers are all there.
    """
    data = str(place / "data")
    storage = open_storage(f"sqlite:{data}/index")
    ingest = Ingest(data, storage, clock=Clock())
    forger = Forger(Clock().now_ns())
    chosen = list(forger.runs())[::every]
    sent, laid = chosen[::SENT], [*forger.headers(), *(each for at, each in enumerate(chosen) if at % SENT)]
    refused = 0
    for each in sent:
        for journal, bytes_ in each.journals.items():
            try:
                ingest.accept(journal, each.run, offset=0, data=bytes_)
            except JournalError:
                refused += 1
    for each in laid:
        directory = Path(run_directory(data, each.run))
        directory.mkdir(parents=True)
        for journal, bytes_ in each.journals.items():
            Path(segment_path(str(directory), journal, number=1)).write_bytes(bytes_)
    well = RemoteJournal(place / "far", "well", clock=FakeClock())
    well.describe()
    well.log(ROWS)
    well.finish()
    send(ingest, well)
    ingest.catch_up()
    ingest.close()
    storage.close()
    return ForgedData(data, [*sent, *laid], refused)


def is_well(storage: Storage) -> bool:
    """Whether the one that is well is there, to the last point."""
    row = storage.runs.get("well")
    points = storage.series.points(Line("well", "loss"))
    if row is None or points.values.tolist() != [step * 0.5 for step in range(ROWS)]:
        return False
    told = (row.state, row.name, row.rows, row.steps, row.config, row.summary["loss"])
    return told == ("finished", "far", ROWS, ROWS, {"lr": 1}, (ROWS - 1) * 0.5)
