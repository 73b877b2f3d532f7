"""The files of a run's directory: what lies there, since when, and after which death."""

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from holter.model.records import Noted, Saved
from tests.e2e.programs import data_directory, only_run, run, said, sidecars, start, wait_until

HOLTER = [sys.executable, "-m", "holter"]


def only_directory() -> Path:
    [directory] = (data_directory() / "runs").iterdir()
    return directory


def settled_files() -> dict[str, Path]:
    """The files of the one run, once its sidecar has left."""
    directory = only_directory()
    wait_until(lambda: not sidecars(str(directory)))
    return {str(path.relative_to(directory)): path for path in directory.rglob("*") if path.is_file()}


def read_json(path: Path) -> Any:  # noqa: ANN401  it is JSON
    return json.loads(path.read_text())


def run_script(work: Path, source: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program from a file, as people do."""
    (work / "train.py").write_text(textwrap.dedent(source))
    env = {**os.environ, "HOLTER_QUIET": "1", **environment}
    command = [sys.executable, "train.py", *arguments]
    return subprocess.run(command, cwd=work, env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def test_a_run_has_its_files_and_only_their_owner_may_read_them(work: Path) -> None:
    done = run_script(
        work,
        """
        import holter
        with holter.init(project="mnist", name="baseline", config={"lr": 1e-5, "model": {"width": 64}}) as run:
            for step in range(5): run.log({"loss": 1 / (step + 1)})
            run.summary["best"] = float("inf")
        """,
    )
    assert done.returncode == 0, done.stderr
    files = settled_files()
    title, *config = files["config.yaml"].read_text().splitlines()
    assert title.startswith("# Written from the journal")
    assert config == ["lr: 1.0e-05", "model:", "  width: 64"]
    assert yaml.safe_load(files["config.yaml"].read_text()) == {"lr": 1e-5, "model": {"width": 64}}
    assert read_json(files["summary.json"]) == {"loss": 0.2, "best": float("inf")}
    assert "msgspec==" in files["requirements.txt"].read_text()
    metadata = read_json(files["metadata.json"])
    assert (metadata["project"], metadata["name"], metadata["cwd"]) == ("mnist", "baseline", str(work))
    assert metadata["command"][1:] == ["train.py"]
    assert metadata["script"]["path"] == str(work / "train.py")
    assert files["script.py"].read_text() == (work / "train.py").read_text()
    assert "recording mnist/baseline" in files["debug.log"].read_text()
    assert "diff.patch" not in files
    assert {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o600}


def test_a_killed_run_has_its_files_too(work: Path) -> None:
    done = run_script(
        work,
        """
        import os, holter
        run = holter.init(config={"lr": 0.1})
        run.log({"loss": 0.5})
        os.kill(os.getpid(), 9)
        """,
    )
    assert done.returncode == -signal.SIGKILL
    files = settled_files()
    assert yaml.safe_load(files["config.yaml"].read_text()) == {"lr": 0.1}
    assert read_json(files["summary.json"]) == {"loss": 0.5}
    assert read_json(files["metadata.json"])["git"] is None
    assert "os.kill" in files["script.py"].read_text()


def test_the_files_are_there_while_the_run_goes_on() -> None:
    with start(
        "import time, holter\nrun = holter.init(config={'lr': 0.1})\nrun.log({'loss': 0.5})\ntime.sleep(30)"
    ) as program:
        names = ("config.yaml", "summary.json", "metadata.json", "requirements.txt", "script.py")
        wait_until(lambda: list(data_directory().glob("runs/*")))
        directory = only_directory()
        wait_until(lambda: all((directory / name).exists() for name in names))
        assert read_json(directory / "summary.json") == {"loss": 0.5}
        program.kill()


def test_a_later_command_writes_what_a_dead_sidecar_could_not() -> None:
    with start(
        "import time, holter\nrun = holter.init()\nprint(run.dir, flush=True)\ntime.sleep(0.8)\n"
        "run.log({'loss': 0.25})\nrun.config['lr'] = 0.1\nprint('logged', flush=True)\ntime.sleep(30)"
    ) as program:
        assert program.stdout is not None
        directory = Path(program.stdout.readline().strip())
        wait_until(lambda: sidecars(str(directory)))
        os.kill(sidecars(str(directory))[0], signal.SIGKILL)
        program.stdout.readline()
        program.kill()
    assert only_run().row.state == "crashed"
    assert read_json(directory / "summary.json") == {"loss": 0.25}
    assert yaml.safe_load((directory / "config.yaml").read_text()) == {"lr": 0.1}


def git(directory: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, "-C", str(directory), *arguments], check=True, capture_output=True)


def test_the_uncommitted_changes_are_kept_and_untracked_files_by_name_only(work: Path) -> None:
    git(work, "init", "--initial-branch=trunk")
    (work / "model.py").write_text("width = 64\n")
    git(work, "add", ".")
    git(work, "commit", "-m", "first")
    git(work, "remote", "add", "origin", "https://me:s3cret@example.org/team/project.git")
    (work / "model.py").write_text("width = 128\n")
    (work / "notes.txt").write_text("untracked words\n")
    run_script(work, "import holter\nholter.init().log({'a': 1})")
    files = settled_files()
    patch = files["diff.patch"].read_text()
    assert "-width = 64\n+width = 128\n" in patch
    assert "# not in git, its content is not kept: notes.txt" in patch
    assert "untracked words" not in patch
    state = read_json(files["metadata.json"])["git"]
    assert (state["branch"], state["remote"]) == ("trunk", "https://example.org/team/project.git")
    assert (state["is_dirty"], state["untracked"]) == (True, ["notes.txt", "train.py"])
    git(work, "checkout", "model.py")
    git(work, "apply", str(files["diff.patch"]))
    assert (work / "model.py").read_text() == "width = 128\n"


def test_no_secret_of_the_command_line_or_the_environment_is_kept(work: Path) -> None:
    done = run_script(
        work,
        "import holter\nholter.init().log({'a': 1})",
        *("--api-key=s3cret-1", "--hub-token", "s3cret-2", "--lr=0.1", "--url=https://ada:s3cret-3@host/x"),
        HF_TOKEN="s3cret-4",
        HOLTER_API_KEY="s3cret-5",
        MY_PASSWORD="s3cret-6",
        TORCH_MIRROR="https://ada:s3cret-7@host/x",
        OMP_NUM_THREADS="2",
        SLURM_JOB_ID="77",
        SLURM_JOB_NAME="bash",
    )
    assert done.returncode == 0, done.stderr
    files = settled_files()
    metadata = read_json(files["metadata.json"])
    assert metadata["command"][2:] == ["--api-key=…", "--hub-token", "…", "--lr=0.1", "--url=https://…@host/x"]
    assert metadata["environment"]["OMP_NUM_THREADS"] == "2"
    assert metadata["environment"]["TORCH_MIRROR"] == "https://…@host/x"
    assert metadata["schedulers"]["slurm"] == {"job_id": "77", "job_name": "bash"}
    assert [name for name, path in files.items() if b"s3cret" in path.read_bytes()] == []


def test_no_secret_of_the_source_or_its_changes_is_kept(work: Path) -> None:
    git(work, "init", "--initial-branch=trunk")
    (work / ".env").write_text("LR=0.1\n")
    git(work, "add", ".env")
    git(work, "commit", "--message=first")
    (work / ".env").write_text("LR=0.2\nPASSWORD=s3cret-1\n")
    run_script(work, "import holter\npassword = 's3cret-2'\nlimit = password\nholter.init().log({'a': 1})")
    files = settled_files()
    assert "+LR=0.2\n+PASSWORD=********\n" in files["diff.patch"].read_text()
    assert "password = '********'\nlimit = password\n" in files["script.py"].read_text()


def test_warnings_of_holter_itself_are_in_the_debug_log_also_when_nothing_is_printed() -> None:
    done = run("import holter\nrun = holter.init()\nrun.log({'x': object})\n", HOLTER_SILENT="1")
    assert done.stderr == ""
    text = (only_directory() / "debug.log").read_text()
    assert "WARN 'x' is a type, which has no place in a row: its repr is kept" in text


SAVES = """
    import os, time, holter
    run = holter.init()
    def write(name, text):
        with open(name, "w") as file: file.write(text)
    write("now.txt", "first"); write("live.txt", "first"); write("end.txt", "first")
    os.makedirs("sub", exist_ok=True)
    write("sub/deep.txt", "deep")
    with open("large.bin", "wb") as file: file.write(b"x" * 3_000_000)
    print(*run.save("now.txt", policy="now"))
    holter.save("sub/*", policy="now")
    run.save("live.txt")
    run.save("end.txt", policy="end")
    run.save("large.bin", policy="now")
"""


def test_files_are_saved_now_live_and_at_the_end(work: Path) -> None:
    done = run_script(
        work,
        SAVES + '\n    write("now.txt", "second"); write("live.txt", "second"); write("end.txt", "second")\n'
        "    while not os.path.exists(run.dir + '/files/large.bin'): time.sleep(0.02)\n    os.remove('large.bin')\n",
    )
    assert (done.returncode, done.stderr) == (0, "")
    files = {name: path for name, path in settled_files().items() if name.startswith("files/")}
    assert done.stdout.strip() == str(files["files/now.txt"])
    texts = {name: path.read_text() for name, path in files.items() if name != "files/large.bin"}
    assert texts == {
        "files/now.txt": "first",
        "files/sub/deep.txt": "deep",
        "files/live.txt": "second",
        "files/end.txt": "second",
    }
    assert files["files/large.bin"].stat().st_size == 3_000_000
    directory = only_run().row.directory
    asked = [(each.pattern, each.policy) for each in said(directory, Saved) if isinstance(each, Saved)]
    assert asked == [
        ("now.txt", "now"),
        ("sub/*", "now"),
        ("live.txt", "live"),
        ("end.txt", "end"),
        ("large.bin", "now"),
    ]


def test_a_killed_run_has_its_live_and_end_files_as_they_were_at_its_death(work: Path) -> None:
    run_script(work, SAVES + '\n    write("live.txt", "last"); write("end.txt", "last"); os.kill(os.getpid(), 9)\n')
    files = settled_files()
    assert (files["files/live.txt"].read_text(), files["files/end.txt"].read_text()) == ("last", "last")
    assert files["files/now.txt"].read_text() == "first"
    assert files["files/large.bin"].stat().st_size == 3_000_000


def start_script(work: Path, source: str) -> subprocess.Popen[str]:
    """Start a program that is told by lines when to go on."""
    (work / "train.py").write_text(textwrap.dedent(source))
    env = {**os.environ, "HOLTER_QUIET": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "train.py"], cwd=work, env=env, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def test_a_live_file_is_copied_again_while_the_run_goes_on(work: Path) -> None:
    (work / "log.txt").write_text("first\n")
    with start_script(
        work,
        "import sys, holter\nrun = holter.init()\nrun.save('log.txt')\nprint(run.dir, flush=True)\n"
        "sys.stdin.readline()",
    ) as program:
        assert program.stdout is not None
        copy = Path(program.stdout.readline().strip()) / "files" / "log.txt"
        assert copy.read_text() == "first\n"
        wait_until(lambda: sidecars(str(copy.parents[1])))
        (work / "log.txt").write_text("changed by somebody else\n")
        wait_until(lambda: copy.read_text() == "changed by somebody else\n")
        program.kill()


def test_what_cannot_be_saved_is_said_once_and_ends_nothing(work: Path) -> None:
    done = run_script(
        work,
        """
        import holter
        run = holter.init()
        for _ in range(3):
            assert run.save("../outside.txt") == []
            assert run.save("nothing-*.txt", policy="now") == []
        run.save(3); run.save("x", policy="sometimes"); run.save("sub")
        run.finish()
        assert run.save("train.py") == []
        """,
        HOLTER_STRICT="",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("would leave the run's directory") == 1
    assert done.stderr.count("save('nothing-*.txt') matches no file in") == 1
    assert done.stderr.count("save() after finish()") == 1
    assert not [name for name in settled_files() if name.startswith("files/")]


def test_without_a_sidecar_small_files_are_saved_and_large_ones_are_said_not_to_be(work: Path) -> None:
    (work / "small.txt").write_text("small")
    (work / "large.bin").write_bytes(bytes(3_000_000))
    with start_script(
        work,
        "import sys, holter\nrun = holter.init()\nprint(run.dir, flush=True)\nsys.stdin.readline()\n"
        "for _ in range(2): run.save('small.txt'); run.save('large.bin')\n",
    ) as program:
        assert program.stdout is not None
        directory = Path(program.stdout.readline().strip())
        wait_until((directory / "metadata.json").exists)
        os.kill(sidecars(str(directory))[0], signal.SIGKILL)
        wait_until(lambda: not sidecars(str(directory)))
        _, err = program.communicate("go on\n", timeout=60)
    assert program.returncode == 0, err
    assert (directory / "files" / "small.txt").read_text() == "small"
    # A file system that can share blocks needs no sidecar for it.
    is_shared = (directory / "files" / "large.bin").exists()
    assert err.count("there is no sidecar to copy files of more than 1 MiB") == (0 if is_shared else 1)


def test_a_disabled_run_saves_nothing(work: Path) -> None:
    done = run_script(work, "import holter\nrun = holter.init(mode='disabled')\nassert run.save('train.py') == []")
    assert (done.returncode, done.stderr) == (0, "")
    assert not data_directory().exists()


def test_the_disk_limit_holds_for_saved_files_and_rows_go_on(work: Path) -> None:
    (work / "large.bin").write_bytes(bytes(3_000_000))
    done = run_script(
        work,
        """
        import time, holter
        run = holter.init(settings={"disk_limit": "2MB"})
        run.save("large.bin")
        time.sleep(1)
        for i in range(100): run.log({"i": i})
        """,
    )
    assert "the run's limit of 2,000,000 bytes leaves no room" in done.stderr
    assert "files/large.bin" not in settled_files()
    loaded = only_run()
    assert loaded.row.rows == 100
    assert any("leaves no room" in note.text for note in loaded.said(Noted))


def show(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*HOLTER, "show", *arguments], capture_output=True, check=False, timeout=60)


def test_the_command_lists_the_files_and_prints_one_of_them(work: Path) -> None:
    run_script(
        work,
        "import holter\nopen('x.bin', 'wb').write(b'\\0\\xff\\n')\n"
        "with holter.init(name='shown') as run: run.log({'a': 1}); run.save('x.bin', policy='now')",
    )
    settled_files()
    lines = show("shown", "--files").stdout.decode().splitlines()
    assert lines[0].split() == ["SIZE", "CHANGED", "NAME"]
    assert any(line.split()[:2] == ["3", "B"] and line.endswith("files/x.bin") for line in lines)
    listed = json.loads(show("shown", "--files", "--json").stdout)["files"]
    assert {"config.yaml", "summary.json", "metadata.json", "files/x.bin"} <= {each["name"] for each in listed}
    assert show("shown", "--file", "x.bin").stdout == b"\0\xff\n"
    assert json.loads(show("shown", "--file", "summary.json").stdout) == {"a": 1}
    refused = show("shown", "--file", "../../resume")
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert refused.stderr.startswith(b"holter: '../../resume' does not name a file of the run")
