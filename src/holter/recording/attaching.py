"""Makes a run of a process that is already running, and that knows nothing of it."""

import os
import pwd
import select

import msgspec

from holter.catalog.catalog import Catalog
from holter.catalog.read.loaded_run import MAIN, process_of
from holter.errors import UsageError
from holter.model.clock import Clock
from holter.model.records import Console
from holter.model.state import RUNNING
from holter.probes.identity import ProcessIdentity, identify
from holter.probes.procfs import PROC, find_number, read_file
from holter.probes.script import parse_command
from holter.recording.attempt import Attempt
from holter.recording.foreign_outlets import find_outlets
from holter.recording.identity import Identity, new_run_id
from holter.recording.settings import Settings
from holter.recording.spawning import open_pidfd, spawn_sidecar
from holter.recording.voice import Voice

_SHELLS = ("bash", "dash", "ksh", "sh", "zsh")


class Attached(msgspec.Struct, frozen=True):
    """The run that was made."""

    run: str
    name: str
    project: str
    pid: int
    directory: str


def attach(pid: int, settings: Settings) -> Attached:
    """Record a process from now on; returns at once, a sidecar of its own does the work.

    Raises UsageError where there is nothing to watch, NotKept and OSError where the run can't be made.
    """
    # The descriptor first: whatever is found out then is about the process that it holds.
    pidfd = open_pidfd(pid)
    try:
        process = check_process(pid)
        if pidfd >= 0 and _has_died(pidfd):
            raise UsageError(f"process {pid} has ended just now")
        _refuse_recorded(process, settings)
        return _begin(process, settings, pidfd=pidfd)
    finally:
        if pidfd >= 0:
            os.close(pidfd)


def check_process(pid: int, proc: str = PROC) -> ProcessIdentity:
    """The process that is to be watched. Raises UsageError where it is not there, or not ours to watch."""
    process = identify(pid, proc)
    if process is None:
        zombie = "has ended, and only waits for its parent" if os.path.exists(f"{proc}/{pid}/stat") else "is not there"
        raise UsageError(f"process {pid} {zombie}: `ps` lists those that run")
    status = read_file(f"{proc}/{pid}/status") or b""
    leader = find_number(status, b"Tgid:")
    if leader not in (None, pid):
        raise UsageError(f"{pid} is a thread of process {leader}: watch that one")
    owner = find_number(status, b"Uid:")
    if owner not in (None, os.getuid()):
        who = user_name(owner or 0)
        raise UsageError(f"process {pid} belongs to {who}: only they can watch it, as in `sudo -u {who} holter watch`")
    command = read_command(pid, proc)
    if pid == os.getpid() or "holter.sidecar" in command:
        raise UsageError(f"process {pid} is one of holter's own: name the one that trains")
    if not command:
        raise UsageError(f"process {pid} belongs to Linux itself: there is nothing in it to record")
    return process


def read_command(pid: int, proc: str = PROC) -> list[str]:
    """The command line of a process, with nothing masked."""
    text = read_file(f"{proc}/{pid}/cmdline") or b""
    return text.rstrip(b"\0").decode(errors="replace").split("\0") if text else []


def name_of(command: list[str]) -> str:
    """What people would call the command: the name of its script or module, or else of the program."""
    main = parse_command(command)
    if main is not None and main.kind != "text":
        return main.value if main.kind == "module" else os.path.basename(main.value)
    program = os.path.basename(command[0])
    scripts = [each for each in command[1:] if not each.startswith("-")]
    if program in _SHELLS and scripts and command[1] == scripts[0]:
        return os.path.basename(scripts[0])
    return program


def user_name(uid: int) -> str:
    """The name that belongs to a number, or the number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _refuse_recorded(process: ProcessIdentity, settings: Settings) -> None:
    catalog = Catalog(settings.dir)
    for row in catalog.rows():
        if row.state != RUNNING:
            continue
        programs = [each for each in catalog.load(row.id, patience_s=0.0).digests if each.opened.writer in MAIN]
        if process in map(process_of, programs):
            raise UsageError(f"process {process.pid} is recorded already: `holter show {row.id}`")


def _has_died(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


def _begin(process: ProcessIdentity, settings: Settings, *, pidfd: int) -> Attached:
    name = settings.name or name_of(read_command(process.pid))
    voice = Voice(silent=settings.silent)
    # Who writes is the process itself, as it were: this journal says what it would say if it could.
    attempt = Attempt(
        msgspec.structs.replace(settings, name=name), process, identity=Identity(new_run_id()), voice=voice
    )
    attempt.make_place()
    outlets = find_outlets(process.pid, attempt.console_bytes)
    journal = attempt.open_journal("watch")
    try:
        journal.record(attempt.describe("watch", started_ns=_started_ns(process, attempt.clock)))
        journal.record(Console(at_ns=attempt.clock.now_ns(), **outlets.kept))
    finally:
        journal.close()
    message = attempt.tell_sidecar(journal, pid=process.pid, process_started=process.started, followed=outlets.followed)
    way_back = spawn_sidecar(message, pidfd=pidfd)
    if way_back is not None:
        way_back.close()  # there is nobody in the process whom the sidecar could tell anything
    return Attached(attempt.run, name, settings.project, process.pid, attempt.directory)


def _started_ns(process: ProcessIdentity, clock: Clock) -> int:
    """When the process began, not when somebody began to watch it."""
    started_ns = process.started * 1_000_000_000 // os.sysconf("SC_CLK_TCK") + clock.offset_ns
    return min(started_ns, clock.now_ns()) if process.started else clock.now_ns()
