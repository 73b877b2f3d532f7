"""What a fault needs of the machine."""

import functools
import importlib.util
import os
import platform
import shutil
import sys

from tests.zoo import slurm
from tests.zoo.cgroups import make_cgroup
from tests.zoo.fault import Fault
from tests.zoo.modes import ORDINARY_USER, RUN, SIDECAR, STANDARD, Mode


def lacks(fault: Fault) -> str:
    """Why this fault can't be provoked on this machine; empty where it can.

    What somebody could install is no excuse in CI; the rest begins as tests/conftest.py wants it.
    """
    if sys.platform != "linux":
        return "not on this platform: the zoo is about Linux"
    if os.geteuid():
        return "not on this platform: only root can make cgroups, small disks and other users"
    place = fault.place
    if (place.memory_bytes or place.parent_memory_bytes) and (why := _no_cgroup("memory")):
        return why
    if place.tasks and (why := _no_cgroup("pids")):
        return why
    return next(filter(None, map(_lacks, fault.needs)), "")


def applies(fault: Fault, mode: Mode) -> bool:
    """Whether the mode makes sense for the fault.

    SLURM knows only users who have a name, and ends sidecars itself; a fault of an ordinary user is one in every mode.
    """
    if fault.place.job:
        return mode.user != ORDINARY_USER and mode.watch in (SIDECAR, RUN)
    return not (fault.place.is_user and mode.user != ORDINARY_USER) or mode == STANDARD


@functools.cache
def _no_cgroup(controller: str) -> str:
    try:
        make_cgroup(controller).remove()
    except OSError as error:
        return f"not on this platform: no cgroup can be made for {controller}: {error}"
    return ""


@functools.cache
def _lacks(need: str) -> str:
    if need == "slurm":
        return slurm.missing()
    if need == "x86-64" and platform.machine() != "x86_64":
        return "not on this platform: another processor"
    if need == "python3.11" and sys.version_info[:2] != (3, 11):
        return "not on this platform: this Python sees it coming and raises"
    is_there = {
        "gpu": os.path.exists("/dev/nvidia0"),
        **{
            library: importlib.util.find_spec(library) is not None
            for library in ("torch", "cupy", "jax", "pytorch_lightning")
        },
        **{
            tool: shutil.which(tool) is not None
            for tool in ("gcc", "g++", "perl", "java", "node", "tmux", "gdb", "strace")
        },
    }
    return "" if is_there.get(need, True) else f"no {need}"
