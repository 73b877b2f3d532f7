"""Secrets stay in the process: none of any kind reaches a server, wherever the program puts it."""

import json
import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from benchmarks.received import has_all
from holter.journal.rundir import run_directory
from tests.e2e.programs import data_directory, only_run, run, sidecars, wait_until
from tests.e2e.servers import Served, holter, team_server
from tests.secret_samples import BY_KIND, SAMPLES, leaks

TRAINING = """
import json, os, sys, threading
import holter

texts = json.loads(open(os.environ["TEXTS"]).read())
run = holter.init(
    project="far", name=texts[0], notes="\\n".join(texts)[:4000], tags=texts[1:20], group=texts[2], job_type=texts[3],
    config={"texts": texts, "nested": {str(at): text for at, text in enumerate(texts)}, "api_key": "abc"},
)
assert run.config["api_key"] == "abc"  # the program still has what it set
for at, text in enumerate(texts):
    run.log({"loss": 0.5, "note": text, "list": [text]})
    run.log({text[:500]: 0.5})
    run.alert(f"alert {at}: {text}"[:500], text)
    print(text)
    print("log:", text, file=sys.stderr)
    run.summary[f"at {at}"] = text
sys.stdout.write(texts[5][:20])
sys.stdout.flush()
print(texts[5][20:], flush=True)
run.tags = texts[20:40]


def fail_in_thread():
    raise ValueError(texts[7])


thread = threading.Thread(target=fail_in_thread)
thread.start()
thread.join()
try:
    raise OSError("\\n".join(texts[:30])[:900])
except OSError as error:
    raise RuntimeError("\\n".join(texts[::-1])) from error
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """With a password in the address that it was cloned from, and secrets in what is not committed yet."""
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "settings.ini").write_text("nothing\n")
    for command in (
        "init -q",
        "add .",
        "-c user.name=ada -c user.email=ada@example.org commit -qm first",
        f"remote add origin {BY_KIND['address with a token'].text.split('+')[1]}",
    ):
        subprocess.run(["git", *command.split()], cwd=folder, check=True, capture_output=True)
    (folder / "settings.ini").write_text("".join(f"{sample.text}\n" for sample in SAMPLES))
    return folder


def _train(server: Served, repository: Path) -> str:
    texts = repository.parent / "texts.json"
    texts.write_text(json.dumps([sample.text for sample in SAMPLES]))
    script = repository.parent / "train.py"
    script.write_text(textwrap.dedent(TRAINING))
    sending = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key, "TEXTS": str(texts)}
    variables = {f"HF_TEXT_{at}": sample.text for at, sample in enumerate(SAMPLES)}
    command = [sys.executable, str(script), *(sample.text for sample in SAMPLES), "--password", "hunter2hunter2"]
    done = subprocess.run(
        command,
        cwd=repository,
        env={**os.environ, **sending, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1, done.stderr
    assert "holter: masked" in done.stderr
    return only_run().row.id


def test_no_secret_of_any_kind_reaches_the_server_from_any_place(tmp_path: Path, repository: Path) -> None:
    far = tmp_path / "far"
    with team_server(far) as server:
        run_id = _train(server, repository)
        local = run_directory(str(data_directory()), run_id)
        wait_until(lambda: has_all(far, local, run_id), within_s=60)
        wait_until(lambda: "diff.patch" in server.http.get(f"/runs/{run_id}/files").text, within_s=60)
        wait_until(lambda: server.state(run_id) == "failed", within_s=60)
        answers = [server.http.get(path).text for path in (f"/runs/{run_id}", f"/runs/{run_id}/console")]
        patch = server.http.get(f"/runs/{run_id}/files/diff.patch").text
    assert "settings.ini" in patch
    kept = {str(path): path.read_bytes() for path in far.rglob("*") if path.is_file()}
    shown = {path: data.decode("utf-8", "replace") for path, data in kept.items()}
    shown |= {f"answer {number}": text for number, text in enumerate(answers)}
    assert any("RuntimeError" in text for text in shown.values())
    assert [(path, each.kind) for path, text in shown.items() for each in SAMPLES if leaks(each, text)] == []
    assert [path for path, text in shown.items() if "hunter2hunter2" in text] == []
    assert sum(only_run().row.masked.values()) > len(SAMPLES)
    assert json.loads(answers[0])["masked"]["api_key in config"] == 1


def test_what_was_masked_is_counted_and_told_once(tmp_path: Path) -> None:
    program = """
    import holter
    run = holter.init(config={"api_key": "abc", "password": "x", "max_tokens": 4096, "lr": 0.1})
    run.config["lr"] = 0.2
    run.log({"loss": 1.0})
    print("password=hunter2")
    """
    done = run(program, HOLTER_QUIET="")
    assert done.stderr.count("masked") == 1, done.stderr
    assert "holter: masked 2 secrets (api_key in config, password in config)" in done.stderr
    wait_until(lambda: "password in console" in only_run().row.masked, within_s=60)
    shown = holter("show", only_run().row.id).stdout
    assert "1 × api_key in config, 1 × password in config" in shown
    assert "1 × password in console" in shown


def test_a_name_is_left_alone_that_the_user_says_is_none_of_a_secret() -> None:
    run('import holter; holter.init(config={"api_key": "public"})', HOLTER_NOT_SECRET="api_key")
    assert only_run().row.config == {"api_key": "public"}
    assert only_run().row.masked == {}


SHORT = """
import holter
run = holter.init(project="here")
run.log({"loss": 1.0})
"""


@pytest.mark.parametrize("launcher", [[], ["-m", "holter", "run", "--", sys.executable]], ids=["init", "run"])
def test_our_key_does_not_go_to_the_server_of_a_cloned_repository(tmp_path: Path, launcher: list[str]) -> None:
    (tmp_path / "train.py").write_text(SHORT)
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        url = f"http://127.0.0.1:{theirs.getsockname()[1]}"
        (tmp_path / "holter.toml").write_text(f'url = "{url}"\n')
        environment = {**os.environ, "HOLTER_API_KEY": "ours", "HOLTER_QUIET": ""}
        command = [sys.executable, *launcher, "train.py"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        assert f"HOLTER_API_KEY is not sent to {url}, which only holter.toml of this directory names" in done.stderr
        assert "sent to http" not in done.stderr.replace("is not sent to", "")
        assert only_run().row.rows == 1
        wait_until(lambda: not sidecars(str(data_directory())))
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.accept()


def test_a_login_does_not_send_a_key_to_the_server_of_a_cloned_repository(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as theirs:
        url = f"http://127.0.0.1:{theirs.getsockname()[1]}"
        (tmp_path / "holter.toml").write_text(f'url = "{url}"\n')
        environment = {**os.environ, "HOLTER_API_KEY": "ours"}
        command = [sys.executable, "-m", "holter", "login"]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 2, done.stderr
        assert f"`holter login {url}`" in done.stderr
        theirs.setblocking(False)
        with pytest.raises(BlockingIOError):
            theirs.accept()


def test_the_start_line_names_the_server_and_who_named_it() -> None:
    done = run(SHORT, HOLTER_URL="http://127.0.0.1:9", HOLTER_API_KEY="k", HOLTER_QUIET="")
    assert ", sent to http://127.0.0.1:9 (HOLTER_URL); `holter show" in done.stderr
