"""The run that one kernel process becomes, as the server that started it records it."""

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import msgspec

from holter.errors import NotKept
from holter.journal.frame import encode_record
from holter.journal.rundir import make_private
from holter.journal.writer import JournalWriter
from holter.jupyter.scribe import Log, Scribe
from holter.jupyter.start_trouble import find_trouble
from holter.model.cutting import as_utf8
from holter.model.record import Record
from holter.model.records import KERNEL, Console, Exited, Facts, KernelAsked, Launched
from holter.probes.identity import identify, this_process
from holter.recording.attempt import Attempt
from holter.recording.identity import Identity, new_run_id
from holter.recording.kernels import PROJECT, Kernel, as_variable, read_joined
from holter.recording.settings import Settings
from holter.recording.spawning import open_pidfd, spawn_sidecar
from holter.recording.voice import Voice

_NOT_KEPT = "none: it goes where that of the Jupyter server goes"


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What the server knows of a kernel that it is about to start."""

    id: str
    name: str
    """Of its kernelspec, for people: `Python 3 (ipykernel)`."""
    notebook: str = ""
    """The notebook's path, where it has one."""
    deaths_before: int = 0
    """How many kernels with this id have died just before it, one soon after the other."""


class Started(msgspec.Struct, frozen=True):
    """How the process of a kernel was started."""

    command: list[str]
    cwd: str
    env: dict[str, str]


class KernelRun:
    """Records one kernel process. Its methods return at once: the scribe does the work, in their order."""

    def __init__(self, about: About, settings: Settings, *, scribe: Scribe, log: Log) -> None:
        self.about = about
        name = os.path.basename(about.notebook) or about.name
        # Nobody asked for what they type and see to be sent anywhere.
        own = Settings(project=PROJECT, name=name, mode="offline", dir=settings.dir, disk_limit=settings.disk_limit)
        self._attempt = Attempt(own, this_process(), identity=Identity(new_run_id()), voice=Voice(silent=True))
        self.id = self._attempt.run
        self.data = settings.dir
        self.directory = self._attempt.directory
        self.pid = 0
        self.began_ns = 0
        self.wish = ""
        """`restart` or `shutdown`, once it has been told so."""
        self.was_cut_short = False
        """It was told so in the middle of a cell."""
        self.ended_ns = 0
        self.was_ready = False
        """It has answered: whatever it dies of is no matter of its start."""
        self._started: Started | None = None
        self._scribe = scribe
        self._log = log
        self._clock = self._attempt.clock
        self._journal = self._attempt.open_journal("provisioner")
        self._witnesses: dict[str, JournalWriter] = {}
        self._is_kept = False

    @property
    def has_ended(self) -> bool:
        """Its end is written down."""
        return bool(self.ended_ns)

    @property
    def variable(self) -> str:
        """What the kernel finds in its environment."""
        return as_variable(Kernel(self.id, self._journal.id.hex(), os.getpid(), self.directory))

    def started(self, pid: int, how: Started) -> None:
        """The kernel runs."""
        self.pid, self.began_ns, self._started = pid, self._clock.now_ns(), how
        pidfd = open_pidfd(pid)  # now: whatever is looked at later is about this process
        self._do(partial(self._begin, list(how.command), how.cwd, pidfd))

    def asked(self, kind: str, *, is_busy: bool) -> None:
        """It was told something, and has not ended yet."""
        if kind != "interrupt":
            self.wish, self.was_cut_short = kind, is_busy
        self._keep_everywhere(KernelAsked(at_ns=self._clock.now_ns(), kind=kind, is_busy=is_busy))

    def exited(self, status: int) -> None:
        """It is gone. Whatever comes later is no cause of that. Idempotent."""
        if self.has_ended:
            return
        self.ended_ns = self._clock.now_ns()
        journal = self._journal.id.hex()
        record = Exited(at_ns=self.ended_ns, journal=journal, pid=self.pid, source="wait", status=status)
        self._keep_everywhere(record)
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) and not self.was_ready and not self.wish:
            self._do(self._find_trouble)
        self._do(self._close)

    def lived_s(self) -> float:
        """From its start to its end, or until now."""
        return ((self.ended_ns or self._clock.now_ns()) - self.began_ns) / 1e9

    def _find_trouble(self) -> None:
        how = self._started
        if how is None or not self._is_kept:
            return
        trouble = find_trouble(how.command, cwd=how.cwd, env=how.env, at_ns=self.ended_ns)
        if trouble is not None:
            self._journal.record(trouble)

    def _do(self, work: Callable[[], None]) -> None:
        self._scribe.do(work, self._log)

    def _begin(self, command: list[str], cwd: str, pidfd: int) -> None:
        try:
            make_private(self.directory)
            self._attempt.lie_in(self.directory)
            self._journal.limit_bytes = self._attempt.limit_bytes
            process = identify(self.pid)
            started = process.started if process else 0
            for record in self._first_words(command, started):
                self._journal.record(record)
            self._is_kept = True
            told = self._attempt.tell_sidecar(self._journal, pid=self.pid, process_started=started)
            message = msgspec.structs.replace(told, linger_s=0.0, console_bytes=0, cwd=cwd, server_pid=os.getpid())
            way_back = spawn_sidecar(message, pidfd=pidfd, command=command)
            if way_back is not None:
                way_back.close()  # there is nobody in the kernel whom this sidecar could tell anything
        finally:
            if pidfd >= 0:
                os.close(pidfd)

    def _first_words(self, command: list[str], started: int) -> Iterator[Record]:
        about, at_ns = self.about, self.began_ns
        described = self._attempt.describe("provisioner", kind=KERNEL, started_ns=at_ns)
        yield msgspec.structs.replace(described, at_ns=at_ns)
        shown = tuple(map(as_utf8, command))
        yield Launched(at_ns=at_ns, pid=self.pid, process_started=started, command=shown)
        yield Facts(at_ns=at_ns, facts={"jupyter": {**msgspec.structs.asdict(about), "server_pid": os.getpid()}})
        yield Console(at_ns=at_ns, stdout=_NOT_KEPT, stderr=_NOT_KEPT)

    def _keep_everywhere(self, record: Record) -> None:
        """In our own journal, and beside those of the runs that were opened inside the kernel."""

        def keep() -> None:
            if not self._is_kept:
                return  # there was no place for its beginning, which has been said
            self._journal.record(record)
            for joined in read_joined(self.directory):
                if isinstance(record, Exited):
                    self._keep_in(joined.directory, msgspec.structs.replace(record, journal=joined.journal))
                else:
                    self._keep_in(joined.directory, record)

        self._do(keep)

    def _keep_in(self, directory: str, record: Record) -> None:
        writer = self._witnesses.get(directory)
        if writer is None:
            if not os.path.isdir(directory):
                return  # somebody removed that run
            prologue = partial(self._opened, os.path.basename(directory))
            writer = self._witnesses[directory] = JournalWriter(directory, prologue, clock=self._clock)
        try:
            writer.record(record)
        except NotKept as error:
            self._log.warning("holter: can't record in %s: %s", directory, error)

    def _close(self) -> None:
        for journal in (self._journal, *self._witnesses.values()):
            journal.close()

    def _opened(self, run: str) -> Iterator[bytes]:
        yield encode_record(this_process().opens(run, "witness", at_ns=self._clock.now_ns()))


def notebook_of(environ: Mapping[str, str]) -> str:
    """The path of the notebook that a kernel is for; empty where its environment does not tell."""
    return environ.get("JPY_SESSION_NAME", "")
