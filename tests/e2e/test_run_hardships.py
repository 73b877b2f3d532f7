"""`holter run` where something is missing or in the way: the command runs anyway, with its own exit code."""

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.commands import bash, python
from tests.e2e.launches import QUIET, RUN, UNDER_HOLTER, run_piped
from tests.e2e.programs import data_directory, only_run, sidecars, wait_until
from tests.e2e.terminals import Terminal

# Our own failures are what this is about.
LENIENT = {"HOLTER_STRICT": "", "HOLTER_SILENT": ""}


@pytest.mark.parametrize("count", [6, 8, 10, 14, 15, 17, 18, 24])
def test_without_descriptors_the_command_still_runs(count: int) -> None:
    command = ["bash", "-c", f'ulimit -n {count}; exec "$@"', "bash", *UNDER_HOLTER, *bash("echo hello; exit 3")]
    code, out, err = run_piped(command, b"", **LENIENT)
    assert (code, out) == (3, b"hello\n")
    assert b"Traceback" not in err


def test_without_room_for_a_thread_the_output_is_only_not_kept() -> None:
    source = """
        import sys, threading
        def fails(thread): raise RuntimeError("can't start new thread")
        threading.Thread.start = fails
        from holter.launcher.launching import launch
        sys.exit(launch(sys.argv[1:], {}, {}))
        """
    code, out, err = run_piped([*python(source), *bash("echo hello; exit 3")], b"", **LENIENT)
    assert (code, out) == (3, b"hello\n")
    assert b"the output can't be kept: can't start new thread; the command runs anyway" in err


def test_a_failure_while_the_end_is_told_does_not_change_the_exit_code() -> None:
    source = """
        import sys
        from holter.launcher import closing_words
        from holter.launcher.launching import launch
        def fails(*_, **__): raise ZeroDivisionError("a defect")
        closing_words.say_how_it_ended = fails
        sys.exit(launch(sys.argv[1:], {}, {}))
        """
    code, out, err = run_piped([*python(source), *bash("echo hello; exit 3")], b"", **LENIENT)
    assert (code, out) == (3, b"hello\n")
    assert b"not all of it is recorded (a defect); the command runs anyway" in err


def test_where_nothing_can_be_recorded_the_command_runs_without(tmp_path: Path) -> None:
    source = """
        import sys, tempfile
        def fails(*_, **__): raise FileNotFoundError(2, "No usable temporary directory found")
        tempfile.mkdtemp = fails
        from holter.launcher.launching import launch
        sys.exit(launch(sys.argv[1:], {}, {}))
        """
    (tmp_path / "file").write_text("in the way")
    place = str(tmp_path / "file" / "holter")
    code, out, err = run_piped([*python(source), *bash("echo hello; exit 3")], b"", HOLTER_DIR=place, **LENIENT)
    assert (code, out) == (3, b"hello\n")
    assert b"there is nowhere to record" in err


