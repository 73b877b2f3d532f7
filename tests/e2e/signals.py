"""Programs that get signals, and what the signal witness wrote about them."""

import pytest

from holter.journal.signal_log import SignalLog, read_signal_log
from holter.model.evidence import Caught
from tests.e2e.faults import INSTRUCTIONS, ONLY_X86_64, REAL
from tests.e2e.programs import Program, only_run, start

BEGIN = "import holter; run = holter.init(); print('ready', flush=True)\n"
SLEEP = BEGIN + "import time; time.sleep(60)\n"

real_faults = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=ONLY_X86_64 if name in INSTRUCTIONS else ()) for name in REAL]
)


def log() -> SignalLog:
    return read_signal_log(only_run().row.directory)


def last() -> Caught:
    return log().caught[-1]


def caught(pid: int, number: int) -> list[Caught]:
    return [each for each in log().caught if each.pid == pid and each.signal == number]


def started(source: str, **environment: str) -> Program:
    """A program that has said that it is ready."""
    program = start(source, **environment)
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    return program
