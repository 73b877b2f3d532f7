"""The run as the user holds it: every method delegates, and none raises once training runs."""

import os
import sys
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from holter.client.artifact_run import ArtifactRun
from holter.client.boundary import harmless
from holter.client.capture.description import describe, exit_code_of, exit_text_of, plain_exit_code
from holter.client.deadline import in_time
from holter.client.defined_run import DefinedRun
from holter.client.mappings import Config, Summary, settle
from holter.client.recorder import Recorder
from holter.client.shell import current_shell
from holter.client.shortened import text_of
from holter.client.stoppable_run import StoppableRun
from holter.client.tools_of_run import ToolsOfRun
from holter.client.trial import TrialPruned
from holter.client.values import plain_row, plain_tree
from holter.errors import NotKept, NotSynced, RunFinished, is_strict
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.masking import masked_in_words
from holter.model.record import Record
from holter.model.records import Alerted, Configured, Described, Finished, Preempting, Raised, Summarised
from holter.recording.login import rows_in_words
from holter.recording.sidecar_link import SidecarLink
from holter.recording.voice import Voice
from holter.wire.addresses import page_of
from holter.wire.way_back import Events

if TYPE_CHECKING:
    from holter.memory.held import Variables

FINISH_WITHIN_S = 2.0
LEAVE_WITHIN_S = 0.5
MOST_TITLES = 1000