def test_a_run_that_goes_elsewhere_is_found_where_the_message_says(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    environ = {"HOLTER_DIR": str(tmp_path / "file" / "holter"), "TMPDIR": str(tmp_path)}
    _, _, err = run_piped([*UNDER_HOLTER, "true"], b"", HOLTER_SILENT="", **environ)
    found = re.search(r"`HOLTER_DIR=(\S+) holter show (\S+)` shows it", err.decode())
    assert found is not None, err
    code, shown, _ = run_piped([sys.executable, "-m", "holter", "show", found[2]], HOLTER_DIR=found[1])
    assert code == 0
    assert found[2].encode() in shown


def test_a_command_that_stands_without_its_dashes_is_told_where_they_belong() -> None:
    code, out, err = run_piped([*RUN, "--config", "lr=1", "python", "-c", "pass"], HOLTER_SILENT="")
    assert (code, out) == (2, b"")
    assert b"it is written `holter run [OPTIONS] -- COMMAND [ARGUMENTS]`" in err


@pytest.mark.parametrize("text", ["lr", "=3"])
def test_a_configuration_without_a_key_or_a_value_is_refused_before_anything_runs(text: str, tmp_path: Path) -> None:
    code, _, err = run_piped([*RUN, "--config", text, "--", "touch", str(tmp_path / "ran")], HOLTER_SILENT="")
    assert code == 2
    assert f"--config takes KEY=VALUE, got {text!r}".encode() in err
    assert not (tmp_path / "ran").exists()


def test_timeout_ends_the_command_and_its_launcher() -> None:
    code, out, _ = run_piped(["timeout", "2", *UNDER_HOLTER, *bash("echo $$; exec sleep 60")])
    assert code == 124
    wait_until(lambda: not Path(f"/proc/{int(out)}").exists())
    assert only_run().row.state == "crashed"


def test_a_pipe_into_head_is_as_without() -> None:
    script = '"$@" | head -1; echo ${PIPESTATUS[0]}'
    for prefix in ([], UNDER_HOLTER):
        assert run_piped(["bash", "-c", script, "bash", *prefix, "seq", "1", "100000"]) == (0, b"1\n141\n", b"")


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}], ids=["no colour", "dumb", "any"])
def test_what_is_said_at_the_end_is_plain_text(variables: dict[str, str]) -> None:
    with Terminal([*UNDER_HOLTER, *bash("exit 3")], size=(24, 200), **LENIENT, **variables) as terminal:
        assert terminal.wait() == 3
    assert b"failed after" in terminal.shown
    assert b"\x1b" not in terminal.shown


def test_a_file_that_may_not_grow_ends_only_what_writes_it(tmp_path: Path) -> None:
    """SIGXFSZ is the command's to get, for its own file; ours only stop being kept."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    writes = python("import os\nprint('begun', flush=True)\nos.write(os.open('f', 65), b'x' * 9000)\nprint('on')")
    codes = []
    for prefix in ([], UNDER_HOLTER):
        done = subprocess.run(
            [*prefix, *writes],
            cwd=tmp_path,
            preexec_fn=limit,
            capture_output=True,
            env={**os.environ, **QUIET, "HOLTER_STRICT": ""},
            timeout=60,
            check=False,
        )
        codes.append((done.returncode, done.stdout))
        (tmp_path / "f").unlink()
    assert codes[1] == codes[0]


LISTENS = """
import os, sys
def listen(event, args):
    if event == "socket.connect" and args[0].family != 1:
        with open(os.environ["CALLS"], "a") as file: file.write(f"{sys.argv} {args}\\n")
sys.addaudithook(listen)
with open(os.environ["CALLS"], "a") as file: file.write("")
"""


def test_nothing_is_sent_anywhere(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(LISTENS)
    calls = tmp_path / "calls"
    environ = {"PYTHONPATH": str(tmp_path), "CALLS": str(calls)}
    run_piped([*UNDER_HOLTER, *python("import holter\nwith holter.init() as run: run.log({'a': 1})")], b"", **environ)
    wait_until(lambda: not sidecars(str(data_directory())), within_s=60)
    assert calls.read_text() == ""
    connects = python("import socket\ntry: socket.create_connection(('127.0.0.1', 9))\nexcept OSError: pass")
    run_piped(connects, b"", **environ)
    assert "127.0.0.1" in calls.read_text()  # whoever did would have been heard


def test_a_recording_of_a_terminal_shows_what_it_would_have(tmp_path: Path) -> None:
    if shutil.which("script") is None:
        pytest.skip("not on this platform: no `script`")
    command = f"{' '.join(UNDER_HOLTER)} sh -c 'test -t 1 && echo terminal; kill -9 $$'"
    shown = subprocess.run(
        ["script", "-qec", command, os.devnull],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, **QUIET, "SHELL": "/bin/sh"},
        timeout=60,
        check=False,
    )
    assert (shown.returncode, shown.stdout) == (128 + signal.SIGKILL, b"terminal\r\n")
