"""The real command against real runs: finished, failed, killed, running, and none at all."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.programs import run, sidecars, wait_until

HOLTER = [sys.executable, "-m", "holter"]

FINISHES = """
    import holter
    with holter.init(project="zoo", name="finishes", config={"lr": 0.1, "worst": float("inf")}) as run:
        for step in range(20):
            run.log({"loss": 1 / (step + 1), "big": 2**64 - 1 - step}, step=step)
        run.log({"loss": float("nan"), "gain": float("-inf"), "text": 'a "null"'}, step=20)
        run.log({"loss": 0.5}, step=3)
        run.alert("look", "at this")
"""
FAILS = """
    import holter
    with holter.init(project="zoo", name="fails ✗") as run:
        run.log({"loss": 1.0})
        raise ValueError("the batch is empty")
"""
KILLED = """
    import os, signal, holter
    run = holter.init(project="zoo", name="killed")
    for step in range(1000):
        run.log({"loss": step})
    os.kill(os.getpid(), signal.SIGKILL)
"""
RUNS = """
    import sys, time, holter
    run = holter.init(project="alive", name="runs")
    for line in sys.stdin:
        run.log({"loss": float(line)})
        print("logged", flush=True)
    time.sleep(60)
"""


def holter(data: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "HOLTER_DIR": str(data), **environment}
    done = subprocess.run([*HOLTER, *arguments], capture_output=True, text=True, check=False, env=env, timeout=60)
    assert "Traceback" not in done.stderr
    return done


def output(data: Path, *arguments: str, **environment: str) -> str:
    """What a command prints that has nothing to complain about."""
    done = holter(data, *arguments, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def decoded(data: Path, *arguments: str) -> Any:  # noqa: ANN401  it is JSON
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(output(data, *arguments, "--json"), parse_constant=refuse)


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Three ended runs, the killed one the newest."""
    data = tmp_path_factory.mktemp("zoo")
    for program in (FINISHES, FAILS, KILLED):
        run(program, HOLTER_DIR=str(data))
    wait_until(lambda: all(each["state"] != "running" for each in decoded(data, "ls")["runs"]))
    yield data
    shutil.rmtree(data)


class Training:
    """A run that logs each number it is given, and knows when `log()` has returned."""

    def __init__(self, data: Path) -> None:
        env = {**os.environ, "HOLTER_DIR": str(data), "HOLTER_QUIET": "1"}
        command = [sys.executable, "-c", textwrap.dedent(RUNS)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def log(self, *losses: float) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        for loss in losses:
            self.process.stdin.write(f"{loss}\n")
            self.process.stdin.flush()
            assert self.process.stdout.readline() == "logged\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def training(tmp_path: Path) -> Iterator[Training]:
    training = Training(tmp_path)
    training.log(1.0)
    yield training
    training.kill()


def test_ls_lists_the_newest_first_with_state_and_last_values(zoo: Path) -> None:
    heading, *lines = output(zoo, "ls").splitlines()
    assert heading.split() == ["STATE", "CAUSE", "NAME", "ID", "PROJECT", "STARTED", "TOOK", "STEPS", "LAST", "VALUES"]
    assert [line.split()[:4] for line in lines] == [
        ["✖", "crashed", "killed", "killed"],
        ["✗", "failed", "uncaught-exception", "fails"],
        ["✓", "finished", "finishes", lines[2].split()[3]],
    ]
    assert "1,000  loss=999" in lines[0]


def test_ls_json_has_the_promised_fields_and_is_json(zoo: Path) -> None:
    runs = {each["name"]: each for each in decoded(zoo, "ls")["runs"]}
    promised = "id name project state cause started_at ended_at duration_s steps summary config host".split()
    assert set(promised) <= set(runs["killed"])
    assert [runs[name]["state"] for name in ("finishes", "fails ✗", "killed")] == ["finished", "failed", "crashed"]
    assert [runs[name]["cause"] for name in ("finishes", "fails ✗", "killed")] == [
        None,
        "uncaught-exception",
        "killed",
    ]
    assert runs["killed"]["summary"] == {"loss": 999}
    assert runs["finishes"]["config"] == {"lr": 0.1, "worst": None}
    assert runs["finishes"]["summary"]["gain"] is None


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--state", "failed"], ["fails ✗"]),
        (["--project", "zoo", "-n", "2"], ["killed", "fails ✗"]),
        (["--project", "nobody's"], []),
        (["-n", "0"], ["killed", "fails ✗", "finishes"]),
    ],
)
def test_ls_can_be_narrowed(zoo: Path, arguments: list[str], names: list[str]) -> None:
    assert [each["name"] for each in decoded(zoo, "ls", *arguments)["runs"]] == names


