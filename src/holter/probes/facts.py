"""What is worth knowing once about a run's host and program."""

import os
import platform
import re
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from holter.probes.cgroups import Cgroup, find_chain
from holter.probes.git import read_git_state
from holter.probes.identity import host_name
from holter.probes.nvml import describe_gpus
from holter.probes.packages import installed_packages
from holter.probes.procfs import PROC, find_number, read_file

__all__ = ["collect_facts", "installed_packages"]

COMMAND_BYTES = 16384
SECRET = re.compile(r"(?i)^-*([a-z0-9]+[-_.])*(api[-_]?key|token|secret|password|passwd|credentials?)$")
CONTAINER_FILES = {"/.dockerenv": "docker", "/run/.containerenv": "podman"}
CONTAINER_VARIABLES = {
    "KUBERNETES_SERVICE_HOST": "kubernetes",
    "APPTAINER_CONTAINER": "apptainer",
    "SINGULARITY_CONTAINER": "singularity",
}


def collect_facts(pid: int, proc: str = PROC) -> dict[str, Any]:
    """Return facts about the host and one process; None for what nobody can look at.

    Takes a few milliseconds, and up to two seconds more for git in a large work tree.
    """
    cwd = _link(f"{proc}/{pid}/cwd")
    git = read_git_state(cwd) if cwd else None
    return {
        "hostname": host_name(),
        "os": operating_system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "python": _python(pid, proc),
        "cpu_count": os.cpu_count(),
        "cpu_affinity": _affinity(pid),
        "memory_total_bytes": _memory_total(proc),
        "cgroup_memory_limit_bytes": cgroup_memory_limit(pid, proc),
        "limits": parse_limits(read_file(f"{proc}/{pid}/limits") or b""),
        "gpus": describe_gpus(),
        "container": container_hint(os.environ),
        "command": command_line(read_file(f"{proc}/{pid}/cmdline") or b""),
        "cwd": cwd,
        "git": msgspec.to_builtins(git),
    }


def operating_system(release_file: str = "/etc/os-release") -> str:
    """Return the name of the distribution, or of the system where there is none."""
    for line in (read_file(release_file) or b"").decode(errors="replace").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    return platform.system()


def cgroup_memory_limit(pid: int, proc: str = PROC) -> int | None:
    """Return the lowest memory limit of the process's cgroup and its ancestors, or None without one."""
    chain = find_chain(pid, "memory", proc=proc)
    limits = []
    for directory in chain.directories:
        cgroup = Cgroup(directory)
        limits.append(cgroup.number("memory.max" if chain.is_unified else "memory.limit_in_bytes"))
        cgroup.close()
    return min((int(limit) for limit in limits if limit == limit), default=None)


def parse_limits(text: bytes) -> dict[str, tuple[int | None, int | None]]:
    """Return the soft and hard limits by name, such as `open_files`, from a `/proc/PID/limits`; None is unlimited."""
    limits = {}
    for line in text.decode().splitlines()[1:]:
        name, soft, hard = line[:26].strip(), *line[26:].split()[:2]
        key = name.removeprefix("Max ").replace(" ", "_")
        limits[key] = (int(soft) if soft.isdigit() else None, int(hard) if hard.isdigit() else None)
    return limits


def container_hint(environment: Mapping[str, str]) -> str | None:
    """Return what kind of container this seems to be, or None."""
    for variable, kind in CONTAINER_VARIABLES.items():
        if variable in environment:
            return kind
    for path, kind in CONTAINER_FILES.items():
        if os.path.exists(path):
            return kind
    if "microsoft" in platform.release().lower():
        return "wsl"
    return environment.get("container")


def command_line(text: bytes) -> list[str]:
    """Return the arguments in a `/proc/PID/cmdline`, without the values of those whose name tells of a secret."""
    if not text:
        return []
    arguments = text[:COMMAND_BYTES].rstrip(b"\0").decode(errors="replace").split("\0")
    shown: list[str] = []
    for before, argument in zip(["", *arguments], arguments, strict=False):
        name, equals, _ = argument.partition("=")
        if equals and SECRET.match(name):
            shown.append(f"{name}=…")
        else:
            shown.append("…" if before.startswith("-") and SECRET.match(before) else argument)
    return shown


def _python(pid: int, proc: str) -> dict[str, str | None]:
    executable = _link(f"{proc}/{pid}/exe")
    is_ours = executable is not None and executable == os.path.realpath(sys.executable)
    return {"executable": executable, "version": platform.python_version() if is_ours else None}


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


def _link(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None
