"""`holter.init()`: from what the user asked for to a run that records."""

import contextlib
import copyreg
import os
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from holter.client import active
from holter.client.capture.printing import Copy, Printing, choose_printing
from holter.client.disabled import disabled_run
from holter.client.named_values import names_given
from holter.client.recorder import Recorder
from holter.client.run import Run
from holter.client.shell import current_shell, is_kernel
from holter.client.trial import placed, read_trial, suggested
from holter.client.wandb_words import Understood, set_by_variables
from holter.errors import NotKept, UsageError
from holter.journal.rundir import run_directory
from holter.model.records import KERNEL, Console, Described, Opened
from holter.probes.identity import identify, this_process
from holter.recording.attempt import Attempt, as_message, identify_here, working_directory
from holter.recording.identity import Identity, new_run_id
from holter.recording.kernels import PROJECT, read_kernel, server_pid
from holter.recording.launched import Launched, read_launched
from holter.recording.login import source_of_server
from holter.recording.past import Bookmark
from holter.recording.settings import Settings, read_settings
from holter.recording.voice import Voice

if TYPE_CHECKING:
    from holter.client.going_back import Moment
    from holter.journal.rewinding import History

_REINIT = (None, True, False, "default", "return_previous", "finish_previous", "create_new")
_used: set[str] = set()


def init(
    project: str | None = None,
    entity: str | None = None,
    *,
    name: str | None = None,
    id: str | None = None,
    config: Any = None,
    tags: Any = None,
    notes: str | None = None,
    group: str | None = None,
    job_type: str | None = None,
    dir: Any = None,
    mode: str | None = None,
    resume: Any = None,
    resume_from: str | None = None,
    fork_from: str | None = None,
    reinit: Any = None,
    guard: str | None = None,
    settings: Any = None,
    **others: Any,
) -> Run:
    """Start a run and make it the active one. Never touches the network, never waits for the sidecar.

    With `resume_from="RUN?_step=1200"` it goes back in a run to a step; with `fork_from` another run begins there.
    Raises UsageError for what cannot work; a directory that can't be made is replaced by a temporary one.
    """
    arguments = {"project": project, "entity": entity, "name": name, "run_id": id, "tags": tags, "notes": notes}
    arguments |= {"group": group, "job_type": job_type, "dir": dir, "mode": mode, "resume": resume, "guard": guard}
    named = {**set_by_variables(os.environ), **names_given(settings, "settings")}
    reinit = named.pop("reinit", None) if reinit is None else reinit
    moment = _moment(named, {"resume_from": resume_from, "fork_from": fork_from})
    asked = Understood(named, _given(arguments), others=others)
    asked.look_at_environment(os.environ)
    place = _place(asked.settings.pop("dir", None))
    chosen = _chosen(asked.settings, moment)
    asked.look_at_id(chosen.run_id)
    values = asked.leave_out(names_given(config, "config"))
    if chosen.mode != "disabled":
        _follow_others(asked)
    if (trial := read_trial()) is not None:
        chosen, values = placed(chosen, trial, is_used=_used.__contains__), suggested(values, trial)
    if (previous := _previous(reinit)) is not None:
        previous.config.update(values)
        if left := _left_aside(previous, chosen, asked.settings, moment):
            another = "reinit='create_new' begins another"
            previous.remark(f"run {previous.id} is still active, and init() gives it back without {left}; {another}")
        return previous
    if chosen.mode == "disabled":
        run = disabled_run(chosen, values)
        active.remember(run)
        for text in asked.remarks:
            Voice(silent=chosen.silent).warn(text, text)
        return run
    run = _Opening(chosen, values, place=place, moment=moment).open()
    if trial is not None and run.id == trial.run:
        trial.begin(run)
    for text in asked.remarks:
        run.remark(text)
    return run


def open_kernel_run(name: str) -> Run | None:
    """Record this notebook's kernel for its own sake; None where nothing is to be recorded.

    It stays on this machine: nobody asked for what they type and see to be sent anywhere. Raises UsageError.
    """
    chosen = read_settings({"project": PROJECT, "name": name, "resume": "allow"}, os.environ)
    if chosen.mode == "disabled":
        return None
    chosen = msgspec.structs.replace(chosen, run_id=new_run_id(), mode="offline")
    server = read_kernel(os.environ)
    if server is None or server.run in _used or server.directory != run_directory(chosen.dir, server.run):
        return _Opening(chosen, {}, kind=KERNEL).open()
    # The server that started this kernel records it already: both make one run.
    chosen = msgspec.structs.replace(chosen, run_id=server.run)
    return _Opening(chosen, {}, kind=KERNEL, launched=Launched(server.run, server.journal)).open()