def test_a_living_run_is_running_in_every_command(tmp_path: Path, training: Training) -> None:
    assert output(tmp_path, "ls").splitlines()[1].startswith("● running  runs")
    assert output(tmp_path, "show").startswith(f"runs  ● running: process {training.process.pid} is alive\n")
    verdict = decoded(tmp_path, "why")
    assert (verdict["state"], verdict["cause"], verdict["not_observable"]) == ("running", None, [])
    assert output(tmp_path, "export").count("\n") == 1


def test_show_tells_all_about_a_run(zoo: Path) -> None:
    shown = output(zoo, "show", "finishes")
    assert shown.startswith("finishes  ✓ finished: the program ended the run\n")
    assert "\nconfig\n  lr     0.1\n  worst  Infinity\n" in shown
    assert "  loss  0.5\n" in shown
    assert "INFO look: at this" in shown
    assert f"  directory  {zoo}/runs/" in shown


def test_show_json_has_what_ls_has_and_more(zoo: Path) -> None:
    listed = {each["name"]: each for each in decoded(zoo, "ls")["runs"]}
    shown = decoded(zoo, "show", "killed")
    assert listed["killed"].items() <= shown.items()
    assert (shown["exit_status"], shown["damage"], shown["lost"]) == (signal.SIGKILL, [], [])
    assert shown["exit_source"] in ("pidfd-info", "zombie-stat")


def test_why_tells_how_a_killed_run_ended_and_how_that_is_known(zoo: Path) -> None:
    verdict = decoded(zoo, "why")
    assert (verdict["state"], verdict["cause"]) == ("crashed", "killed")
    assert any("SIGKILL" in each["text"] for each in verdict["evidence"])
    assert all(1.7e9 < each["at"] < 1e11 for each in verdict["evidence"])
    assert "the last for step 999" in output(zoo, "why")


def test_why_shows_the_end_of_the_traceback(zoo: Path) -> None:
    told = output(zoo, "why", "fails ✗")
    assert "✗ failed after " in told
    assert told.endswith("  ValueError: the batch is empty\n")


def test_tail_shows_the_last_rows(zoo: Path) -> None:
    lines = output(zoo, "tail", "killed", "-n", "2").splitlines()
    assert [line.split("  ", 1)[1] for line in lines] == ["step 998  loss=998", "step 999  loss=999"]


