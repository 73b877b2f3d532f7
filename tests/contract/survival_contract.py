"""What every engine promises about runs, consoles and blobs when its process dies between any two calls, as tests."""

import hashlib
import os
import signal
from collections.abc import Callable

import pytest

from holter.model.run_row import RunRow
from holter.storage.console import ConsoleBatch, ConsoleRange, Event
from holter.storage.opening import Storage, open_storage
from holter.storage.places import Places
from tests.contract.port_contract import RUN, PortContract
from tests.contract.processes import start_process

BYTES = bytes(range(256)) * 100
DIGEST = hashlib.sha256(BYTES).hexdigest()
EVENT = Event(7, "a" * 32, 100, "Alerted", {"title": "hot"})
LINES = tuple((number, 1, f"line {number}") for number in range(40))

CALLS: tuple[Callable[[Storage], object], ...] = (
    lambda storage: storage.runs.put([RunRow(id=RUN, name="first", version=1, config={"lr": 1})]),
    lambda storage: storage.console.append(ConsoleBatch(RUN, "output", 0, 100, LINES[:20], "unfini")),
    lambda storage: storage.console.add_events(RUN, [EVENT]),
    lambda storage: storage.blobs.stage(DIGEST, BYTES[:9000], offset=0),
    lambda storage: storage.blobs.stage(DIGEST, BYTES[9000:], offset=9000),
    lambda storage: storage.blobs.seal(DIGEST),
    lambda storage: storage.blobs.attach(RUN, {"media/a.png": DIGEST}),
    lambda storage: storage.runs.put([RunRow(id=RUN, name="second", version=2, config={"lr": 2})]),
    lambda storage: storage.console.append(ConsoleBatch(RUN, "output", 100, 200, LINES[20:])),
    lambda storage: storage.console.add_events(RUN, [EVENT]),
)
"""What a server does while it takes a run in; each of it may come again."""


def die_after(url: Places | str, calls: int) -> None:
    """Make some of the calls; nothing of the process is closed or put away."""
    storage = open_storage(url)
    for call in CALLS[:calls]:
        call(storage)
    os.kill(os.getpid(), signal.SIGKILL)


class SurvivalContract(PortContract):
    """The ports beside the series."""

    @pytest.mark.parametrize("calls", range(len(CALLS) + 1))
    def test_after_kill_9_between_two_calls_all_can_be_repeated_and_is_there_once(
        self, url: Places | str, calls: int
    ) -> None:
        died = start_process(die_after, url, calls)
        died.join()
        assert died.exitcode == -signal.SIGKILL
        storage = open_storage(url)
        try:
            assert storage.blobs.size(DIGEST) in (None, len(BYTES))
            for _ in range(2):
                for call in CALLS:
                    call(storage)
            row = storage.runs.get(RUN)
            assert row is not None
            assert (row.name, row.version, row.config) == ("second", 2, {"lr": 2})
            lines = storage.console.lines(RUN, "output", wanted=ConsoleRange(100))
            assert [(line.number, line.text) for line in lines] == [(at, f"line {at}") for at in range(40)]
            assert storage.console.events(RUN) == [EVENT]
            assert storage.blobs.attached(RUN) == {"media/a.png": DIGEST}
            assert storage.blobs.read(DIGEST) == BYTES
        finally:
            storage.close()