def attach(run: str, directory: str, described: bytes, attempt: int, /) -> Run:
    """A run that another process of ours opened, continued in this one with a journal of its own."""
    if (current := active.current()) is not None and current.id == run:
        return current
    opening = _Opening(read_settings({"run_id": run}, os.environ), {})
    return opening.join(directory, msgspec.msgpack.decode(described, type=Described), attempt=attempt)


# A run handed to a spawned process goes on there, in a journal of that process.
copyreg.pickle(Run, lambda run: (attach, run.address))
active.join_parent(attach)


class _Opening:
    """The steps of `init()` for one run, in the order in which they are called."""

    def __init__(
        self,
        settings: Settings,
        config: dict[str, Any],
        *,
        kind: str = "",
        launched: Launched | None = None,
        place: str = "",
        moment: "Moment | None" = None,
    ) -> None:
        self.settings = settings
        self.place = place
        self.moment = moment
        self.history: History | None = None
        self.kind = kind
        self.config = config
        launched = launched or read_launched(os.environ)
        is_theirs = launched is not None and settings.run_id == launched.run and launched.run not in _used
        self.launched = launched if is_theirs else None
        self.launcher = launched.journal if launched is not None and is_theirs else ""
        chosen = settings.run_id or Bookmark(settings, os.environ).claim()
        identity = _identify(chosen, launched)
        self.has_known_id = bool(chosen) or identity.is_shared
        silent = settings.silent or bool(identity.rank)
        show = _show_in_cell if is_kernel() else lambda line: False
        self.voice = Voice(silent=silent, quiet=settings.quiet or is_theirs, show=show)
        self.attempt = Attempt(settings, this_process(), identity=identity, voice=self.voice)

    def open(self) -> Run:
        attempt = self.attempt
        attempt.resume(launcher=self.launcher)
        back = self.moment.begin(attempt, os.environ) if self.moment is not None else None
        attempt.make_place(elsewhere=self.place)
        self.history = back.history if back is not None else None
        run = self._start(attempt.describe("client", kind=self.kind))
        run.has_known_id = self.has_known_id
        if back is not None:
            run.keep(back.record)
        if attempt.past.config or self.config:
            run.config.update({**attempt.past.config, **self.config})
        printing = self._choose_printing(run)
        active.remember(run)
        active.watch_program(attempt.rank)
        _used.add(run.id)
        attempt.bookmark.write(run.id)
        run.when_well(lambda: attempt.bookmark.clear(run.id))
        self._watch(run, printing)  # late: while a sidecar starts, it takes from us what it needs for that
        if current_shell() is not None:
            from holter.client.notebook.entry import enter  # only notebooks pay for it

            enter(run, self.settings.dir, may_show=not self.settings.silent)
        sent = f", sent to {run.server} ({source_of_server(self.settings)})" if run.server else ""
        self.voice.tell(f"recording {run.project}/{run.name}{sent}; `holter show {run.id}`")
        run.look_at_config()
        return run

    def join(self, directory: str, described: Described, *, attempt: int) -> Run:
        """A second process of a run: it neither describes the run nor ends it."""
        self.attempt.lie_in(directory)
        self.attempt.number = attempt
        run = self._start(described, is_owner=False)
        self._choose_printing(run)
        active.remember(run)
        active.watch_program(self.attempt.rank)
        return run

    def _start(self, described: Described, *, is_owner: bool = True) -> Run:
        attempt = self.attempt

        def opened() -> Opened:
            me = identify(os.getpid()) or attempt.process
            writer = "client" if is_owner and me.pid == attempt.process.pid else "worker"
            parent = os.getppid() if is_kernel() else 0
            return msgspec.structs.replace(attempt.opened(writer, me), launcher=self.launcher, kernel_parent=parent)

        self.voice.keep_in(attempt.directory)
        recorder = Recorder(
            attempt.directory,
            opened,
            complain=self.voice.warn,
            clock=attempt.clock,
            masking=attempt.masking,
            limit_bytes=attempt.limit_bytes,
        )
        recorder.attempt = attempt.number
        recorder.waits_for_gpu = self.settings.gpu_scalars == "wait"
        recorder.start_from(attempt.past.last, attempt.past.next_step, history=self.history)
        link = active.link(self.voice)
        run = Run(attempt.run, recorder, described, link=link, voice=self.voice, clock=attempt.clock)
        if recorder.metrics:
            run.go_on_defining()

        has_guards = self.settings.guard != "off"

        def each_second() -> None:
            active.look_again()
            run.look_at_config()
            if has_guards:
                active.notice_habits(run, recorder.rows.rows)
            if (pressure := sys.modules.get("holter.client.pressure")) is not None:
                pressure.of_process().at_log(run)

        recorder.each_second = each_second
        if is_owner:
            run.describe(described)
        else:
            run.disown()
        return run

    def _choose_printing(self, run: Run) -> Printing:
        """How the console is kept; what we copy ourselves is copied from now on."""
        limit, clock = self.attempt.console_bytes, self.attempt.clock
        printing = choose_printing(run.id, self.launched, limit_bytes=limit)
        if run.is_owned:
            with contextlib.suppress(NotKept):  # said with the first row
                run.journal.record(Console(at_ns=clock.now_ns(), **printing.kept))
        if printing.copied:
            active.copy_printed(run, Copy(run.dir, limit_bytes=limit, clock=clock), fds=printing.copied)
        return printing

    def _watch(self, run: Run, printing: Printing) -> None:
        me, followed = self.attempt.process, printing.followed
        message = msgspec.structs.replace(
            self.attempt.tell_sidecar(run.journal, pid=me.pid, process_started=me.started, followed=followed),
            cwd=working_directory(),
            main_file=as_message(_main_file()),
            server_pid=server_pid(os.environ),
        )
        run.server = message.upload.url if message.upload is not None else ""
        link = active.link(self.voice)
        if self.settings.allow_stop:
            link.allow_stop(run.id)
        if self.settings.guard == "interrupt":
            from holter.client.agreement import has_group
            from holter.client.pressure import of_process  # ctypes: only those who asked for it pay for it

            if has_group():
                text = (
                    "guard='interrupt' is left out: with a process group the other ranks would wait for the one that is"
                    " interrupted; ask run.should_stop in each step"
                )
                self.voice.warn("interrupt", text)
            else:
                of_process().allow_interrupt(run.id)
        try:
            link.watch(message)
        except OSError as error:
            self.voice.warn("sidecar", f"the sidecar did not start ({error}): rows are safe, system curves are missing")


