"""Makes a run of a process that is already running, and that knows nothing of it."""

import os
import pwd
import select
import socket
from collections.abc import Iterator

import msgspec

from holter.catalog.catalog import Catalog
from holter.catalog.read.run_view import MAIN, process_of
from holter.errors import UsageError
from holter.journal.frame import encode_record
from holter.journal.rundir import make_private, run_directory
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.masking import Masking
from holter.model.records import Console, Described, Opened
from holter.model.state import RUNNING
from holter.probes.identity import ProcessIdentity, identify
from holter.probes.procfs import PROC, find_number, read_file
from holter.probes.script import parse_command
from holter.recording.foreign_outlets import find_outlets
from holter.recording.identity import new_run_id
from holter.recording.login import chosen_upload
from holter.recording.place import console_limit, disk_limit
from holter.recording.settings import Settings
from holter.recording.spawning import open_pidfd, spawn_sidecar
from holter.recording.voice import Voice
from holter.version import __version__
from holter.wire.way_back import Watch

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
        return _Attaching(process, settings).start(pidfd)
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
    for view in catalog.views():
        if view.state != RUNNING:
            continue
        programs = [each for each in catalog.load(view.id, patience_s=0.0).digests if each.opened.writer in MAIN]
        if process in map(process_of, programs):
            raise UsageError(f"process {process.pid} is recorded already: `holter show {view.id}`")


def _has_died(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))


class _Attaching:
    """The run of one process, from its first record to its sidecar."""

    def __init__(self, process: ProcessIdentity, settings: Settings) -> None:
        self.process = process
        self.settings = settings
        self.run = new_run_id()
        self.name = settings.name or name_of(read_command(process.pid))
        self.directory = run_directory(settings.dir, self.run)
        self.clock = Clock()

    def start(self, pidfd: int) -> Attached:
        make_private(self.directory)
        limit_bytes = disk_limit(self.settings, self.directory)
        console_bytes = console_limit(self.settings, limit_bytes)
        outlets = find_outlets(self.process.pid, console_bytes)
        masking = Masking(self.settings.not_secret)
        journal = JournalWriter(
            self.directory, self._prologue, clock=self.clock, limit_bytes=limit_bytes, masking=masking
        )
        try:
            journal.record(self._described())
            journal.record(Console(at_ns=self.clock.now_ns(), **outlets.kept))
        finally:
            journal.close()
        message = Watch(
            run=self.run,
            directory=self.directory,
            journal=journal.id.hex(),
            pid=self.process.pid,
            process_started=self.process.started,
            limit_bytes=limit_bytes,
            console_bytes=console_bytes,
            followed=tuple(outlets.followed),
            not_secret=self.settings.not_secret,
            upload=chosen_upload(self.settings, complain=Voice(silent=self.settings.silent).warn),
        )
        # Our end closes with us: there is nobody in the process whom the sidecar could tell anything.
        ours, theirs = socket.socketpair()
        with ours, theirs:
            spawn_sidecar(message, theirs.fileno(), pidfd=pidfd)
        return Attached(self.run, self.name, self.settings.project, self.process.pid, self.directory)

    def _described(self) -> Described:
        chosen = self.settings
        return Described(
            at_ns=self.clock.now_ns(),
            started_ns=self._started_ns(),
            project=chosen.project,
            name=self.name,
            entity=chosen.entity,
            notes=chosen.notes,
            group=chosen.group,
            job_type=chosen.job_type,
            tags=chosen.tags,
        )

    def _started_ns(self) -> int:
        """When the process began, not when somebody began to watch it."""
        ticks_per_s = os.sysconf("SC_CLK_TCK")
        now_ns = self.clock.now_ns()
        started_ns = self.process.started * 1_000_000_000 // ticks_per_s + self.clock.offset_ns
        return min(started_ns, now_ns) if self.process.started else now_ns

    def _prologue(self) -> Iterator[bytes]:
        """Who writes is the process itself, as it were: this journal says what it would say if it could."""
        yield encode_record(
            Opened(
                at_ns=self.clock.now_ns(),
                run=self.run,
                writer="watch",
                host=self.process.host,
                boot_id=self.process.boot_id,
                pid=self.process.pid,
                process_started=self.process.started,
                pid_namespace=self.process.pid_namespace,
                holter=__version__,
            )
        )