def test_tail_follows_a_run_to_its_end(tmp_path: Path, training: Training) -> None:
    command = [*HOLTER, "tail", "--rows", "-f"]
    env = {**os.environ, "HOLTER_DIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as tail:
        assert tail.stdout is not None
        assert tail.stdout.readline().endswith("step 0  loss=1\n")
        training.log(0.5, 0.25)
        assert [tail.stdout.readline().split("  ", 1)[1] for _ in range(2)] == [
            "step 1  loss=0.5\n",
            "step 2  loss=0.25\n",
        ]
        training.kill()
        rest, _ = tail.communicate(timeout=30)
    assert (tail.returncode, rest.startswith("✖ crashed: "), rest.endswith("(killed)\n")) == (0, True, True)


def test_ctrl_c_ends_tail_well(tmp_path: Path, training: Training) -> None:
    env = {**os.environ, "HOLTER_DIR": str(tmp_path)}
    with subprocess.Popen(
        [*HOLTER, "tail", "--rows", "-f"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as tail:
        assert tail.stdout is not None
        tail.stdout.readline()
        tail.send_signal(signal.SIGINT)
        assert (tail.communicate(timeout=30), tail.returncode) == (("", ""), 0)


def test_export_has_every_row_once_and_exactly(zoo: Path) -> None:
    rows = [json.loads(line) for line in output(zoo, "export", "finishes", "--format", "jsonl").splitlines()]
    assert [row["_step"] for row in rows] == list(range(21))
    assert list(rows[0])[:3] == ["_step", "_timestamp", "_runtime"]
    assert 0 <= rows[0]["_runtime"] < 60
    assert (rows[0]["big"], rows[3]["loss"], rows[4]["loss"]) == (2**64 - 1, 0.5, 0.2)
    assert '"loss":NaN,"gain":-Infinity,"text":"a \\"null\\""' in output(zoo, "export", "finishes")


def test_export_as_csv_has_the_union_of_keys(zoo: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(output(zoo, "export", "finishes", "--format", "csv"))))
    assert list(rows[0]) == ["_step", "_timestamp", "_runtime", "loss", "big", "gain", "text"]
    assert (rows[0]["gain"], rows[0]["big"], rows[20]["loss"], rows[20]["gain"]) == (
        "",
        str(2**64 - 1),
        "NaN",
        "-Infinity",
    )


def test_export_takes_the_newest_run_and_writes_to_a_file(zoo: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    assert output(zoo, "export", "--output", str(file)) == ""
    assert [json.loads(line)["loss"] for line in file.read_text().splitlines()] == list(range(1000))


def test_the_last_attempt_wins_in_an_export(tmp_path: Path) -> None:
    program = """
        import sys, holter
        with holter.init(id="again") as run:
            for step in range(3):
                run.log({{"loss": {0} + step, "only{0}": 1}}, step=step + {0})
    """
    run(program.format(0), HOLTER_DIR=str(tmp_path))
    run(program.format(1), HOLTER_DIR=str(tmp_path))
    rows = [json.loads(line) for line in output(tmp_path, "export", "again").splitlines()]
    assert [(row["_step"], row["loss"]) for row in rows] == [(0, 0), (1, 1), (2, 2), (3, 3)]
    assert ("only0" in rows[1], "only1" in rows[1]) == (True, True)
    assert decoded(tmp_path, "show")["attempt"] == 2


def test_a_reader_who_has_seen_enough_is_no_error(zoo: Path) -> None:
    command = f"{sys.executable} -m holter export killed | head -n 1; echo ${{PIPESTATUS[0]}}"
    env = {**os.environ, "HOLTER_DIR": str(zoo)}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, env=env)
    assert (done.stdout.splitlines()[1], done.stderr) == ("0", "")


@pytest.mark.parametrize("command", ["ls", "show", "why", "tail", "export"])
def test_a_closed_output_is_no_traceback(zoo: Path, command: str) -> None:
    env = {**os.environ, "HOLTER_DIR": str(zoo)}
    script = f"exec {sys.executable} -m holter {command} >&-"
    done = subprocess.run(["sh", "-c", script], stderr=subprocess.PIPE, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", ["ls", "show", "export"])
def test_a_full_disk_behind_the_output_is_said(zoo: Path, command: str) -> None:
    env = {**os.environ, "HOLTER_DIR": str(zoo)}
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*HOLTER, command], stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=env)
    assert (done.returncode, done.stderr) == (1, "holter: No space left on device\n")


def test_an_ascii_terminal_gets_ascii(zoo: Path) -> None:
    ascii_only = {"LC_ALL": "C", "LANG": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert output(zoo, "ls", **ascii_only).splitlines()[2].startswith("x failed    uncaught-exception  fails \\u2717")
    for command in ("show", "why", "tail", "export"):
        assert output(zoo, command, "fails ✗", **ascii_only).isascii()


def test_a_directory_without_runs_says_how_to_get_one(tmp_path: Path) -> None:
    for data in (tmp_path, tmp_path / "missing"):
        assert output(data, "ls").startswith(f"There are no runs in {data} yet.\nA program that calls holter.init()")
        assert decoded(data, "ls") == {"runs": []}
        for command in ("show", "why", "tail", "export"):
            done = holter(data, command)
            assert (done.returncode, done.stdout) == (2, "")
            assert done.stderr.startswith(f"holter: there are no runs in {data} yet")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["sho"], "holter: there is no command 'sho' (did you mean 'show'?); `holter --help` lists them\n"),
        (["ls", "--jsn"], "holter: `holter ls` has no argument '--jsn' (did you mean '--json'?)"),
        (["ls", "--state", "dead"], "holter: argument --state: invalid choice: 'dead'"),
        (["show", "nobody"], "holter: no run 'nobody' in "),
        (["gc"], "holter: 3 runs in "),
        (["why", "one", "two"], "holter: one run at a time: `holter why one`; only --wrong takes several"),
        (["mark", "one", "--cause", "killed"], "holter: a mark needs a reason"),
        (["mark", "one", "--cause", "killed", "--undo"], "holter: write `holter mark RUN [STATE] [--cause CAUSE]"),
        (["gc", "--older-than", "30"], "holter: a time must be a number with s, m, h, d or w"),
        (["gc", "--keep-size", "much"], "holter: a size must be a number of bytes"),
    ],
)
def test_a_wrong_call_ends_with_2_and_one_line(zoo: Path, arguments: list[str], complaint: str) -> None:
    done = holter(zoo, *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(complaint)
    assert done.stderr.count("\n") == 1


def test_a_setting_of_the_commands_that_is_wrong_is_said(zoo: Path) -> None:
    done = holter(zoo, "ls", HOLTER_STALE_AFTER="soon")
    expected = "holter: HOLTER_STALE_AFTER must be a number of seconds, got 'soon'\n"
    assert (done.returncode, done.stderr) == (2, expected)


def test_a_holter_toml_names_the_directory_for_the_commands_too(zoo: Path, tmp_path: Path) -> None:
    (tmp_path / "holter.toml").write_text(f'dir = "{zoo}"')
    env = {name: value for name, value in os.environ.items() if name != "HOLTER_DIR"}
    done = subprocess.run([*HOLTER, "ls"], cwd=tmp_path, capture_output=True, text=True, check=True, env=env)
    assert "killed" in done.stdout


def test_help_and_version_need_no_runs(tmp_path: Path) -> None:
    told = output(tmp_path, "--help")
    assert told == output(tmp_path)
    assert [name for name in ("ls", "show", "tail", "why", "export", "gc") if f"\n  {name} " not in told] == []
    assert output(tmp_path, "--version").startswith("holter 0.")
    assert "--dry-run" in output(tmp_path, "gc", "--help")


def without_privileges(data: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Root may read and write everything; without its capabilities it may not."""
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    env = {**os.environ, "HOLTER_DIR": str(data)}
    return subprocess.run([*drop, *HOLTER, *arguments], capture_output=True, text=True, check=False, env=env)


def test_a_directory_that_may_only_be_read_can_be_looked_at(zoo: Path, tmp_path: Path) -> None:
    data = tmp_path / "theirs"
    shutil.copytree(zoo, data, ignore=shutil.ignore_patterns("cache"))
    for path in [*data.rglob("*"), data]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    for command in ("ls", "show", "why", "tail", "export"):
        done = without_privileges(data, command)
        assert (done.returncode, done.stderr) == (0, ""), command
    refused = without_privileges(data, "gc", "--state", "finished", "--yes")
    assert refused.returncode in (0, 1)
    assert "Traceback" not in refused.stderr
    assert len(json.loads(without_privileges(data, "ls", "--json").stdout)["runs"]) == 3
    for path in [data, *data.rglob("*")]:
        path.chmod(0o700)


def test_a_directory_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir(mode=0)
    done = without_privileges(tmp_path, "ls")
    assert (done.returncode, done.stderr) == (1, f"holter: Permission denied ({tmp_path}/runs)\n")


def test_one_run_that_may_not_be_read_does_not_hide_the_others(zoo: Path, tmp_path: Path) -> None:
    data = tmp_path / "mixed"
    shutil.copytree(zoo, data)
    (data / "runs" / "secret").mkdir(mode=0)
    done = without_privileges(data, "ls")
    assert (done.returncode, done.stderr) == (0, f"holter: {data}/runs/secret can't be read: Permission denied\n")
    assert len(done.stdout.splitlines()) == 4


def test_a_run_whose_process_and_sidecar_were_killed_is_completed_by_the_next_command(
    tmp_path: Path, training: Training
) -> None:
    [directory] = (tmp_path / "runs").iterdir()
    wait_until(lambda: len(list(directory.glob("*.seg"))) == 2)
    for pid in sidecars(str(directory)):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not sidecars(str(directory)))
    training.kill()
    verdict = decoded(tmp_path, "why")
    assert verdict["state"] == "crashed"
    assert verdict["not_observable"][-1]["what"] == "exit status"
    # One says that they are gone, the other what could still be learnt about that.
    assert len(list(directory.glob("*.seg"))) == 4
    assert decoded(tmp_path, "why") == verdict
    assert len(list(directory.glob("*.seg"))) == 4


def copied(zoo: Path, to: Path, *, age_s: float = 3600.0) -> Path:
    """A copy of the runs that nobody has touched for a while."""
    shutil.copytree(zoo, to, dirs_exist_ok=True)
    for path in to.rglob("*"):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age_s))
    return to


def names(data: Path) -> list[str]:
    return [each["name"] for each in decoded(data, "ls")["runs"]]


def test_gc_removes_what_was_asked_for_and_says_what_it_freed(zoo: Path, tmp_path: Path) -> None:
    data = copied(zoo, tmp_path / "copy")
    told = output(data, "gc", "--state", "failed", "--dry-run")
    assert "1 run would be removed" in told
    assert names(data) == ["killed", "fails ✗", "finishes"]
    removed = decoded(data, "gc", "--state", "failed", "--yes")
    assert [each["name"] for each in removed["removed"]] == ["fails ✗"]
    assert removed["freed_bytes"] == removed["removed"][0]["bytes"] > 0
    assert names(data) == ["killed", "finishes"]
    assert "Nothing to remove." in output(data, "gc", "--older-than", "30d", "--yes")
    assert "2 runs removed" in output(data, "gc", "--keep-size", "0", "--yes")
    assert [path.name for path in (data / "runs").iterdir()] == []


def test_gc_removes_nothing_where_nobody_can_be_asked(zoo: Path, tmp_path: Path) -> None:
    data = copied(zoo, tmp_path / "copy")
    for arguments in (["--state", "finished"], ["--state", "finished", "--json"]):
        done = holter(data, "gc", *arguments)
        assert (done.returncode, done.stderr.startswith("holter: there is no terminal to ask on: add --yes")) == (
            2,
            True,
        )
    assert len(names(data)) == 3


def on_a_terminal(data: Path, *arguments: str, typed: str = "") -> tuple[int, str]:
    """Run a command in a terminal of 80 columns; returns its exit code and what the terminal showed."""
    ours, theirs = os.openpty()
    env = {**os.environ, "HOLTER_DIR": str(data), "TERM": "xterm", "COLUMNS": "80", "NO_COLOR": ""}
    with subprocess.Popen([*HOLTER, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=env) as command:
        os.close(theirs)
        os.write(ours, typed.encode())
        shown = b""
        try:
            while data_read := os.read(ours, 65536):
                shown += data_read
        except OSError:  # the other end was closed
            pass
    os.close(ours)
    return command.returncode, shown.decode()


def test_gc_asks_on_a_terminal(zoo: Path, tmp_path: Path) -> None:
    data = copied(zoo, tmp_path / "copy")
    code, shown = on_a_terminal(data, "gc", "--state", "finished", typed="n\n")
    assert (code, "Remove 1 run for good? [y/N]" in shown, "Nothing was removed." in shown) == (1, True, True)
    assert len(names(data)) == 3
    code, shown = on_a_terminal(data, "gc", "--state", "finished", typed="y\n")
    assert (code, "1 run removed" in shown) == (0, True)
    assert names(data) == ["killed", "fails ✗"]


def test_a_terminal_gets_colours_and_lines_that_fit(zoo: Path) -> None:
    code, shown = on_a_terminal(zoo, "ls")
    assert code == 0
    assert "\x1b[32m✓ finished\x1b[0m" in shown
    assert max(len(re.sub(r"\x1b\[\d+m", "", line)) for line in shown.splitlines()) <= 80


def test_gc_never_takes_a_running_run_nor_one_that_just_ended(zoo: Path, tmp_path: Path, training: Training) -> None:
    # Copied as of now: those of the zoo ended a while ago.
    shutil.copytree(zoo / "runs", tmp_path / "runs", dirs_exist_ok=True, copy_function=shutil.copyfile)
    told = output(tmp_path, "gc", "--keep-size", "0", "--yes")
    assert "runs (" in told
    assert "stays: it is running" in told
    assert "stays: it changed less than a minute ago" in told
    assert len(names(tmp_path)) == 4
    training.log(0.5)
    assert output(tmp_path, "export", "runs").count("\n") == 2


def test_listing_runs_does_not_load_numpy(zoo: Path) -> None:
    code = "import sys; from holter.cli.main import main; main(['ls']); print('numpy' in sys.modules, file=sys.stderr)"
    env = {**os.environ, "HOLTER_DIR": str(zoo)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert done.stderr == "False\n"