class Run(StoppableRun, DefinedRun, ArtifactRun, ToolsOfRun):
    """One execution of a training program. Made by `holter.init()`; thread-safe; safe in forked children."""

    def __init__(
        self,
        identity: str,
        recorder: Recorder,
        described: Described,
        *,
        link: SidecarLink,
        voice: Voice,
        clock: Clock,
    ) -> None:
        self.id = identity
        self.resumed = described.resumed
        self.server = ""
        """The address of the server to which the run is sent; empty where it stays on this machine."""
        self.has_known_id = False
        """Whether another machine may have recorded into it: its id was chosen, or is its job's."""
        self._recorder = recorder
        super().__init__(described, clock)
        self._link = link
        self._voice = voice
        self._owner_pid = os.getpid()
        self._finished = False
        self._failures = 0
        self._has_raised = False
        self._last_raised: Raised | None = None
        self.has_failed = False
        """The program itself ended it as failed: an exception that follows, and ends the program, is why."""
        self._failed_at: int | None = None
        """How many rows there were when a cell failed: with more of them, that is overcome."""
        self._alerted_ns: dict[str, int] = {}
        self._when_ended: Callable[[Run], None] = lambda run: None
        self._when_ending: Callable[[], None] = lambda: None
        self._when_well: Callable[[], None] = lambda: None
        self._config_values: dict[str, Any] = {}
        self._config_kept: dict[str, Any] = {}
        self._summary_by_hand: dict[str, Any] = {}

    def log(
        self, data: Mapping[str, Any], step: int | None = None, commit: bool | None = None, sync: bool | None = None
    ) -> None:
        """Record a row; once this returns it survives `kill -9`.

        Args:
            data: names and values, up to 100,000 of them; nested dicts become `outer.inner`.
            step: where the row belongs, in any order: a whole number between -2**62 and 2**62, a row of any other is
                not recorded. Left out, the step after the last one. For the same step and name the last write wins.
            commit: False adds to the current step without going on to the next; what it adds is kept at once.
            sync: W&B's old word; it makes no difference.
        """
        try:
            if self._finished:
                raise RunFinished(f"log() after finish() of run {self.id}: the row is not recorded")
            self._recorder.log(data, step, commit)
        except Exception as error:  # noqa: BLE001  the boundary; inlined, for a decorator would cost a tenth of the call
            self.report("log", error)

    def flush(self) -> bool:
        """Wait until everything logged so far would survive the death of the machine; leaves a mark in the charts.

        False where the disk fails, which is said: what was logged survives the death of the process all the same, and
        the next call tries again.
        """
        try:
            if self._finished:
                raise RunFinished(
                    f"flush() after finish() of run {self.id}: its sidecar brings what is left to the disk"
                )
            self._recorder.flush()
        except Exception as error:  # noqa: BLE001  the boundary
            self.report("flush", error)
            return False
        self._voice.forget("flush:NotSynced")
        return True

    def finish(self, exit_code: int | None = None, quiet: bool | None = None) -> None:
        """End the run: finished for 0 or None, failed otherwise. Takes 2 s at most, whatever happens. Idempotent."""
        exit_code = plain_exit_code(exit_code)
        if exit_code and self.is_owned and not self._finished:
            self.has_failed = True
            self._keep_error(sys.exc_info()[1])
        self._end(Finished(at_ns=self._clock.now_ns(), exit_code=exit_code, how="finish"), is_quiet=bool(quiet))

    @property
    def config(self) -> Config:
        """The configuration; every change of it is kept."""
        return Config(self._config_values, self._keep_config, report=self.report)

    @property
    def summary(self) -> Summary:
        """The last value of each key; values set by hand win."""
        last = self._recorder.summarised
        return Summary(last, self._summary_by_hand, keep=self._keep_summary, report=self.report)

    @harmless
    def alert(self, title: str, text: str = "", level: str = "INFO", wait_duration: float | None = None) -> None:
        """Record that somebody should look.

        Args:
            level: INFO, WARN or ERROR.
            wait_duration: seconds, or a timedelta, for which an alert of the same title is not recorded again.
        """
        if self._is_over("alert()"):
            return
        at_ns, title = self._clock.now_ns(), text_of(title, 500)
        if at_ns - self._alerted_ns.get(title, 0) < self._seconds_of(wait_duration) * 1e9:
            return
        if len(self._alerted_ns) >= MOST_TITLES:
            self._alerted_ns.clear()
        self._alerted_ns[title] = at_ns
        level = str(getattr(level, "value", level)).upper()
        self._recorder.record(Alerted(at_ns=at_ns, title=title, text=text_of(text, 5000), level=level))
        self._link.look(self.dir)

    def save(self, glob_str: Any = None, base_path: Any = None, policy: str = "live") -> list[str]:
        """Keep copies of files in the run's directory, under `files`; returns where they are or will be.

        Args:
            glob_str: a path or pattern; `**` stands for any number of folders.
            base_path: copies keep their place below it; left out, the working directory, or for an absolute pattern
                the directory above the file's own.
            policy: `now` as they are, `live` again whenever they change, `end` as they are when the run ends.
        """
        try:
            if glob_str is base_path is None:
                return []  # W&B's old way to keep the name, which is kept already
            if self._finished:
                raise RunFinished(f"save() after finish() of run {self.id}: nothing is kept")
            return self._save(glob_str, base_path, policy)
        except Exception as error:  # noqa: BLE001  the boundary
            self.report("save", error)
            return []

    @harmless
    def variables(self) -> "Variables":
        """What holds the memory of this process, by size: a notebook's names, or those that the calling code can see.

        Shows itself as a table, and can be gone through. Runs no code of the user's; takes about 20 ms at most.
        """
        from holter.memory.variables import variables_here  # only those who ask pay for it

        return variables_here()

    @harmless
    def mark_preempting(self) -> None:
        """Say that a scheduler is about to take the place: an end that follows is `preempted`, not `crashed`."""
        if not self._is_over("mark_preempting()"):
            self._recorder.record(Preempting(at_ns=self._clock.now_ns()))

    @property
    def dir(self) -> str:
        """Where the run lies on this machine."""
        return self._recorder.directory

    @property
    def attempt(self) -> int:
        """Which one of the run's this is: 1 until it was resumed."""
        return self._recorder.attempt

    @property
    def step(self) -> int:
        """The step that a `log()` without one would get."""
        return self._recorder.next_step

    @property
    def url(self) -> str | None:
        """The page of the run on the server to which it is sent; None where it stays on this machine."""
        if not self.server:
            return None
        from holter.journal.server_ids import read_server_id  # only for those who ask

        there = read_server_id(self.dir, self.server, run=self.id)
        return f"{self.server}/{page_of(self.project, there)}"

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        error = None if isinstance(error, TrialPruned) else error  # a sweep's agent catches it: the run is no failure
        self._keep_error(error)
        code, text = exit_code_of(error), exit_text_of(error)
        self._end(Finished(at_ns=self._clock.now_ns(), exit_code=code, how="context", exit_text=text))

    def __repr__(self) -> str:
        return f"<holter run {self.project}/{self.name} ({self.id})>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What a notebook shows for a cell that ends with the run."""
        from holter.client.badge import Shown, bundle, read_curves  # only notebooks pay for it

        try:
            state = "ended" if self._finished else "recording" if self.dir else "disabled"
            curves = read_curves(self.dir, self.journal.id.hex())
            return bundle(Shown(f"{self.project}/{self.name}", state, self.id, self.url or "", curves))
        except Exception as error:  # noqa: BLE001  the boundary
            self.report("display", error)
            return {"text/plain": repr(self)}

    @property
    def address(self) -> tuple[str, str, bytes, int]:
        """What another process of this program needs to join the run."""
        return self.id, self.dir, msgspec.msgpack.encode(self._described), self._recorder.attempt

    @property
    def journal(self) -> JournalWriter:
        """The journal of this process; another one in a forked child."""
        return self._recorder.journal

    def when_ended(self, call: "Callable[[Run], None]", *, before: Callable[[], None]) -> None:
        """Call this when the run has ended, however it did, and `before` while it can still keep something."""
        self._when_ended = call
        self._when_ending = before

    def follow_events(self, told: Events) -> bool:
        """Have the sidecar record what this process writes for TensorBoard; false where there is none."""
        return self._link.follow_events(told)

    def when_well(self, call: Callable[[], None]) -> None:
        """Call this when the run ends without an error."""
        self._when_well = call

    @property
    def is_owned(self) -> bool:
        """Whether this process opened the run, and so ends it."""
        return os.getpid() == self._owner_pid

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is recorded."""
        return self._finished

    @property
    def starting_step(self) -> int:
        """The step of the first row of this attempt, unless it says another."""
        return self._recorder.first_step

    @property
    def last_row_ns(self) -> int:
        """When it last logged; 0 where it never did."""
        return (self._recorder.rows.last_row or (0, 0))[0]

    def disown(self) -> None:
        """This process adds rows; another one ends the run."""
        self._owner_pid = -1

    @harmless
    def raised(self, raised: Raised) -> None:
        """Keep an exception that nobody caught."""
        if raised.where == "main" and not self.is_owned:
            raised = msgspec.structs.replace(raised, where="child")
        self._has_raised = self._has_raised or raised.where == "main"
        self._failed_at = self._recorder.rows.rows if raised.where == "cell" else self._failed_at
        if not self._finished:
            self._recorder.record(raised)
            self._last_raised = raised
        elif self.has_failed and self.is_owned and not _is_same(raised, self._last_raised):
            self._recorder.add_late(raised)

    @harmless
    def keep(self, record: Record) -> None:
        """Keep a sentence of somebody who watches the program; nothing once the run has ended."""
        if not self._finished:
            self._recorder.record(record)

    @harmless
    def look_at_config(self) -> None:
        """Keep what somebody changed inside of a nested value of the configuration: `config["model"]["width"] = 4`.

        And tell the user, once, if secrets were hidden so far, and where they were.
        """
        if plain_tree(self._config_values, lambda cause, text: None) != self._config_kept:
            self._keep_config()
        if (counts := self._recorder.masking.counts) and self.is_owned:
            self._voice.mention(f"masked {self.id}", f"masked {masked_in_words(counts)}")

    @harmless
    def rest(self) -> None:
        """In a child that is about to end without a word: give back what its journal has reserved."""
        if not self.is_owned and not self._finished:
            self._recorder.rest()

    def leave(self, asked: int | None = None, text: str = "", *, how: str = "atexit") -> None:
        """End the run because the interpreter exits; the code that it asked for last may not be that of its exit.

        Args:
            how: `replaced` where another run is opened in its place; nobody says how this one went.
        """
        self._end(Finished(at_ns=self._clock.now_ns(), how=how, exit_code=asked, exit_text=text))

    @harmless
    def leave_at_once(self, exit_code: int) -> None:
        """End the run because of `os._exit`, which leaves no time for anything else."""
        if self._finished or not self.is_owned:
            return
        # In this thread: in a signal handler we may be inside of `log()`, for which no other thread could wait.
        if self.journal.lock.acquire(timeout=LEAVE_WITHIN_S):
            self._when_ending()
            self.look_at_config()
            self._finished = True
            self._recorder.close(Finished(at_ns=self._clock.now_ns(), exit_code=exit_code, how="_exit"))

    def after_fork(self) -> None:
        """In a forked child: rows go to a journal of the child, and the run is the parent's to end."""
        self._recorder.after_fork()

    def remark(self, text: str) -> None:
        """Say something about the run that its user should know, once."""
        self._recorder.complain(text, text)

    def report(self, doing: str, error: Exception) -> None:
        """Count a failure of ours and say it once per cause; with HOLTER_STRICT it is raised instead."""
        if is_strict() and not isinstance(error, NotKept | NotSynced | RunFinished):
            raise error
        self._failures += 1
        if isinstance(error, NotKept):
            self._voice.warn("not-kept", f"can't record: {error}; training goes on, recording resumes when it can")
        elif self._voice.warn(f"{doing}:{type(error).__name__}:{_cell(error)}", str(error) or type(error).__name__):
            self._recorder.note(f"{doing}: {error}")

    def _seconds_of(self, wait_duration: Any) -> float:
        """Of an alert, which is kept whatever was given here."""
        try:
            return float(getattr(wait_duration, "total_seconds", lambda: wait_duration or 0.0)())
        except (TypeError, ValueError):
            self.remark(f"wait_duration of alert() takes seconds or a timedelta, got {text_of(wait_duration, 40)}")
            return 0.0

    def _save(self, glob_str: Any, base_path: Any, policy: str) -> list[str]:
        from holter.client.saving import save_files, understand  # only those who save pay for it

        if not self.dir:  # disabled
            return []
        kept = save_files(understand(glob_str, base_path, policy=policy), self._recorder, at_ns=self._clock.now_ns())
        if not self._link.look(self.dir) and kept.later and self.is_owned:
            self._voice.warn("save:sidecar", "there is no sidecar to copy files of more than 1 MiB: they are not kept")
        return kept.files

    def _end(self, finished: Finished, *, is_quiet: bool = False) -> None:
        if self._finished:
            return
        self._when_ending()
        self.look_at_config()
        if self.is_owned and "holter.client.watches" in sys.modules:
            self.unwatch()  # its models go on without it, and must be free to go
        if "holter.client.tensorboard" in sys.modules:
            sys.modules["holter.client.tensorboard"].write_out()
        self._finished = True
        finished = msgspec.structs.replace(finished, exit_code=plain_exit_code(finished.exit_code))
        is_closed = in_time(lambda: self._close(finished), FINISH_WITHIN_S)
        if is_closed and self.is_owned and not is_quiet:
            seconds = (finished.at_ns - self._described.started_ns) / 1e9
            self._voice.tell(f"{self.name} ended after {seconds:,.1f} s with {self._count()}; `holter show {self.id}`")
        self._when_ended(self)

    def _count(self) -> str:
        """How many rows there are, and how many of them are on the server, as far as that is known at this moment."""
        rows, known = self._recorder.rows.rows, self._link.on_server.get(self.journal.id.hex())
        if not self.server:
            return f"{rows:,} row{'' if rows == 1 else 's'}"
        there, is_stuck = (known.rows, known.is_stuck) if known else (0, False)
        return rows_in_words(rows, there, run=self.id, is_stuck=is_stuck)

    def _close(self, finished: Finished) -> None:
        try:
            self._recorder.close(finished if self.is_owned else None)
        except NotKept as error:
            self.report("finish", error)
        if self.is_owned:
            has_failed_cell = self._failed_at == self._recorder.rows.rows and finished.how != "finish"
            if not finished.exit_code and not self._has_raised and not has_failed_cell:
                self._when_well()
            self._tell_sidecar(finished)

    def _tell_sidecar(self, finished: Finished) -> None:
        journal = self.journal
        if finished.how == "atexit" and not journal.lost:
            return  # it waits for the process, whose exit status says how this ends
        self._link.ended(
            journal.id.hex(), lost=journal.lost, because=journal.because, is_leaving=finished.how == "atexit"
        )

    @harmless
    def _keep_error(self, error: BaseException | None) -> None:
        """Why the program ends its run."""
        if error is None or isinstance(error, SystemExit):
            return
        from holter.client.capture.surroundings import look_around  # only those who fail pay for it

        self.raised(describe(error, self._clock.now_ns()))
        if not isinstance(error, KeyboardInterrupt):
            self.keep(look_around(error, [self.dir] if self.dir else [], at_ns=self._clock.now_ns()))

    def _is_over(self, doing: str) -> bool:
        """Whether the run has ended; if so, it is said."""
        if self._finished:
            self.report(doing, RunFinished(f"{doing} after finish() of run {self.id}: it is not recorded"))
        return self._finished

    def _keep_config(self) -> None:
        self._is_over("a change of config")
        self._config_kept = plain_tree(self._referred(self._config_values, "config"), self._recorder.complain)
        settle(self._config_values, plain_tree(self._config_kept, self._recorder.complain))
        self.keep(Configured(at_ns=self._clock.now_ns(), config=self._config_kept))

    def _referred(self, values: dict[str, Any], place: str) -> dict[str, Any]:
        """With the names of media instead of them, where somebody has loaded what makes some."""
        if not self.dir or "holter.client.media.medium" not in sys.modules:
            return values
        from holter.client.media.references import with_references

        return with_references(values, place, recorder=self._recorder, at_ns=self._clock.now_ns())

    def _keep_summary(self, summary: dict[str, Any]) -> dict[str, Any]:
        self._is_over("a change of summary")
        kept = plain_row(self._referred(summary, "summary"), self._recorder.complain)
        self.keep(Summarised(at_ns=self._clock.now_ns(), summary=kept))
        return kept


def _is_same(one: Raised, other: Raised | None) -> bool:
    return other is not None and (one.type, one.message) == (other.type, other.message)


def _cell(error: Exception) -> int:
    """The notebook's cell in which a run that has ended is used: it is said once in each."""
    shell = current_shell() if isinstance(error, RunFinished) else None
    return int(getattr(shell, "execution_count", 0))
