"""What is recorded once about host and program."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from holter.probes import nvml
from holter.probes.facts import Hints, collect_facts, command_line, container_hint, operating_system
from holter.probes.git import GitDiff, GitState, read_git, without_credentials
from holter.probes.limits import cgroup_cpu_limit, cgroup_memory_limit, cgroup_process_limit, parse_limits
from holter.probes.packages import installed_packages, packages_beside
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


def state_of(directory: Path) -> GitState:
    found = read_git(str(directory))
    assert found is not None
    return found[0]


def diff_of(directory: Path) -> GitDiff:
    found = read_git(str(directory))
    assert found is not None
    assert found[1] is not None
    return found[1]


def test_a_clean_work_tree_is_described_without_its_password(work_tree: Path) -> None:
    assert state_of(work_tree) == GitState(
        commit=git(work_tree, "rev-parse", "HEAD"),
        branch="trunk",
        remote="https://example.org/team/project.git",
        is_dirty=False,
    )


def test_a_changed_file_makes_it_dirty_and_a_new_one_does_not(work_tree: Path) -> None:
    (work_tree / "notes.txt").write_text("new\n")
    before = state_of(work_tree)
    (work_tree / "train.py").write_text("print(2)\n")
    after = state_of(work_tree)
    assert (before.is_dirty, after.is_dirty) == (False, True)


def test_the_diff_has_the_changes_of_the_whole_work_tree_and_only_the_names_of_new_files(work_tree: Path) -> None:
    (work_tree / "data").mkdir()
    (work_tree / "data" / "new file.txt").write_text("never shown\n")
    (work_tree / "ignored.log").write_text("never shown\n")
    (work_tree / ".gitignore").write_text("*.log\n")
    (work_tree / "train.py").write_text("print(2)\n")
    diff = diff_of(work_tree / "data")
    assert diff.untracked == (".gitignore", "data/new file.txt")
    assert diff.patch.decode().splitlines()[-2:] == ["-print(1)", "+print(2)"]
    assert b"never shown" not in diff.text


def test_git_applies_the_diff(work_tree: Path) -> None:
    (work_tree / "notes.txt").write_text("new\n")
    (work_tree / "train.py").write_text("print(2)\n")
    diff = diff_of(work_tree)
    git(work_tree, "checkout", "train.py")
    (work_tree.parent / "diff.patch").write_bytes(diff.text)
    git(work_tree, "apply", str(work_tree.parent / "diff.patch"))
    assert (work_tree / "train.py").read_text() == "print(2)\n"


def test_a_diff_of_many_megabytes_is_cut(work_tree: Path) -> None:
    (work_tree / "train.py").write_text("x = 1\n" * 500_000)
    diff = diff_of(work_tree)
    assert (len(diff.patch), diff.is_cut) == (1 << 20, True)


def test_a_diff_starts_no_program_of_the_work_tree(work_tree: Path) -> None:
    (work_tree / "train.py").write_text("print(2)\n")
    mark = work_tree / "started"
    (work_tree / ".gitattributes").write_text("*.py diff=evil\n")
    git(work_tree, "config", "diff.evil.textconv", f"touch {mark}; cat")
    git(work_tree, "config", "diff.evil.command", f"touch {mark}")
    git(work_tree, "config", "diff.external", f"touch {mark}")
    diff = diff_of(work_tree)
    assert b"+print(2)" in diff.patch
    assert not mark.exists()


def test_without_a_branch_there_is_still_a_commit(work_tree: Path) -> None:
    git(work_tree, "checkout", "--detach")
    assert state_of(work_tree).commit == git(work_tree, "rev-parse", "HEAD")
    assert state_of(work_tree).branch is None


def test_no_work_tree_and_no_git_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_git(str(tmp_path)) is None
    (tmp_path / ".git").mkdir()
    assert read_git(str(tmp_path)) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_git(str(tmp_path)) is None


def test_a_work_tree_without_a_commit_is_none(tmp_path: Path) -> None:
    git(tmp_path, "init")
    assert read_git(str(tmp_path)) is None


def test_a_submodule_at_another_commit_is_in_the_diff_but_makes_nothing_dirty(work_tree: Path, tmp_path: Path) -> None:
    inner = work_tree / "inner"
    inner.mkdir()
    git(inner, "init")
    git(inner, "commit", "--allow-empty", "-m", "one")
    git(work_tree, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    git(work_tree, "commit", "-m", "with a submodule")
    git(inner, "commit", "--allow-empty", "-m", "two")
    assert state_of(work_tree).is_dirty is False
    assert b"+Subproject commit" in diff_of(work_tree).patch


def test_a_git_that_knows_no_second_porcelain_still_tells_the_commit_and_the_diff(
    work_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work_tree / "train.py").write_text("print(2)\n")
    expected = state_of(work_tree)
    real, old = shutil.which("git"), tmp_path / "old"
    old.mkdir()
    script = f'#!/bin/sh\ncase "$*" in *porcelain=v2*) exit 129;; esac\nexec {real} "$@"\n'
    (old / "git").write_text(script)
    (old / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{old}:{os.environ['PATH']}")
    assert state_of(work_tree) == expected
    assert b"+print(2)" in diff_of(work_tree).patch


def test_a_clean_work_tree_costs_two_starts_of_git(
    work_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, counting = shutil.which("git"), tmp_path / "counting"
    counting.mkdir()
    (counting / "git").write_text(f'#!/bin/sh\necho "$*" >> {counting}/log\nexec {real} "$@"\n')
    (counting / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{counting}:{os.environ['PATH']}")
    read_git(str(work_tree))
    assert len((counting / "log").read_text().splitlines()) == 2


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


def test_the_lowest_quota_of_cpu_time_holds(tmp_path: Path) -> None:
    quotas = {"pod/own/cpu.max": "max 100000\n", "pod/cpu.max": "150000 100000\n", "cpu.max": "800000 100000\n"}
    write_files(tmp_path / "cgroup", {**quotas, "pod/own/pids.max": "512\n", "pod/pids.max": "max\n"})
    mount = f"31 23 0:28 / {tmp_path}/cgroup rw - cgroup2 cgroup2 rw\n"
    proc = write_files(tmp_path / "proc", {"self/mountinfo": mount, "10/cgroup": "0::/pod/own\n"})
    assert cgroup_cpu_limit(10, proc) == 1.5
    assert cgroup_process_limit(10, proc) == 512


def test_a_quota_of_the_first_cgroups_is_read_too(tmp_path: Path) -> None:
    files = {"job/cpu.cfs_quota_us": "400000\n", "job/cpu.cfs_period_us": "100000\n", "cpu.cfs_quota_us": "-1\n"}
    write_files(tmp_path / "cpu", files)
    mount = f"31 23 0:28 / {tmp_path}/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
    proc = write_files(tmp_path / "proc", {"self/mountinfo": mount, "10/cgroup": "4:cpu,cpuacct:/job\n"})
    assert cgroup_cpu_limit(10, proc) == 4.0


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
    facts = collect_facts(os.getpid(), Hints(environment=os.environ)).facts
    assert facts["cwd"] == os.getcwd()
    assert facts["python"]["version"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["cpu_count"] == os.cpu_count()
    assert facts["memory_total_bytes"] > 1 << 28
    assert facts["shared_memory_bytes"] > 0
    assert f"msgspec=={msgspec.__version__}" in facts["packages"]
    assert msgspec.msgpack.encode(facts)


def process(tmp_path: Path, command: str, **environment: str) -> str:
    """A /proc with one process, 10."""
    variables = "".join(f"{name}={value}\0" for name, value in environment.items())
    proc = write_files(tmp_path / "proc", {"10/cmdline": command.replace(" ", "\0") + "\0", "10/environ": variables})
    (tmp_path / "proc" / "10" / "cwd").symlink_to(tmp_path)
    return proc


def test_what_the_process_said_of_itself_goes_before_what_proc_shows(tmp_path: Path) -> None:
    proc = process(tmp_path, "python elsewhere.py", OMP_NUM_THREADS="4", PYTHONPATH="/mine", HF_TOKEN="hf_secret")
    (tmp_path / "train.py").write_text("print(1)\n")
    now = {"OMP_NUM_THREADS": "8", "PYTHONPATH": "/holter:/mine"}
    found = collect_facts(10, Hints(main_file=str(tmp_path / "train.py"), environment=now), proc=proc)
    assert found.files == {"script.py": b"print(1)\n"}
    assert found.facts["environment"] == {"OMP_NUM_THREADS": "8", "PYTHONPATH": "/mine"}
    assert found.facts["script"]["path"] == str(tmp_path / "train.py")


def test_a_path_that_is_no_text_can_be_stored(tmp_path: Path) -> None:
    proc = process(tmp_path, "python x.py")
    (tmp_path / "proc" / "10" / "environ").write_bytes(b"PYTHONPATH=/data/\xff\0")
    assert msgspec.msgpack.encode(collect_facts(10, proc=proc).facts)


def test_of_a_process_that_is_gone_the_host_is_still_known(tmp_path: Path) -> None:
    facts = collect_facts(2**22 + 1, proc=str(tmp_path)).facts
    assert facts["hostname"]
    assert (facts["cwd"], facts["git"], facts["command"], facts["limits"]) == (None, None, [], {})


def test_the_packages_of_another_environment_are_found_beside_its_interpreter(tmp_path: Path) -> None:
    site = tmp_path / "env" / "lib" / "python3.12" / "site-packages"
    for name in ("torch-2.6.0+cu124.dist-info", "Nice__Na.me-1.0.dist-info", "torch", "-1.dist-info", "no.dist-info"):
        (site / name).mkdir(parents=True)
    for name in ("old-3-py3.12.egg-info", "odd-3-x.egg-info"):
        (site / name).mkdir()
    assert packages_beside(str(tmp_path / "env" / "bin" / "python")) == [
        "nice-na-me==1.0",
        "old==3",
        "torch==2.6.0+cu124",
    ]
    assert packages_beside("/nowhere/bin/python") == []


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


@pytest.mark.parametrize(
    ("variables", "files", "has_git"),
    [
        ({}, {"script.py", "diff.patch"}, True),
        ({"WANDB_DISABLE_GIT": "true"}, {"script.py"}, False),
        ({"WANDB_DISABLE_CODE": "true"}, set(), True),
        ({"WANDB_DISABLE_CODE": "false"}, {"script.py", "diff.patch"}, True),
    ],
)
def test_who_wants_no_code_kept_has_none_kept(
    variables: dict[str, str], files: set[str], has_git: bool, work_tree: Path
) -> None:
    (work_tree / "train.py").write_text("print(2)\n")
    hints = Hints(cwd=str(work_tree), main_file="train.py", environment={**os.environ, **variables})
    found = collect_facts(os.getpid(), hints)
    assert (set(found.files), found.facts["git"] is not None) == (files, has_git)
