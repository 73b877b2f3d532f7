"""Children that come and go between two looks of the sidecar, really killed."""

import os
import signal
import sys

import pytest

from holter.model.records import ChildExited, Exited
from holter.probes.postmortem.connector import open_connector
from tests.e2e.launches import UNDER_HOLTER, run_piped
from tests.e2e.programs import data_directory, only_run, said, sidecars, start, wait_until

BEGIN = """
import os, subprocess, sys, holter
from tests.e2e.seen import wait_until_seen
run = holter.init()
run.log({'a': 1})
wait_until_seen(os.getpid())
"""
FAULTS = "['bash', '-c', 'sleep 0.1; kill -SEGV $$']"


@pytest.fixture(autouse=True)
def _connector() -> None:
    connector = open_connector()
    if connector is None:
        pytest.skip("not on this platform: the connector needs the first namespaces and, before Linux 6.6, root")
    connector.close()


def run(body: str, **environ: str) -> tuple[int, list[ChildExited]]:
    with start(BEGIN + body, **environ) as program:
        # Until then it is there to be looked at, however late the sidecar comes.
        wait_until(
            lambda: [each for run in data_directory().glob("runs/*") for each in said(str(run), Exited, "sidecar")]
        )
        program.wait(60)
    directory = only_run().row.directory
    wait_until(lambda: not sidecars(directory), within_s=60)
    told = said(directory, ChildExited, writer="sidecar")
    return program.returncode, [each for each in told if isinstance(each, ChildExited) and each.status]


def is_told() -> bool:
    return any(said(str(directory), Exited, "sidecar") for directory in data_directory().glob("runs/*"))


def test_a_child_of_100_ms_that_faults_is_heard_of() -> None:
    code, (child,) = run(f"subprocess.run({FAULTS})")
    assert code == 0
    assert child.source == "connector"
    assert child.status is not None
    assert os.WTERMSIG(child.status) == signal.SIGSEGV


def test_the_grandchild_too_where_its_parent_is_known() -> None:
    source = f"import subprocess, time; time.sleep(2.5); subprocess.run({FAULTS}); time.sleep(0.5)"
    code, (child,) = run(f"subprocess.run([sys.executable, '-c', {source!r}])")
    assert code == 0
    assert os.WTERMSIG(child.status or 0) == signal.SIGSEGV


def test_the_grandchild_too_whose_parent_nobody_had_time_to_meet() -> None:
    source = f"import subprocess; subprocess.run({FAULTS})"
    code, (child,) = run(f"subprocess.run([sys.executable, '-c', {source!r}])")
    assert code == 0
    assert os.WTERMSIG(child.status or 0) == signal.SIGSEGV


def test_many_alike_are_counted_and_those_that_end_well_cost_nothing() -> None:
    body = "for _ in range(100): subprocess.run(['true'])\nfor _ in range(40): subprocess.run(['false'])\n"
    _, children = run(body)
    assert 3 <= len(children) <= 20
    assert sum(each.status == 1 << 8 for each in children) == len(children)


def test_without_the_connector_only_a_look_in_time_would_find_it() -> None:
    _, children = run(f"subprocess.run({FAULTS})", HOLTER_WITHOUT="connector")
    assert [each for each in children if each.source == "connector"] == []


def test_the_cause_is_the_childs_though_the_program_has_words_of_its_own() -> None:
    run(f"if subprocess.run({FAULTS}).returncode:\n    raise RuntimeError('augmentation did not work out')\n")
    found = only_run().diagnosis
    assert found is not None
    assert (found.cause, found.candidates) == ("segmentation-fault", ("uncaught-exception",))
    assert 0.5 <= found.confidence < 0.9


UNHEARD = {"HOLTER_WITHOUT": "connector,pidfd-info"}


def test_a_program_that_waited_for_nobody_but_us_left_for_a_reason_of_its_own() -> None:
    run("sys.exit(3)", **UNHEARD)
    found = only_run().diagnosis
    assert found is not None
    assert found.cause == "nonzero-exit"
    assert found.confidence >= 0.9


def test_one_that_waited_for_a_child_may_have_left_for_that() -> None:
    run("sys.exit(subprocess.run(['false']).returncode + 2)", **UNHEARD)
    found = only_run().diagnosis
    assert found is not None
    assert found.cause == "nonzero-exit"
    assert found.confidence < 0.9
    assert "worker-died" in found.candidates


EARLY = """
import ctypes, multiprocessing
worker = multiprocessing.get_context("fork").Process(target=ctypes.string_at, args=(0,))
worker.start()
worker.join()
raise RuntimeError(f"worker failed with exit code {worker.exitcode}")
"""


def test_a_worker_that_faults_before_anybody_listens_is_known_by_its_parents_words() -> None:
    assert run_piped([*UNDER_HOLTER, sys.executable, "-c", EARLY])[0] == 1
    directory = only_run().row.directory
    wait_until(lambda: not sidecars(directory), within_s=60)
    found = only_run().diagnosis
    assert found is not None
    assert found.cause == "segmentation-fault"
