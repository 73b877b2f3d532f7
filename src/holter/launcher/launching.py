"""From a command line to a run: makes the run, starts the command and its sidecar, waits, and says how it ended."""

import contextlib
import importlib
import os
import signal
import threading
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from holter.errors import NotRunnable, is_strict
from holter.launcher.attending import Attendant, hold_signals
from holter.launcher.interrupting import interrupt
from holter.launcher.output import Output
from holter.launcher.program import find_program, replace_by, spawn
from holter.launcher.recorded import RecordedCommand
from holter.launcher.streams import Streams, closed_descriptors, occupy_standard, open_streams
from holter.probes.identity import identify
from holter.recording import launched
from holter.recording.attempt import working_directory
from holter.recording.settings import ENVIRONMENT, Settings, read_settings
from holter.recording.sidecar_link import SidecarLink
from holter.recording.voice import Voice
from holter.wire.way_back import Pumped

READY_AFTER_S = 2.0


def launch(
    command: list[str], options: dict[str, Any], config: dict[str, Any], /, *, tensorboard: Sequence[str] = ()
) -> int:
    """Run the command to its end as a run; returns the exit code for the shell, 128+n for signal n.

    Raises UsageError for what can't work; a command that can't be run is said here, and its code returned.

    Args:
        command: the command and its arguments.
        options: settings as the user gave them, by their names.
        config: the run's configuration.
        tensorboard: folders whose event files are rows of it.
    """
    closed = closed_descriptors()
    occupy_standard()
    environ = dict(os.environ)
    settings = read_settings(options, environ)
    try:
        program = find_program(command[0], environ)
        if settings.mode == "disabled":
            replace_by(program, command, environ=environ)
        try:
            launching = _Launch(command, settings, closed=closed)
            launching.follow(tensorboard)
        except OSError as error:
            because = error.strerror or str(error)
            Voice().warn("directory", f"there is nowhere to record ({because}); the command runs anyway")
            replace_by(program, command, environ=environ)
        return launching.run(program, {**environ, **_as_environment(options)}, config)
    except NotRunnable as error:
        Voice().warn("command", str(error))
        return error.exit_code


