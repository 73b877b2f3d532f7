"""What a run keeps about the limits that its program ran into, when it really ran into them."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from holter.model.evidence import Surroundings
from holter.model.record import Record
from holter.model.records import Looked, Raised
from tests.e2e.programs import only_run, records, run

BEGIN = "import os, resource, threading, holter; run = holter.init()\n"


def told(writer: str = "client") -> tuple[Surroundings, list[Record]]:
    """What was kept, and the records before it."""
    kept = [record for record in records(only_run().row.directory, writer) if isinstance(record, Raised | Looked)]
    (looked,) = [record for record in kept if isinstance(record, Looked) and record.source == "surroundings"]
    return msgspec.convert(looked.found, Surroundings), [each for each in kept if isinstance(each, Raised)]


def test_too_many_open_files() -> None:
    limit = "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))\nx = []\nwhile True: x.append(open('/dev/null'))"
    assert run(BEGIN + limit).returncode == 1
    seen, raised = told()
    assert len(raised) == 1
    assert (seen.open_files, seen.open_files_limit) == (100, 100)
    assert seen.disks


def test_too_little_address_space() -> None:
    limit = (
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\nx = []\nwhile True: x.append(bytearray(32 << 20))"
    )
    assert run(BEGIN + limit).returncode == 1
    seen, _ = told()
    assert seen.address_space_limit_bytes == 1 << 30
    assert seen.address_space_bytes is not None
    assert seen.address_space_bytes > 900 << 20


@pytest.mark.skipif(os.getuid() != 0, reason="not on this platform: only root can become another user")
def test_too_many_threads() -> None:
    # Of a user who has no other processes; who changes, may not look at itself until it says so.
    source = """
import ctypes, holter.probes.cgroups
os.setgid(61234); os.setuid(61234); ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
resource.setrlimit(resource.RLIMIT_NPROC, (60, 60))
done = threading.Event()
for _ in range(100): threading.Thread(target=done.wait, daemon=True).start()
"""
    assert "can't start new thread" in run(BEGIN + source).stderr
    seen, _ = told()
    assert (seen.threads, seen.threads_limit) == (60, 60)


def test_inside_the_run_s_block_it_is_kept_before_the_end() -> None:
    assert run("import holter\nwith holter.init() as run: raise ValueError('x')").returncode == 1
    seen, raised = told()
    assert seen.disks
    assert len(raised) == 1


def test_in_a_child_it_is_that_of_the_child(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        """
import multiprocessing, resource, holter
def work():
    resource.setrlimit(resource.RLIMIT_NOFILE, (123, 123))
    raise ValueError("x")
if __name__ == "__main__":
    run = holter.init()
    process = multiprocessing.get_context("fork").Process(target=work)
    process.start(); process.join()
"""
    )
    subprocess.run([sys.executable, script], capture_output=True, check=True)
    seen, raised = told("worker")
    assert seen.open_files_limit == 123
    assert [each.where for each in raised if isinstance(each, Raised)] == ["child"]


@pytest.mark.parametrize("end", ["raise KeyboardInterrupt", "raise SystemExit(3)"])
def test_nobody_looks_when_somebody_wanted_it_to_end(end: str) -> None:
    run(BEGIN + end)
    looked = [each.source for each in records(only_run().row.directory) if isinstance(each, Looked)]
    assert "surroundings" not in looked
