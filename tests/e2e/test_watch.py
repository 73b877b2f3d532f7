"""A process that is already running, and knows nothing of holter, becomes a run."""

import json
import os
import pwd
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.programs import only_run, rows, sidecars, wait_until

HOLTER = [sys.executable, "-m", "holter"]


def holter(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    done = subprocess.run([*HOLTER, *arguments], capture_output=True, text=True, check=False, env=env, timeout=60)
    assert "Traceback" not in done.stderr
    return done


def watch(process: subprocess.Popen[str], *arguments: str) -> str:
    """The id of the run that it became."""
    done = holter("watch", str(process.pid), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "train.py").write_text(
        "import time\nballast = bytearray(30_000_000)\nprint('ready', flush=True)\ntime.sleep(60)\n"
    )
    command = [sys.executable, "train.py", "--lr=0.1", "--token", "s3cret"]
    env = {**os.environ, "OMP_NUM_THREADS": "3"}
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_watched_process_is_a_running_run_with_its_facts_and_curves(
    sleeper: subprocess.Popen[str], tmp_path: Path
) -> None:
    run = watch(sleeper, "--project", "night", "--name", "rescued")
    wait_until(lambda: rows(only_run().row.directory, writer="sidecar"))
    wait_until(lambda: only_run().facts)
    loaded = only_run()
    view = loaded.row
    assert (view.id, view.name, view.project, view.state) == (run, "rescued", "night", "running")
    newest = rows(view.directory, writer="sidecar")[-1].values
    assert newest["system/process/rss_bytes"] > 30_000_000
    facts = loaded.facts
    assert facts["command"][1:] == ["train.py", "--lr=0.1", "--token", "…"]
    assert (facts["cwd"], facts["environment"]["OMP_NUM_THREADS"]) == (str(tmp_path), "3")
    assert any(each.startswith("msgspec==") for each in facts["packages"])
    wait_until((Path(view.directory) / "script.py").exists)
    assert (Path(view.directory) / "script.py").read_text().startswith("import time")


def test_its_death_is_seen_with_its_exit_status(sleeper: subprocess.Popen[str]) -> None:
    watch(sleeper)
    sleeper.kill()
    sleeper.wait()
    loaded = only_run()
    assert (loaded.row.name, loaded.row.state) == ("train.py", "crashed")
    assert loaded.outcome.status == signal.SIGKILL
    assert loaded.outcome.source in ("pidfd-info", "zombie-stat")
    wait_until(lambda: not sidecars(loaded.row.directory))


@pytest.mark.parametrize(
    ("code", "state", "status"), [(0, "finished", 0), (3, "failed", 3 << 8)], ids=["in order", "with an error"]
)
def test_its_exit_code_is_the_runs(code: int, state: str, status: int) -> None:
    source = f"import sys; sys.stdin.readline(); sys.exit({code})"
    command = [sys.executable, "-c", source]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as process:
        watch(process)
        process.communicate("go on\n")
    loaded = only_run()
    assert (loaded.row.name, loaded.row.state) == (Path(sys.executable).name, state)
    assert loaded.outcome.status == status


def test_the_run_began_when_the_process_did(sleeper: subprocess.Popen[str]) -> None:
    watch(sleeper)
    view = only_run().row
    now = time.time()
    clock = Path(f"/proc/{sleeper.pid}/stat").read_text().rpartition(")")[2].split()[19]
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    age_s = uptime - int(clock) / os.sysconf("SC_CLK_TCK")
    assert abs(view.started_at - (now - age_s)) < 1.0


def test_when_its_sidecar_is_gone_too_a_later_command_sees_that_it_ended(sleeper: subprocess.Popen[str]) -> None:
    watch(sleeper)
    directory = only_run().row.directory
    wait_until(lambda: sidecars(directory))
    os.kill(sidecars(directory)[0], signal.SIGKILL)
    assert only_run().row.state == "running"
    sleeper.kill()
    sleeper.wait()
    loaded = only_run()
    assert (loaded.row.state, loaded.outcome.status) == ("crashed", None)


def test_the_watched_process_notices_nothing(tmp_path: Path) -> None:
    source = textwrap.dedent(
        """
        import os, sys
        def seen(): return sorted(os.listdir("/proc/self/fd")), os.getsid(0), sorted(os.listdir("/proc/self/task"))
        before = seen()
        sys.stdin.readline()
        print(before == seen(), flush=True)
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        watch(process)
        directory = only_run().row.directory
        wait_until(lambda: rows(directory, writer="sidecar"))
        out, _ = process.communicate("go on\n")
    assert out == "True\n"


def read_console() -> str:
    path = Path(only_run().row.directory) / "output.log"
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("w", "before\nafter\nlast words\n"), ("a", "after\nlast words\n")],
    ids=["a file of its own", "a file that is appended to"],
)
def test_what_it_prints_into_a_file_is_read_along(tmp_path: Path, mode: str, expected: str) -> None:
    source = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)\nprint('last words')"
    log = tmp_path / "train.log"
    with (
        log.open(mode) as output,
        subprocess.Popen(
            [sys.executable, "-c", source], stdin=subprocess.PIPE, stdout=output, stderr=output, text=True
        ) as process,
    ):
        assert process.stdin is not None
        process.stdin.write("before\n")
        process.stdin.flush()
        wait_until(lambda: log.read_text() == "before\n")
        watch(process)
        process.communicate("after\n")
    wait_until(lambda: read_console() == expected)


def test_the_id_stands_alone_on_stdout_and_json_has_more(sleeper: subprocess.Popen[str]) -> None:
    done = holter("watch", str(sleeper.pid), "--json")
    found = json.loads(done.stdout)
    assert (found["pid"], found["name"], found["project"]) == (sleeper.pid, "train.py", "uncategorized")
    again = holter("watch", str(sleeper.pid))
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == f"holter: process {sleeper.pid} is recorded already: `holter show {found['run']}`\n"


def test_where_nothing_can_be_written_the_run_goes_to_a_temporary_directory(
    sleeper: subprocess.Popen[str], tmp_path: Path
) -> None:
    place = {"HOLTER_DIR": "/proc/nowhere", "TMPDIR": str(tmp_path)}
    done = holter("watch", str(sleeper.pid), "--json", **place)
    directory = json.loads(done.stdout)["directory"]
    assert directory.startswith(str(tmp_path))
    assert done.stderr.startswith("holter: can't record in /proc/nowhere/runs/")
    assert f"this run goes to {directory}" in done.stderr
    wait_until(lambda: rows(directory, writer="sidecar"))
    sleeper.kill()
    sleeper.wait()
    wait_until(lambda: not sidecars(directory))


def test_a_program_that_records_itself_is_not_watched_again(tmp_path: Path) -> None:
    source = "import time, holter\nrun = holter.init()\nprint(run.id, flush=True)\ntime.sleep(60)"
    env = {**os.environ, "HOLTER_QUIET": "1"}
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=env) as program:
        assert program.stdout is not None
        run = program.stdout.readline().strip()
        done = holter("watch", str(program.pid))
        program.kill()
    assert (done.returncode, done.stderr) == (
        2,
        f"holter: process {program.pid} is recorded already: `holter show {run}`\n",
    )


@pytest.mark.parametrize(
    ("pid", "message"),
    [
        ("4194305", "holter: process 4194305 is not there: `ps` lists those that run\n"),
        ("train.py", "holter: a process id is a number, got 'train.py': `ps` or `pgrep -f train.py` tells it\n"),
        ("0", "holter: a process id is a number, got '0': `ps` or `pgrep -f train.py` tells it\n"),
    ],
)
def test_what_is_no_process_is_refused(pid: str, message: str) -> None:
    done = holter("watch", pid)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


def test_another_users_process_is_refused() -> None:
    if os.geteuid() != 0:
        pytest.skip("not on this platform: only root can start a process of another user")
    nobody = pwd.getpwnam("nobody")
    with subprocess.Popen(["sleep", "60"], user=nobody.pw_uid, group=nobody.pw_gid) as process:
        done = holter("watch", str(process.pid))
        process.kill()
    assert done.returncode == 2
    assert done.stderr.startswith(f"holter: process {process.pid} belongs to nobody: only they can watch it")


def test_a_process_that_has_ended_is_refused() -> None:
    process = subprocess.Popen(["true"])
    wait_until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    done = holter("watch", str(process.pid))
    process.wait()
    assert done.stderr.startswith(f"holter: process {process.pid} has ended, and only waits for its parent")
