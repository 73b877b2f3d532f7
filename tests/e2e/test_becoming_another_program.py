"""A program that becomes another one by `os.exec*`: nobody in it sees how that ends."""

import os
import subprocess
import sys

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.judge.verdict import explain
from tests.e2e.programs import data_directory, only_run, run

BEGIN = "import os, holter\nrun = holter.init(project='p')\nrun.log({'loss': 1.0})\n"
ECHO = "os.execv('/bin/echo', ['echo', 'exported'])"
FAILS = "try:\n    os.execv('/no/such/program', ['x'])\nexcept OSError:\n    pass\n"


@pytest.mark.parametrize(
    "become", [ECHO, "os.execlp('echo', 'echo', 'exported')", "os.execve('/bin/echo', ['echo', 'exported'], {})"]
)
def test_after_the_fact_nobody_knows_how_the_other_program_ended(become: str) -> None:
    done = run(BEGIN + become, HOLTER_WITHOUT="sidecar")
    assert (done.returncode, done.stdout) == (0, "exported\n")
    loaded = only_run()
    told = explain(loaded).diagnosis
    assert told.cause == "unknown"
    assert told.confidence <= 0.5
    unseen = told.not_observable
    assert any("became another program (" in each.because and "echo)" in each.because for each in unseen)


def test_one_that_could_not_is_watched_as_before() -> None:
    run(BEGIN + FAILS + "os.kill(os.getpid(), 9)", HOLTER_WITHOUT="sidecar")
    assert explain(only_run()).diagnosis.cause == "killed"


def test_with_a_sidecar_its_end_is_seen() -> None:
    run(BEGIN + ECHO)
    subprocess.run([sys.executable, "-m", "holter", "why"], check=True, capture_output=True, timeout=60)
    catalog = Catalog(str(data_directory()))
    [row] = catalog.rows()
    assert (row.state, row.cause) == ("finished", None)


def test_the_hook_goes_with_the_run() -> None:
    source = "import os, holter\nbefore = os.execv, os.execve\nrun = holter.init()\nassert os.execv is not before[0]\n"
    done = run(source + "run.finish()\nassert (os.execv, os.execve) == before\nprint('same')")
    assert done.stdout == "same\n", done.stderr
    assert os.execv.__module__ == "posix"
