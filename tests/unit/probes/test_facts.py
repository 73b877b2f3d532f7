"""What is recorded once about host and program."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from holter.probes import nvml
from holter.probes.facts import (
    cgroup_memory_limit,
    collect_facts,
    command_line,
    container_hint,
    installed_packages,
    operating_system,
    parse_limits,
)
from holter.probes.git import GitState, read_git_state, without_credentials
from tests.unit.probes.recordings import write_files

LIMITS = b"""Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max processes             96349                96349                processes 
Max open files            1024                 unlimited            files     
Max nice priority         0                    0                    
"""  # noqa: W291  as the kernel prints it


def git(directory: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    command = ["git", *identity, "-C", str(directory), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def work_tree(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--initial-branch=trunk")
    (tmp_path / "train.py").write_text("print(1)\n")
    git(tmp_path, "add", "train.py")
    git(tmp_path, "commit", "-m", "first")
    git(tmp_path, "remote", "add", "origin", "https://me:s3cret@example.org/team/project.git")
    return tmp_path


def test_a_clean_work_tree_is_described_without_its_password(work_tree: Path) -> None:
    assert read_git_state(str(work_tree)) == GitState(
        commit=git(work_tree, "rev-parse", "HEAD"),
        branch="trunk",
        remote="https://example.org/team/project.git",
        is_dirty=False,
    )


def test_a_changed_file_makes_it_dirty_and_a_new_one_does_not(work_tree: Path) -> None:
    (work_tree / "notes.txt").write_text("new\n")
    before = read_git_state(str(work_tree))
    (work_tree / "train.py").write_text("print(2)\n")
    after = read_git_state(str(work_tree))
    assert before is not None
    assert after is not None
    assert (before.is_dirty, after.is_dirty) == (False, True)


def test_without_a_branch_there_is_still_a_commit(work_tree: Path) -> None:
    git(work_tree, "checkout", "--detach")
    state = read_git_state(str(work_tree))
    assert state is not None
    assert state.branch is None


def test_no_work_tree_and_no_git_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_git_state(str(tmp_path)) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_git_state(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://token@github.com/a/b.git", "https://github.com/a/b.git"),
        ("https://user:p@ss@github.com/a/b", "https://github.com/a/b"),
        ("https://github.com/a@b/c?token=1#x", "https://github.com/a@b/c"),
        ("ssh://git@host:22/a", "ssh://host:22/a"),
        ("git@github.com:a/b.git", "git@github.com:a/b.git"),
        ("/srv/git/project", "/srv/git/project"),
    ],
)
def test_an_address_loses_its_credentials(url: str, expected: str) -> None:
    assert without_credentials(url) == expected


def test_limits_are_read_by_name() -> None:
    assert parse_limits(LIMITS) == {
        "cpu_time": (None, None),
        "processes": (96349, 96349),
        "open_files": (1024, None),
        "nice_priority": (0, 0),
    }


def test_a_secret_on_the_command_line_is_not_recorded() -> None:
    text = b"python\0train.py\0--lr=0.1\0--api-key=abc\0--hub_token\0def\0--tokenizer\0gpt2\0db.password=x\0--token\0"
    assert command_line(text) == [
        "python",
        "train.py",
        "--lr=0.1",
        "--api-key=…",
        "--hub_token",
        "…",
        "--tokenizer",
        "gpt2",
        "db.password=…",
        "--token",
    ]
    assert command_line(b"") == []


def test_the_lowest_limit_of_all_ancestors_holds(tmp_path: Path) -> None:
    write_files(tmp_path / "cgroup", {"pod/own/memory.max": "max\n", "pod/memory.max": "268435456\n"})
    mount = f"31 23 0:28 / {tmp_path}/cgroup rw - cgroup2 cgroup2 rw\n"
    proc = write_files(tmp_path / "proc", {"self/mountinfo": mount, "10/cgroup": "0::/pod/own\n"})
    assert cgroup_memory_limit(10, proc) == 268435456


def test_a_container_tells_its_kind() -> None:
    assert container_hint({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) == "kubernetes"
    assert container_hint({"APPTAINER_CONTAINER": "/a.sif"}) == "apptainer"


def test_the_distribution_has_a_name(tmp_path: Path) -> None:
    release = tmp_path / "os-release"
    release.write_text('ID=debian\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n')
    assert operating_system(str(release)) == "Debian GNU/Linux 12 (bookworm)"
    assert operating_system(str(tmp_path / "none")) in ("Linux", "Darwin", "Windows")


@pytest.mark.skipif(sys.platform != "linux", reason="not on this platform: it has no /proc")
def test_the_facts_of_this_process_can_be_stored() -> None:
    facts = collect_facts(os.getpid())
    assert facts["cwd"] == os.getcwd()
    assert facts["python"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["cpu_count"] == os.cpu_count()
    assert facts["memory_total_bytes"] > 1 << 28
    assert msgspec.msgpack.encode(facts)


def test_of_a_process_that_is_gone_the_host_is_still_known(tmp_path: Path) -> None:
    facts = collect_facts(2**22 + 1, str(tmp_path))
    assert facts["hostname"]
    assert (facts["cwd"], facts["git"], facts["command"], facts["limits"]) == (None, None, [], {})


def test_the_packages_of_this_interpreter_are_listed() -> None:
    packages = installed_packages(sys.executable)
    assert f"msgspec=={msgspec.__version__}" in packages
    assert packages == sorted(packages)


def test_of_another_interpreter_nothing_is_claimed(tmp_path: Path) -> None:
    assert installed_packages(str(tmp_path / "python3")) == []


def test_without_a_driver_nothing_is_imported_for_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "DRIVER_FILES", ())
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert nvml.open_nvml() is None
    assert nvml.describe_gpus() is None


def test_a_driver_that_does_not_answer_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "DRIVER_FILES", (str(tmp_path),))
    # On a machine without a driver the real binding fails to load its library; with one this is a real answer.
    gpus = nvml.describe_gpus()
    assert gpus is None or gpus["driver"]
