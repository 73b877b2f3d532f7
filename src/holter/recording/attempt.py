"""One attempt at a run, whoever begins it: which run, where it lies, what it is called, what its sidecar is told."""

import os
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holter.errors import UsageError
from holter.journal.frame import encode_record
from holter.journal.rundir import run_directory
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.masking import Masking
from holter.model.records import Described, Opened
from holter.probes.identity import ProcessIdentity, identify
from holter.recording.identity import Identity, identify_run, new_name
from holter.recording.login import chosen_upload
from holter.recording.past import Bookmark, Past, recall
from holter.recording.place import console_limit, disk_limit, make_place
from holter.recording.settings import Settings
from holter.recording.spawning import linger_s
from holter.recording.voice import Voice
from holter.wire.way_back import Followed, Watch

_NAMES = ("project", "name", "entity", "notes", "group", "job_type", "tags")
_PARENTS = ("launcher", "provisioner")
"""Writers who describe a run before its program can."""


class Attempt:
    """What `init()`, `holter run`, `holter watch` and a Jupyter server have in common. Touches no disk before `resume`.

    Args:
        process: whose words the first journal has.
        identity: the run; see `identify_here`.
        voice: says what can't be done as asked.
    """

    def __init__(self, settings: Settings, process: ProcessIdentity, *, identity: Identity, voice: Voice) -> None:
        self.settings = settings
        self.process = process
        self.run = identity.run
        self.rank = identity.rank
        self.number = identity.attempt or 1
        self.restarts = self.number - 1
        """How often a scheduler or launcher says that it has started this anew."""
        self.directory = run_directory(settings.dir, identity.run)
        self.limit_bytes = -1
        self.console_bytes = 0
        self.clock = Clock()
        self.masking = Masking(settings.not_secret)
        self.bookmark = Bookmark(settings, os.environ)
        self.past = Past()
        self._voice = voice
        self._is_numbered = identity.attempt is not None

    def resume(self, *, launcher: str = "") -> None:
        """Find out what earlier attempts left. Raises UsageError where the user wants some and there is none, or not.

        `launcher` is the journal of the `holter run` under which this process was started.
        """
        self.past = recall(self.directory, self.process, launcher=launcher)
        wish = self.settings.resume
        if wish == "never" and self.past.has_history:
            is_argument = self.settings.sources.get("resume") == "an argument"
            allow = "resume='allow'" if is_argument else "HOLTER_RESUME=allow"
            raise UsageError(f"run {self.run} exists in {self.directory}: choose another id or {allow}")
        if wish == "must" and not self.past.has_history:
            raise UsageError(f"there is no run {self.run} in {self.directory} to resume: check the id and HOLTER_DIR")
        if not self._is_numbered:
            self.number = self.past.attempts + (0 if self.past.is_alive else 1)

    def make_place(self, *, elsewhere: str = "") -> None:
        """Make the run's directory, or a temporary one where it can't be; see `make_place`. Raises OSError."""
        self.lie_in(make_place(self.settings.dir, self.run, complain=self._voice.warn, elsewhere=elsewhere))

    def lie_in(self, directory: str) -> None:
        """The run has this directory, which is there."""
        self.directory = directory
        self.limit_bytes = disk_limit(self.settings, directory)
        self.console_bytes = console_limit(self.settings, self.limit_bytes)

    def opened(self, writer: str, process: ProcessIdentity | None = None) -> Opened:
        """The first record of a journal of this attempt."""
        process, at_ns = process or self.process, self.clock.now_ns()
        return process.opens(self.run, writer, at_ns=at_ns, attempt=self.number, rank=self.rank)

    def open_journal(self, writer: str) -> JournalWriter:
        """A journal in the run's directory; its file is made with the first record."""

        def prologue() -> Iterator[bytes]:
            yield encode_record(self.opened(writer))

        return JournalWriter(
            self.directory, prologue, clock=self.clock, limit_bytes=self.limit_bytes, masking=self.masking
        )

    def describe(self, writer: str, *, kind: str = "", started_ns: int = 0) -> Described:
        """What the run is called: what earlier attempts called it, with what the user has chosen now."""
        now_ns, past, chosen = self.clock.now_ns(), self.past.described, self.settings
        default = Settings()
        own = {name: getattr(chosen, name) for name in _NAMES if getattr(chosen, name) != getattr(default, name)}
        if past is None:
            called = {"project": chosen.project, "name": new_name(), **own}
            return Described(at_ns=now_ns, started_ns=started_ns or now_ns, kind=kind, **called)
        if writer in _PARENTS:
            return msgspec.structs.replace(past, at_ns=now_ns, kind=kind, resumed=True, **own)
        if self.past.described_by in _PARENTS:
            # Both read the same settings; what is in ours beyond that are the program's own arguments.
            return msgspec.structs.replace(past, at_ns=now_ns, kind=kind, **own)
        named = {"name": chosen.name} if chosen.name else {}
        return msgspec.structs.replace(past, at_ns=now_ns, resumed=True, **named)

    def tell_sidecar(
        self, journal: JournalWriter, *, pid: int, process_started: int, followed: Sequence[Followed] = ()
    ) -> Watch:
        """What the sidecar has to know of the process that it is to watch, which may be another than our own."""
        return Watch(
            run=self.run,
            directory=self.directory,
            journal=journal.id.hex(),
            pid=pid,
            process_started=process_started,
            attempt=self.number,
            rank=self.rank,
            limit_bytes=self.limit_bytes,
            linger_s=linger_s(),
            console_bytes=self.console_bytes,
            followed=tuple(followed),
            upload=chosen_upload(self.settings, complain=self._voice.warn),
            not_secret=self.settings.not_secret,
            alerts=self.settings.dir if os.path.exists(os.path.join(self.settings.dir, "alerts.toml")) else "",
            is_offline=self.settings.mode == "offline",
            silenced=("*",) if self.settings.guard == "off" else self.settings.silence,
        )


def identify_here(chosen: str, environ: Mapping[str, str]) -> Identity:
    """The run that a program begins which was started as this process was; `chosen` is the id that its user wants."""
    # Looked up only where an agent may have no id of its own.
    parent = identify(os.getppid()) if environ.get("TORCHELASTIC_RUN_ID") else None
    agent = f"{parent.boot_id}/{parent.pid}/{parent.started}" if parent else f"{os.getppid()}"
    return identify_run(chosen, environ, agent=agent)


def working_directory() -> str:
    """Empty where somebody deleted it, or its name is no text for a message."""
    try:
        return as_message(os.getcwd())
    except OSError:
        return ""


def as_message(path: str) -> str:
    """Empty where the path is no text, and so none for a message."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return ""
    return path
