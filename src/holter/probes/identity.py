"""Names a process so that it can be found again, or known to be gone, after its pid has been given to another."""

import os

import msgspec

from holter.model.records import Opened
from holter.probes.procfs import PROC, read_file, read_stat
from holter.version import __version__

# The inode of the first pid namespace, fixed in Linux: what speaks of all processes knows them by its numbers.
INITIAL_PID_NAMESPACE = "pid:[4026531836]"


class ProcessIdentity(msgspec.Struct, frozen=True):
    """One process among all that ever ran; its pid alone means something only where the rest agrees."""

    host: str
    boot_id: str
    """Empty where the system has none."""
    pid: int
    started: int
    """Clock ticks since boot, 0 where unknown; elsewhere than on Linux hundredths of a second since 1970."""
    pid_namespace: str = ""
    """Containers of one host count their processes separately; empty where unknown."""

    def opens(self, run: str, writer: str, *, at_ns: int, attempt: int = 1, rank: int | None = None) -> Opened:
        """The first record of a journal that this process writes."""
        return Opened(
            at_ns=at_ns,
            run=run,
            writer=writer,
            host=self.host,
            boot_id=self.boot_id,
            pid=self.pid,
            process_started=self.started,
            pid_namespace=self.pid_namespace,
            holter=__version__,
            attempt=attempt,
            rank=rank,
        )


def this_process() -> ProcessIdentity:
    """Ourselves; with what is known where the system does not let us look."""
    return identify(os.getpid()) or ProcessIdentity(host_name(), "", os.getpid(), 0)


def writer_of(opened: Opened) -> ProcessIdentity:
    """The process that opened a journal."""
    return ProcessIdentity(opened.host, opened.boot_id, opened.pid, opened.process_started, opened.pid_namespace)


def identify(pid: int, proc: str = PROC) -> ProcessIdentity | None:
    """Return the identity of a living process, or None where there is no such process to look at."""
    started = _started(pid, proc)
    if started is None:
        return None
    return ProcessIdentity(
        host=host_name(), boot_id=boot_id(proc), pid=pid, started=started, pid_namespace=pid_namespace(proc)
    )


def is_alive(identity: ProcessIdentity, proc: str = PROC) -> bool | None:
    """Return whether the process still runs, or None where nobody here can tell: another host or container.

    A zombie is dead, and so is everything of an earlier boot of this host.
    """
    if identity.host != host_name():
        return None
    if _differ(identity.boot_id, boot_id(proc)):
        return False
    if _differ(identity.pid_namespace, pid_namespace(proc)):
        return None
    started = _started(identity.pid, proc)
    if started is None:
        return None if _is_hidden(identity.pid, proc) else False
    return identity.started in (0, started)


def host_name() -> str:
    """Return the name this machine, or container, has for itself."""
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform

    return platform.node()


def boot_id(proc: str = PROC) -> str:
    """Return what tells this boot from all others, empty where the system has no such thing."""
    return (read_file(f"{proc}/sys/kernel/random/boot_id") or b"").decode().strip()


def pid_namespace(proc: str = PROC) -> str:
    """Return what tells this process's pid namespace from others of this boot, empty where there are none."""
    try:
        return os.readlink(f"{proc}/self/ns/pid")
    except OSError:
        return ""


def _differ(recorded: str, here: str) -> bool:
    return bool(recorded and here) and recorded != here


def _started(pid: int, proc: str) -> int | None:
    """Return when the process started, or None where it is dead or hidden."""
    if not os.path.exists(f"{proc}/self/stat"):
        return _started_portably(pid)
    stat = read_stat(pid, proc)
    return None if stat is None or stat.is_dead else stat.started


def _started_portably(pid: int) -> int | None:
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else int(process.create_time() * 100)
    except psutil.AccessDenied:
        return 0
    except psutil.Error:
        return None


def _is_hidden(pid: int, proc: str) -> bool:
    """Return whether a process that /proc does not show exists nevertheless, as with the mount option `hidepid`."""
    if not os.path.exists(f"{proc}/self/stat") or read_stat(pid, proc) is not None:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # It showed up between the two looks only if its pid was given to a new process.
    return False