class _Launch:
    """The steps for one command, in the order in which they are called."""

    def __init__(self, command: list[str], settings: Settings, *, closed: tuple[int, ...]) -> None:
        self.command = command
        self.settings = settings
        self.voice = Voice(silent=settings.silent, quiet=settings.quiet)
        self.recorded = RecordedCommand(settings, os.environ, voice=self.voice)
        self.attempt = self.recorded.attempt
        self.streams = open_streams(closed, is_kept=self.attempt.console_bytes > 0)
        self.output: Output | None = None
        self.link: SidecarLink | None = None
        self.is_sent = False
        self._followed: Callable[[], None] = lambda: None

    def follow(self, folders: Sequence[str]) -> None:
        """Have event files that come to be in these folders recorded."""
        if folders:
            from holter.launcher.event_rows import FollowedFolders  # only those who ask pay for it

            self._followed = FollowedFolders(self.attempt, folders, say=self.voice.warn).stop

    def run(self, program: str, environ: dict[str, str], config: dict[str, Any], /) -> int:
        self.recorded.describe(config)
        held, mask = hold_signals()
        self._open_output()
        environ |= self._for_those_who_join()
        try:
            pid = spawn(program, self.command, environ=environ, targets=self.streams.targets(), mask=mask)
        except NotRunnable as error:
            self.recorded.never_started(error.exit_code)
            raise
        # From here on somebody waits for the command, whatever of ours fails.
        claims = self.output.claims if self.output else None
        attendant = Attendant(pid, held, resize=self.streams.resize, claims=claims, heard=self._heard)
        self._harmlessly(lambda: self._watch(pid))
        ending = attendant.wait()
        self._harmlessly(self._followed)
        self._harmlessly(lambda: self.recorded.ended(pid, ending))
        if self.output is not None:
            self.output.drain(attendant.may_wait)
        self._harmlessly(lambda: self._say_how_it_ended(ending.status))
        code = os.waitstatus_to_exitcode(ending.status)
        return code if code >= 0 else 128 - code

    def _heard(self, info: signal.struct_siginfo) -> None:
        self._harmlessly(lambda: self.recorded.signalled(info))

    def _harmlessly(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            if is_strict():
                raise
            self.voice.warn("failure", f"not all of it is recorded ({error}); the command runs anyway")

    def _watch(self, pid: int) -> None:
        """Have all that is known of the command written down, and a sidecar look after it."""
        for channel in self.streams.channels:
            if channel.kind == "pipe":
                channel.close_far()
        started = identify(pid)
        process_started = started.started if started else 0
        self._start_sidecar(pid, process_started)
        self.recorded.started(pid, process_started=process_started, command=self.command)
        importlib.import_module("holter.launcher.closing_words")  # while the command runs
        self._get_ready_later()

    def _get_ready_later(self) -> None:
        """A command that fails at once is told about a moment later; one that works must not wait for our imports."""
        from holter.launcher.closing_words import get_ready

        timer = threading.Timer(READY_AFTER_S, lambda: self._harmlessly(get_ready))
        timer.daemon = True
        with contextlib.suppress(RuntimeError):  # there is no room for a thread
            timer.start()

    def _say_how_it_ended(self, status: int) -> None:
        from holter.launcher.closing_words import Ending, say_how_it_ended

        link = self.link
        ending = Ending(
            status=status,
            on_server=list(link.on_server.values()) if link is not None and self.is_sent else None,
            told=link.how_it_ended if link is not None else lambda _: None,
        )
        say_how_it_ended(self.attempt.directory, self.voice, ending=ending)

    def _open_output(self) -> None:
        """Without the means to move output, the command has what we have: it is only not kept then."""
        if not self.streams.channels:
            self.recorded.prints(self.streams, "")
            return
        try:
            attempt = self.attempt
            self.output = Output(
                self.streams, attempt.directory, limit_bytes=attempt.console_bytes, clock=attempt.clock
            )
            self.output.start()
        except (OSError, RuntimeError) as error:  # no descriptor, or no thread, is left
            self.output = None
            for channel in self.streams.channels:
                channel.close()
            because = getattr(error, "strerror", None) or str(error)
            self.voice.warn("console", f"the output can't be kept: {because}; the command runs anyway")
            self.streams = Streams(kept=dict.fromkeys(self.streams.kept, f"none: {because}"))
        self.recorded.prints(self.streams, self.output.transcript if self.output else "")

    def _for_those_who_join(self) -> dict[str, str]:
        """What makes a program that calls `holter.init()` part of this run."""
        run = self.attempt.run
        word = launched.Launched(run, self.recorded.journal.id.hex(), self.streams.captured)
        data = os.path.dirname(os.path.dirname(self.attempt.directory))
        return {"HOLTER_RUN_ID": run, "HOLTER_DIR": data, launched.VARIABLE: launched.as_variable(word)}

    def _start_sidecar(self, pid: int, process_started: int) -> None:
        pumped = None
        if self.output is not None:
            pumped = Pumped(
                transcript=self.output.transcript,
                streams=tuple(channel.stream for channel in self.streams.channels),
                launcher_pid=os.getpid(),
                launcher_started=self.attempt.process.started,
            )
        journal, followed = self.recorded.journal, self.streams.followed
        message = msgspec.structs.replace(
            self.attempt.tell_sidecar(journal, pid=pid, process_started=process_started, followed=followed),
            cwd=working_directory(),
            pumped=pumped,
            by_launcher=True,
        )
        self.is_sent = message.upload is not None
        self.link = SidecarLink(
            self.voice, interrupt=lambda: interrupt(pid), what="the command", unless="--allow-stop was not given"
        )
        if self.settings.allow_stop:
            self.link.allow_stop(message.run)
        try:
            self.link.watch(message, console_fds=self.output.descriptors if self.output else (), command=self.command)
        except OSError as error:
            self.voice.warn("sidecar", f"the sidecar did not start ({error}): system curves are missing")


def _as_environment(options: dict[str, Any]) -> dict[str, str]:
    """The options as the variables that a program which joins reads; its own arguments win over them."""
    texts = {
        name: ",".join(value) if name in ("tags", "not_secret", "silence") else str(value)
        for name, value in options.items()
    }
    return {ENVIRONMENT[name]: text for name, text in texts.items()}
