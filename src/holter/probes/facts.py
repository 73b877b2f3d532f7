"""What is worth knowing once about a run's host and program."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from holter.model.secrets import mask_arguments, masked, masked_patch
from holter.probes.environment import allowed_variables, parse_environment
from holter.probes.git import GitDiff, GitState, read_git
from holter.probes.identity import host_name
from holter.probes.limits import (
    cgroup_cpu_limit,
    cgroup_memory_limit,
    cgroup_process_limit,
    overcommit_mode,
    parse_limits,
    shared_memory_size,
)
from holter.probes.nvml import describe_gpus
from holter.probes.packages import installed_packages, packages_beside
from holter.probes.procfs import PROC, find_number, read_file
from holter.probes.schedulers import scheduler_identity
from holter.probes.script import Source, find_source

__all__ = ["Findings", "Hints", "collect_facts", "command_line"]

COMMAND_BYTES = 16384
MOST_UNTRACKED = 50
DIFF_FILE, SCRIPT_FILE = "diff.patch", "script.py"
CONTAINER_FILES = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
CONTAINER_VARIABLES = {
    "KUBERNETES_SERVICE_HOST": "kubernetes",
    "APPTAINER_CONTAINER": "apptainer",
    "SINGULARITY_CONTAINER": "singularity",
}


class Hints(msgspec.Struct, frozen=True, kw_only=True):
    """What a process said of itself; nothing where it could not be asked."""

    cwd: str = ""
    main_file: str = ""
    command: Sequence[str] = ()
    environment: Mapping[str, str] | None = None
    """Its variables as they are now; /proc has those that it was started with. None unless it started this process."""


class Findings(msgspec.Struct, frozen=True):
    """What was found: facts for the journal, and texts too long for it by the names of their files."""

    facts: dict[str, Any]
    """With the command line as it is: the journal hides secrets, and counts them."""
    files: dict[str, bytes]
    """`diff.patch` and `script.py`, each only where there is something to put into it."""


class _Program(msgspec.Struct, frozen=True):
    """One process as /proc shows it; read first, for it may be gone in a moment."""

    pid: int
    """Ours where it is gone: a sidecar has the same limits as the process that started it."""
    command: list[str]
    cwd: str | None
    executable: str | None
    limits: bytes
    environment: dict[str, str]


def collect_facts(pid: int, hints: Hints | None = None, *, proc: str = PROC) -> Findings:
    """Look at the host and one process; None stands for what nobody can look at.

    Takes some ten milliseconds, and up to seven seconds more for git in a large work tree.
    """
    hints = hints or Hints()
    program = _look_at(pid, hints, proc)
    may_keep_code = not _is_on(program.environment, "WANDB_DISABLE_CODE")
    may_ask_git = not _is_on(program.environment, "WANDB_DISABLE_GIT")
    source = find_source(
        program.command, program.environment, cwd=program.cwd or "", main_file=_main_file(program, hints)
    )
    git, diff = (read_git(program.cwd) if program.cwd and may_ask_git else None) or (None, None)
    facts = {
        **_host(proc),
        **_limits(program, proc),
        "gpus": describe_gpus(),
        "container": container_hint(program.environment),
        "command": _first_arguments("\0".join(program.command).encode(errors="replace")),
        "cwd": program.cwd,
        "python": _python(program),
        "packages": _packages(program, hints),
        "environment": allowed_variables(program.environment),
        "schedulers": scheduler_identity(program.environment),
        "script": _describe_source(source),
        "git": _describe_git(git, diff),
    }
    files = {
        SCRIPT_FILE: masked(source.text, is_code=True) if source and may_keep_code else b"",
        DIFF_FILE: masked_patch(diff.text) if diff and may_keep_code else b"",
    }
    return Findings(cast("dict[str, Any]", _as_utf8(facts)), {name: text for name, text in files.items() if text})


def _is_on(environment: Mapping[str, str], name: str) -> bool:
    return environment.get(name, "").strip().lower() not in ("", "0", "false", "no", "off")


def _look_at(pid: int, hints: Hints, proc: str) -> _Program:
    started_with = parse_environment(read_file(f"{proc}/{pid}/environ") or b"")
    environment = {**started_with, **(hints.environment or {})}
    if "PYTHONPATH" in environment and started_with:
        # Ours may have been lengthened, so that the sidecar finds this package.
        environment["PYTHONPATH"] = started_with.get("PYTHONPATH", "")
    command = _arguments(read_file(f"{proc}/{pid}/cmdline") or b"")
    is_ours = hints.environment is not None
    pid = os.getpid() if is_ours and not command else pid
    return _Program(
        pid=pid,
        command=command or list(hints.command),
        cwd=hints.cwd or (_link(f"{proc}/{pid}/cwd") if command else None),
        executable=_link(f"{proc}/{pid}/exe"),
        limits=read_file(f"{proc}/{pid}/limits") or b"",
        environment=environment,
    )


def _host(proc: str) -> dict[str, Any]:
    return {
        "hostname": host_name(),
        "os": operating_system(),
        "kernel": os.uname().release,
        "machine": os.uname().machine,
        "cpu_count": os.cpu_count(),
        "memory_total_bytes": _memory_total(proc),
        "overcommit_mode": overcommit_mode(proc),
    }


def _limits(program: _Program, proc: str) -> dict[str, Any]:
    return {
        "cpu_affinity": _affinity(program.pid),
        "cgroup_cpu_limit": cgroup_cpu_limit(program.pid, proc),
        "cgroup_memory_limit_bytes": cgroup_memory_limit(program.pid, proc),
        "cgroup_process_limit": cgroup_process_limit(program.pid, proc),
        "shared_memory_bytes": shared_memory_size(program.pid, proc),
        "limits": parse_limits(program.limits),
    }


def operating_system(release_file: str = "/etc/os-release") -> str:
    """Return the name of the distribution, or of the system where there is none."""
    for line in (read_file(release_file) or b"").decode(errors="replace").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    return os.uname().sysname


def container_hint(environment: Mapping[str, str]) -> str | None:
    """Return what kind of container this seems to be, or None."""
    for variable, kind in CONTAINER_VARIABLES.items():
        if variable in environment:
            return kind
    for path, kind in CONTAINER_FILES.items():
        if os.path.exists(path):
            return kind
    if "microsoft" in os.uname().release.lower():
        return "wsl"
    return environment.get("container")


def command_line(text: bytes) -> list[str]:
    """Return the arguments in a `/proc/PID/cmdline`, without the values of those whose name tells of a secret."""
    return mask_arguments(_first_arguments(text))


def _first_arguments(text: bytes) -> list[str]:
    """Whole ones only, unless it is a single one: half of a secret does not look like one."""
    if len(text) > COMMAND_BYTES:
        text = text[:COMMAND_BYTES].rpartition(b"\0")[0] or text[:COMMAND_BYTES]
    return _arguments(text)


def _arguments(text: bytes) -> list[str]:
    return text.rstrip(b"\0").decode(errors="replace").split("\0") if text else []


def _main_file(program: _Program, hints: Hints) -> str:
    # A script that is piped in or given as -c has no file, whatever the process calls it.
    return hints.main_file if os.path.isfile(os.path.join(program.cwd or "", hints.main_file)) else ""


def _describe_source(source: Source | None) -> dict[str, Any] | None:
    if source is None:
        return None
    return {"kind": source.kind, "path": source.path, "bytes": len(source.text), "is_cut": source.is_cut}


def _describe_git(git: GitState | None, diff: GitDiff | None) -> dict[str, Any] | None:
    if git is None:
        return None
    state: dict[str, Any] = msgspec.to_builtins(git)
    if diff is None:
        return state
    return state | {
        "diff_bytes": len(diff.patch),
        "is_diff_cut": diff.is_cut,
        "untracked": list(diff.untracked[:MOST_UNTRACKED]),
        "untracked_count": len(diff.untracked),
    }


def _python(program: _Program) -> dict[str, str | None] | None:
    executable = program.executable
    is_ours = executable is not None and executable == os.path.realpath(sys.executable)
    if not is_ours and not _is_interpreter(executable or ""):
        return None
    return {"executable": executable, "version": sys.version.split()[0] if is_ours else None}


def _is_interpreter(path: str) -> bool:
    return os.path.basename(path).startswith(("python", "pypy", "ipython"))


def _packages(program: _Program, hints: Hints) -> list[str]:
    if hints.environment is not None:  # it started us with its own interpreter
        return installed_packages(program.executable or sys.executable)
    interpreter = _interpreter(program.command, program.environment, cwd=program.cwd or "/")
    return packages_beside(interpreter) if interpreter else []


def _interpreter(command: Sequence[str], environment: Mapping[str, str], *, cwd: str) -> str:
    """Return the path by which an interpreter was started: a link in an environment's folder tells the environment."""
    if not command or not _is_interpreter(command[0]):
        return ""
    if "/" in command[0]:
        return os.path.normpath(os.path.join(cwd, command[0]))
    import shutil  # with all that it can unpack: two milliseconds, for those who are watched from outside

    return shutil.which(command[0], path=environment.get("PATH")) or ""


def _affinity(pid: int) -> list[int] | None:
    if sys.platform != "linux":
        return None
    try:
        return sorted(os.sched_getaffinity(pid))
    except OSError:
        return None


def _memory_total(proc: str) -> int | None:
    total = find_number(read_file(f"{proc}/meminfo") or b"", b"MemTotal:")
    return None if total is None else total * 1024


def _as_utf8(value: object) -> object:
    """Return the same with all texts as UTF-8: a path may hold bytes that are no text."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_as_utf8(key): _as_utf8(inner) for key, inner in value.items()}
    return [_as_utf8(inner) for inner in value] if isinstance(value, list) else value


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None
