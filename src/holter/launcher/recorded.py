"""The run that a command becomes: which one it is, and what its launcher writes down about it."""

import contextlib
import os
import signal
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from holter.errors import NotKept, UsageError
from holter.journal.frame import encode_record
from holter.journal.rundir import run_directory
from holter.journal.writer import JournalWriter
from holter.launcher.attending import Ending
from holter.launcher.streams import Streams
from holter.model.clock import Clock
from holter.model.evidence import Sender
from holter.model.masking import Masking
from holter.model.records import Configured, Console, Described, Exited, Finished, Launched, Record, Signalled
from holter.probes.identity import identify, this_process
from holter.recording.identity import identify_run, new_name
from holter.recording.launched import read_launched
from holter.recording.past import Bookmark, recall
from holter.recording.place import disk_limit, make_place
from holter.recording.settings import Settings
from holter.recording.voice import Voice


class RecordedCommand:
    """Owns the launcher's journal. Nothing of it raises once it is made: a run that can't be kept must run."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], *, voice: Voice, clock: Clock) -> None:
        """Raises UsageError."""
        self._settings = settings
        self._voice = voice
        self._clock = clock
        self._process = this_process()
        self._bookmark = Bookmark(settings.dir, settings.project) if settings.resume == "auto" else None
        self.identity = identify_run(self._chosen(environ), environ, agent=_agent())
        self._past = recall(run_directory(settings.dir, self.identity.run), self._process)
        self._settle_resume()
        self.directory = make_place(settings.dir, self.identity.run, complain=voice.warn)
        self.attempt = self.identity.attempt or self._past.attempts + (0 if self._past.is_alive else 1)
        self.limit_bytes = disk_limit(settings, self.directory)
        self._journal = JournalWriter(
            self.directory,
            self._prologue,
            clock=clock,
            limit_bytes=self.limit_bytes,
            masking=Masking(settings.not_secret),
        )

    @property
    def run(self) -> str:
        """The run's id."""
        return self.identity.run

    @property
    def journal(self) -> str:
        """The launcher's journal."""
        return self._journal.id.hex()

    def describe(self, config: dict[str, Any]) -> None:
        """Write down what the user calls the run."""
        now_ns = self._clock.now_ns()
        chosen, past = self._settings, self._past.described
        described = Described(
            at_ns=now_ns,
            started_ns=past.started_ns if past else now_ns,
            project=chosen.project if past is None or chosen.project != Settings().project else past.project,
            name=chosen.name or (past.name if past else new_name()),
            entity=chosen.entity or (past.entity if past else ""),
            notes=chosen.notes or (past.notes if past else ""),
            group=chosen.group or (past.group if past else ""),
            job_type=chosen.job_type or (past.job_type if past else ""),
            tags=chosen.tags or (past.tags if past else ()),
            resumed=past is not None,
        )
        self._keep(described)
        if config or self._past.config:
            self._keep(Configured(at_ns=now_ns, config={**self._past.config, **config}))
        if self._bookmark is not None:
            with contextlib.suppress(OSError):  # then the next command begins anew
                self._bookmark.write(self.run)

    def started(self, pid: int, *, process_started: int, command: list[str]) -> None:
        """Write down which process it is."""
        shown = tuple(os.fsencode(word).decode("utf-8", "replace") for word in command)
        self._keep(Launched(at_ns=self._clock.now_ns(), pid=pid, process_started=process_started, command=shown))

    def prints(self, streams: Streams, transcript: str) -> None:
        """Write down how its output is kept."""
        self._keep(Console(at_ns=self._clock.now_ns(), transcript=transcript, **streams.kept))

    def signalled(self, info: signal.struct_siginfo) -> None:
        """Write down that the command and we were told to end, and by whom."""
        from holter.probes.postmortem.sender import look

        is_sent = info.si_code <= 0
        found = look(info.si_pid) if is_sent and info.si_pid > 0 else None
        self._keep(
            Signalled(
                at_ns=self._clock.now_ns(),
                signal=info.si_signo,
                code=info.si_code,
                sender_pid=info.si_pid if is_sent else 0,
                sender_uid=info.si_uid if is_sent else 0,
                sender=found.command if isinstance(found, Sender) else "",
            )
        )

    def ended(self, pid: int, ending: Ending) -> None:
        """Write down how it ended."""
        usage = ending.usage
        self._keep(
            Exited(
                at_ns=self._clock.now_ns(),
                journal=self.journal,
                pid=pid,
                source="wait",
                status=ending.status,
                max_rss_bytes=usage.ru_maxrss * 1024,
                user_s=usage.ru_utime,
                system_s=usage.ru_stime,
            )
        )
        if ending.status == 0 and self._bookmark is not None:
            self._bookmark.clear()
        self._journal.close()

    def never_started(self, exit_code: int) -> None:
        """Write down that nothing came of it."""
        self._keep(Finished(at_ns=self._clock.now_ns(), exit_code=exit_code))
        self._journal.close()

    def _keep(self, record: Record) -> None:
        try:
            self._journal.record(record)
        except NotKept as error:
            self._voice.warn("not-kept", f"can't record: {error}; the command runs anyway")

    def _chosen(self, environ: Mapping[str, str]) -> str:
        """The id that the user asked for. One that another launcher set for its own command is no such wish."""
        launched = read_launched(environ)
        if launched is not None and launched.run == self._settings.run_id:
            return ""
        return self._settings.run_id or (self._bookmark.read() if self._bookmark else "")

    def _settle_resume(self) -> None:
        if self._settings.resume == "never" and self._past.attempts:
            raise UsageError(f"run {self.run} exists already: choose another id or HOLTER_RESUME=allow")
        if self._settings.resume == "must" and not self._past.attempts:
            raise UsageError(f"there is no run {self.run} in {self._settings.dir} to resume: check the id")

    def _prologue(self) -> Iterator[bytes]:
        opened = self._process.opens(self.run, "launcher", at_ns=self._clock.now_ns(), attempt=self.attempt)
        yield encode_record(msgspec.structs.replace(opened, rank=self.identity.rank))


def _agent() -> str:
    parent = identify(os.getppid())
    return f"{parent.boot_id}/{parent.pid}/{parent.started}" if parent else f"{os.getppid()}"
