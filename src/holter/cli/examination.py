"""Looks at each witness as a run on this machine would have it."""

import os
import time
from collections.abc import Mapping

import msgspec

from holter.cli.figures import size
from holter.client.capture.native import Native
from holter.errors import HolterError
from holter.journal.filesystem import file_system, keeps_reservations
from holter.journal.rundir import data_directory
from holter.model.evidence import Unseen
from holter.model.witnesses import CONNECTOR, KERNEL_LOG, PIDFD_INFO, SIGNALS, witnesses_without
from holter.probes.nvml import describe_gpus
from holter.probes.postmortem import kernel_log
from holter.probes.postmortem.connector import open_connector
from holter.probes.postmortem.counters import open_levels, read_host_kills
from holter.probes.postmortem.exit_status import kernel_version
from holter.probes.postmortem.exit_witnesses import EXIT_INFO_SINCE
from holter.probes.schedulers import scheduler_identity
from holter.recording.settings import read_settings

PRESSURE = "/proc/pressure/memory"
SOON_FULL_BYTES = 1 << 30


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """One witness: is it there, what it tells, and how to get it where it is missing."""

    name: str
    is_there: bool
    text: str
    remedy: str = ""


def examine(environ: Mapping[str, str] = os.environ) -> list[Witness]:
    """All witnesses, the most useful first. Changes nothing but for a directory that is made for the runs."""
    without = witnesses_without(environ)
    return [
        _runs(environ),
        _exit_status(without),
        _signals(without),
        _memory(),
        _kernel_log(without),
        _pressure(),
        _gpus(),
        _scheduler(environ),
    ]


def _runs(environ: Mapping[str, str]) -> Witness:
    directory = data_directory(dict(environ))
    try:
        directory = read_settings({}, environ).dir
        os.makedirs(directory, mode=0o700, exist_ok=True)
        space = os.statvfs(directory)
    except (HolterError, OSError) as error:
        remedy = "choose another place with HOLTER_DIR"
        return Witness(name="runs", is_there=False, text=f"{directory} can't be used: {error}", remedy=remedy)
    if not os.access(directory, os.W_OK):
        remedy = "choose another place with HOLTER_DIR"
        return Witness(name="runs", is_there=False, text=f"{directory} can't be written to", remedy=remedy)
    free = space.f_bavail * space.f_frsize
    how = "mapped" if keeps_reservations(directory) else "written call by call: some microseconds more for each row"
    text = f"in {directory} ({file_system(directory) or 'unknown file system'}, {how}), {size(free)} free"
    remedy = "make room, or choose another place with HOLTER_DIR" if free < SOON_FULL_BYTES else ""
    return Witness(name="runs", is_there=True, text=text, remedy=remedy)


def _exit_status(without: frozenset[str]) -> Witness:
    release = os.uname().release
    if PIDFD_INFO not in without and kernel_version(release) >= EXIT_INFO_SINCE:
        text = f"Linux ({release}) tells the sidecar how any process ended"
        return Witness(name="exit status", is_there=True, text=text)
    connector = None if CONNECTOR in without else open_connector()
    if connector is not None:
        connector.close()
        text = f"Linux ({release}) announces each exit (process connector)"
        return Witness(name="exit status", is_there=True, text=text)
    text = f"Linux ({release}) tells only the parent; the sidecar finds it in /proc if it is quick enough"
    remedy = "start the program with `holter run --`: a parent always learns how its child ended"
    return Witness(name="exit status", is_there=False, text=text, remedy=remedy)


def _signals(without: frozenset[str]) -> Witness:
    try:
        if SIGNALS in without:
            raise OSError("HOLTER_WITHOUT says so")
        Native()
    except OSError:
        text = "not in this installation: holter can't see who sent a signal, nor what a crash in native code was about"
        remedy = "install a C compiler and then holter from its source: pip install --no-binary holter holter"
        return Witness(name="signals", is_there=False, text=text, remedy=remedy)
    text = "the signal witness is there: holter sees who sent a signal, and what a crash in native code was about"
    return Witness(name="signals", is_there=True, text=text)


def _memory() -> Witness:
    levels = open_levels(os.getpid())
    kills = [level for level in levels if level.cgroup.read(level.files.events)]
    limits = [known for level in levels if (known := level.cgroup.number(level.files.limit)) == known]
    for level in levels:
        level.cgroup.close()
    if not kills and read_host_kills() is None:
        text = "nothing here counts kills for memory: one looks like any other SIGKILL"
        remedy = "mount /sys/fs/cgroup into the container; read-only is enough"
        return Witness(name="memory", is_there=False, text=text, remedy=remedy)
    limit = (
        f"the memory limit here (cgroup) is {size(min(limits))}"
        if limits
        else "there is no limit but the machine's own"
    )
    text = f"{'this container or job' if kills else 'only the machine as a whole'} counts kills for memory; {limit}"
    return Witness(name="memory", is_there=bool(kills), text=text)


def _kernel_log(without: frozenset[str]) -> Witness:
    found = kernel_log.switched_off() if KERNEL_LOG in without else kernel_log.look(time.time_ns(), ())
    if isinstance(found, Unseen):
        return Witness(name="Linux kernel log", is_there=False, text=found.because, remedy=found.remedy)
    text = "can be read: what Linux killed, faults of disks, memory and GPUs"
    return Witness(name="Linux kernel log", is_there=True, text=text)


def _pressure() -> Witness:
    if os.access(PRESSURE, os.R_OK):
        return Witness(name="pressure", is_there=True, text="Linux tells how long programs wait for memory")
    text = "Linux does not tell how long programs wait for memory, disk and CPU"
    return Witness(name="pressure", is_there=False, text=text, remedy="boot with psi=1 where Linux supports it")


def _gpus() -> Witness:
    found = describe_gpus()
    devices = (found or {}).get("devices")
    if not isinstance(devices, list) or not devices:
        return Witness(name="GPUs", is_there=True, text="none that NVIDIA's driver knows")
    names = ", ".join(str(each.get("name")) for each in devices if isinstance(each, dict))
    return Witness(name="GPUs", is_there=True, text=f"{names}: memory, temperature and faults are seen")


def _scheduler(environ: Mapping[str, str]) -> Witness:
    names = ", ".join(scheduler_identity(environ)) or "none: this is not a job of SLURM or the like"
    return Witness(name="scheduler", is_there=True, text=names)
