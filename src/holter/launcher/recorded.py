"""The run that a command becomes: which one it is, and what its launcher writes down about it."""

import os
import signal
from collections.abc import Mapping
from typing import Any

from holter.errors import NotKept
from holter.launcher.attending import Ending
from holter.launcher.streams import Streams
from holter.model.evidence import Sender
from holter.model.record import Record
from holter.model.records import Configured, Console, Exited, Finished, Launched, Signalled
from holter.probes.identity import this_process
from holter.recording.attempt import Attempt, identify_here
from holter.recording.launched import read_launched
from holter.recording.past import Bookmark
from holter.recording.settings import Settings
from holter.recording.voice import Voice


class RecordedCommand:
    """Owns the launcher's journal. Nothing of it raises once it is made: a run that can't be kept must run."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], *, voice: Voice) -> None:
        """Raises UsageError, OSError."""
        given = read_launched(environ)
        # An id that another launcher set for its own command is no wish of the user's.
        is_theirs = given is not None and given.run == settings.run_id
        chosen = "" if is_theirs else settings.run_id or Bookmark(settings, environ).claim()
        self.attempt = Attempt(settings, this_process(), identity=identify_here(chosen, environ), voice=voice)
        self.attempt.resume()
        self.attempt.make_place()
        self.journal = self.attempt.open_journal("launcher")
        self._voice = voice
        self._clock = self.attempt.clock

    def describe(self, config: dict[str, Any]) -> None:
        """Write down what the user calls the run."""
        attempt = self.attempt
        self._keep(attempt.describe("launcher"))
        if config or attempt.past.config:
            self._keep(Configured(at_ns=self._clock.now_ns(), config={**attempt.past.config, **config}))
        attempt.bookmark.write(attempt.run)

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
                journal=self.journal.id.hex(),
                pid=pid,
                source="wait",
                status=ending.status,
                max_rss_bytes=usage.ru_maxrss * 1024,
                user_s=usage.ru_utime,
                system_s=usage.ru_stime,
            )
        )
        if ending.status == 0:
            self.attempt.bookmark.clear(self.attempt.run)
        self.journal.close()

    def never_started(self, exit_code: int) -> None:
        """Write down that nothing came of it."""
        self._keep(Finished(at_ns=self._clock.now_ns(), exit_code=exit_code))
        self.journal.close()

    def _keep(self, record: Record) -> None:
        try:
            self.journal.record(record)
        except NotKept as error:
            self._voice.warn("not-kept", f"can't record: {error}; the command runs anyway")
