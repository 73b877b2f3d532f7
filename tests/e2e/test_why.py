"""Real programs, really ended: what `holter why` says about them, and how soon."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holter.model.records import Looked
from tests.e2e.commands import python
from tests.e2e.launches import RUN, run_piped
from tests.e2e.programs import only_run, run, said, sidecars, start, wait_until

HOLTER = [sys.executable, "-m", "holter"]
KEYS = (
    "run state cause confidence grade candidates title evidence advice contributing ruled_out not_observable"
    " curves cell stack cause_mark"
).split()
CGROUPS = Path("/sys/fs/cgroup/memory")
LIMIT_BYTES = 160 << 20
NOBODY = 65534

TRAINING = """
    import os, signal, sys, time, holter
    from tests.e2e.seen import wait_for_looks
    run = holter.init(project="zoo", name="dies")
    for step in range(20):
        run.log({"loss": 1 / (step + 1)}, step=step)
    wait_for_looks(1)
    END
"""


def training(end: str) -> str:
    """A program that has been sampled at least once when it ends like this."""
    return textwrap.dedent(TRAINING).replace("END", end)


def why(**environment: str) -> dict[str, Any]:
    command = [*HOLTER, "why", "--json"]
    env = {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    verdict: dict[str, Any] = json.loads(done.stdout)
    assert list(verdict) == KEYS
    return verdict


def sources(writer: str) -> set[str]:
    """Who was asked by whom."""
    return {each.source for each in said(only_run().row.directory, Looked, writer) if isinstance(each, Looked)}


def text(*arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [*HOLTER, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


ENDS = {
    "an exception": ("raise ValueError('the batch is empty')", "failed", "uncaught-exception"),
    "kill -9": ("os.kill(os.getpid(), signal.SIGKILL)", "crashed", "killed"),
    "SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(5)", "crashed", "terminated"),
    "SIGTERM, handled": (
        "signal.signal(15, lambda *_: sys.exit(0)); os.kill(os.getpid(), 15); time.sleep(5)",
        "crashed",
        "terminated",
    ),
    "an exit code": ("sys.exit(3)", "failed", "nonzero-exit"),
    "a sudden exit": ("os._exit(4)", "failed", "nonzero-exit"),
    "a segmentation fault": ("import ctypes; ctypes.string_at(0)", "crashed", "segmentation-fault"),
    "Ctrl-C": ("os.kill(os.getpid(), signal.SIGINT); time.sleep(5)", "failed", "interrupted"),
    "nothing at all": ("pass", "finished", None),
    "a sudden exit with 0": ("os._exit(0)", "finished", None),
    "an exception in a thread": (
        "import threading; t = threading.Thread(target=lambda: 1 / 0); t.start(); t.join()",
        "finished",
        None,
    ),
}


@pytest.mark.parametrize(("end", "state", "cause"), ENDS.values(), ids=ENDS)
def test_the_cause_is_known_once_it_has_died(end: str, state: str, cause: str | None) -> None:
    run(training(end))
    verdict = why()
    assert (verdict["state"], verdict["cause"]) == (state, cause)
    assert verdict["title"]
    assert verdict["confidence"] >= 0.9
    if cause is not None:
        assert all(set(fact) == {"source", "at", "text"} for fact in verdict["evidence"])
        assert 1 <= len(verdict["evidence"]) <= 7
        assert verdict["advice"]


def test_an_end_is_told_the_same_way_by_every_command() -> None:
    run(training("raise ValueError('the batch is empty')"))
    wait_until(lambda: "running" not in text("ls"))
    assert "uncaught-exception" in text("ls")
    assert json.loads(text("ls", "--json"))["runs"][0]["cause"] == "uncaught-exception"
    assert "(uncaught-exception)" in text("show").splitlines()[0]
    assert "(uncaught-exception)" in text("tail", "-f").splitlines()[-1]
    told = text("why")
    assert "ValueError: the batch is empty" in told
    assert re.search(r"^uncaught-exception, (almost )?certain \(\d\d %\)$", told, re.MULTILINE)


def test_the_text_fits_an_ugly_terminal() -> None:
    run(training("raise ValueError('the batch is empty')"))
    told = text("why", LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii", NO_COLOR="1")
    assert told.isascii()
    assert "\x1b" not in told
    assert "\\u" not in told


def test_what_the_sidecar_found_is_kept() -> None:
    run(training("os.kill(os.getpid(), signal.SIGKILL)"))
    why()
    assert {"counters", "all"} <= sources("sidecar")


def test_a_run_whose_sidecar_was_killed_too_still_gets_an_answer() -> None:
    with start(training("print('ready', flush=True); time.sleep(60)")) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        for pid in sidecars(only_run().row.directory):
            os.kill(pid, signal.SIGKILL)
        program.kill()
    verdict = why()
    assert (verdict["state"], verdict["cause"] in ("killed", "unknown")) == ("crashed", True)
    assert any(each["what"] == "exit status" for each in verdict["not_observable"])
    assert why() == verdict
    assert why() == verdict
    commands = {
        record.source for record in said(only_run().row.directory, Looked, "command") if isinstance(record, Looked)
    }
    assert "host" in commands


@pytest.fixture
def small_cgroup() -> Iterator[Path]:
    if os.geteuid() != 0 or not (CGROUPS / "memory.limit_in_bytes").exists():
        pytest.skip("not on this platform: needs root and memory cgroups of version 1")
    path = CGROUPS / f"holter-why-{os.getpid()}"
    path.mkdir()
    (path / "memory.limit_in_bytes").write_text(str(LIMIT_BYTES))
    yield path
    for _ in range(50):
        try:
            path.rmdir()
        except OSError:  # the sidecar is still leaving
            time.sleep(0.1)
        else:
            break


def test_a_program_that_its_cgroup_had_no_memory_for(small_cgroup: Path) -> None:
    end = "held = [bytearray(os.urandom(1 << 20)) for _ in range(1000)]"
    enter = f"import os; open('{small_cgroup}/cgroup.procs', 'w').write(str(os.getpid()))\n"
    done = run(enter + training(end))
    assert done.returncode == -signal.SIGKILL
    verdict = why()
    assert (verdict["state"], verdict["cause"]) == ("crashed", "cgroup-out-of-memory")
    assert verdict["confidence"] >= 0.9
    assert "160" in verdict["title"]


def test_another_user_who_may_read_a_run_gets_the_same_answer() -> None:
    if os.geteuid() != 0:
        pytest.skip("not on this platform: needs root, to become somebody else")
    run(training("raise ValueError('the batch is empty')"))
    ours = why()
    wait_until(lambda: not sidecars(only_run().row.directory))
    before = _opened_to_all()
    command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *HOLTER, "why", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    theirs = json.loads(done.stdout)
    assert (theirs["cause"], theirs["confidence"]) == (ours["cause"], ours["confidence"])
    assert sorted(Path(only_run().row.directory).iterdir()) == before


def _opened_to_all() -> list[Path]:
    """Let everybody read the only run, and enter the directories above it."""
    directory = Path(only_run().row.directory)
    for path in [directory, *directory.parents]:
        if path.stat().st_uid == os.geteuid() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    for path in directory.iterdir():
        path.chmod(0o644)
    return sorted(directory.iterdir())


def test_holter_run_says_the_verdict_what_to_do_and_where_to_look() -> None:
    source = "raise ValueError('the batch is empty')"
    code, _, err = run_piped([*RUN, "--name", "x", "--", *python(source)], HOLTER_SILENT="")
    lines = [line for line in err.decode().splitlines() if line.startswith("holter: ")]
    assert code == 1
    assert lines[0].startswith("holter: x failed after ")
    assert "ValueError: the batch is empty" in lines[0]
    assert lines[1].startswith("holter: what to do: ")
    assert "holter why" in lines[2]
    _, _, quiet = run_piped([*RUN, "--name", "x", "--", *python(source)], HOLTER_SILENT="", HOLTER_QUIET="1")
    assert sum(line.startswith(b"holter: ") for line in quiet.splitlines()) == 2
    _, _, silent = run_piped([*RUN, "--name", "x", "--", *python(source)], HOLTER_SILENT="1")
    assert b"holter: " not in silent


def test_holter_run_knows_who_asked_its_command_to_leave() -> None:
    source = """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        print("ready", flush=True)
        time.sleep(60)
        """
    with subprocess.Popen([*RUN, "--", *python(source)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == b"ready\n"
        launcher.terminate()
        assert launcher.wait(30) == 0
    verdict = why()
    assert (verdict["state"], verdict["cause"]) == ("crashed", "terminated")
    assert f"process {os.getpid()} (" in verdict["evidence"][0]["text"]


def test_the_end_of_holter_run_does_not_wait_long() -> None:
    began = time.monotonic()
    code, _, _ = run_piped([*RUN, "--", *python("import os; os._exit(3)")])
    assert (code, time.monotonic() - began < 30) == (3, True)


def test_rules_are_listed_and_explained() -> None:
    listed = text("rules")
    assert "cgroup-out-of-memory" in listed
    assert len(text("rules", "cgroup-out-of-memory").splitlines()) > 3
    rules = json.loads(text("rules", "--json"))["rules"]
    assert {"cause", "explanation", "remedy", "contributes"} <= set(rules[0])
    done = subprocess.run([*HOLTER, "rules", "cgroup-out-of-memry"], capture_output=True, text=True, check=False)
    assert (done.returncode, "did you mean 'cgroup-out-of-memory'" in done.stderr) == (2, True)