def _identify(chosen: str, launched: Launched | None) -> Identity:
    found = identify_here(chosen, os.environ)
    # A second run of the same process, as in a sweep, is not the one run of the job or launcher any more.
    is_given = launched is not None and launched.run == found.run
    is_shared = is_given or (found.is_shared and not chosen)
    return Identity(new_run_id()) if is_shared and found.run in _used else found


def _moment(named: dict[str, Any], arguments: dict[str, Any]) -> "Moment | None":
    """The step of a run at which this one is to begin. Raises UsageError."""
    asked = {name: named.pop(name, None) if value is None else value for name, value in arguments.items()}
    if not any(asked.values()):
        return None
    from holter.client.going_back import read_moment  # only those who go back pay for it

    return read_moment(asked)


def _chosen(asked: dict[str, Any], moment: "Moment | None") -> Settings:
    found = read_settings(asked, os.environ)
    return found if moment is None else moment.settings(found)


def _follow_others(asked: Understood) -> None:
    """Have what is given to others than us recorded as well, where that was asked for."""
    if asked.syncs_tensorboard:
        from holter.client.tensorboard import sync_tensorboard  # only those who ask pay for it

        sync_tensorboard()
    if asked.follows_videos:
        from holter.client.gym_videos import follow_videos  # as above

        follow_videos()


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _place(given: Any) -> str:
    """Where this run is to lie, if not with the others."""
    if not given:
        return ""
    try:
        return os.path.abspath(os.path.expanduser(os.fsdecode(given)))
    except TypeError:
        raise UsageError(f"dir must be a path, got {type(given).__name__} {str(given)[:40]!r}") from None


def _left_aside(run: Run, chosen: Settings, asked: dict[str, Any], moment: "Moment | None", /) -> str:
    """The names of what was asked of a new run and is otherwise in the one that is active."""
    names = ("project", "entity", "name", "group", "job_type", "tags", "notes")
    others = [name for name in names if name in asked and getattr(chosen, name) != getattr(run, name)]
    others += ["id"] if "run_id" in asked and chosen.run_id != run.id else []
    return ", ".join([*others, *([moment.argument] if moment is not None else [])])


def _previous(reinit: Any) -> Run | None:
    """The active run if it stays the one; W&B's rules: kept by default, ended by True and `finish_previous`."""
    if reinit not in _REINIT:
        raise UsageError(f"reinit must be True, False or one of {', '.join(map(str, _REINIT[3:]))}; got {reinit!r}")
    active.leave_to_parent()
    current = active.current()
    if current is None or reinit == "create_new":
        return None
    if current_shell() is not None and reinit in (None, "default", True, "finish_previous"):
        current.leave(how="replaced")
        return None
    if reinit in (True, "finish_previous"):
        current.finish()
        return None
    return current


def _main_file() -> str:
    names = vars(sys.modules["__main__"]) if "__main__" in sys.modules else {}
    return str(names.get("__vsc_ipynb_file__") or names.get("__file__") or "")


def _show_in_cell(line: str) -> bool:
    from holter.client.notebook.card import show_line  # only notebooks pay for it

    return show_line(line)
