"""The runs of this process, and the module-level calls that mean the newest of them."""

import atexit
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from holter.client.capture.printing import Copy, PrintedStreams
from holter.client.capture.program import ProgramHooks
from holter.client.run import Run
from holter.client.shell import is_kernel
from holter.console.files import STDOUT
from holter.errors import NoRun
from holter.recording.sidecar_link import SidecarLink
from holter.recording.voice import Voice
from holter.wire.way_back import Here, Stop, Warn

if TYPE_CHECKING:
    from holter.client.habits.noticing import Noticing

_runs: list[Run] = []
_last: Run | None = None
_link: SidecarLink | None = None
_hooks = ProgramHooks(_runs)
_printed = PrintedStreams()
_copies: dict[Run, Copy] = {}
_habits: dict[Run, "Noticing"] = {}
_listeners: list[Callable[[Run], None]] = []


def remember(run: Run) -> None:
    """Make a run the active one."""
    global _last
    _runs.append(run)
    if not run.is_kernel:
        _last = run
    run.when_ended(forget, before=_hooks.look_again)


def watch_program(rank: int | None) -> None:
    """Have the active runs know what happens in the program."""
    _hooks.install(rank)
    _look_at_torch()


def copy_printed(run: Run, copy: Copy, *, fds: list[int]) -> None:
    """Have a run know what the program prints, until it ends."""
    _copies[run] = copy
    _printed.copy(copy, fds)


def print_copies(data: bytes) -> None:
    """Add to what runs know of the program's output; for what a notebook shows without printing it."""
    for copy in list(_copies.values()):
        copy.keep(data, STDOUT)


def look_again() -> None:
    """Watch also what the program has imported since; cheap, for once a second."""
    _hooks.look_again()
    _look_at_torch()


def notice_habits(run: Run, rows: int) -> None:
    """Look for habits that a guard speaks of; cheap, for once a second."""
    if not run.is_owned:
        return
    if run not in _habits:
        from holter.client.habits.noticing import Noticing  # not for programs that end within a second

        _habits[run] = Noticing(run.keep)
    _habits[run].look(time.monotonic(), rows)


def _look_at_torch() -> None:
    if "torch" in sys.modules:
        from holter.client.gpu_refusals import attach  # only programs with torch

        attach(lambda: [(run.dir, run.keep) for run in recording()])


def join_parent(join: Callable[..., object]) -> None:
    """In a process that multiprocessing spawned for a program with a run: have it join that run before its work."""
    _hooks.children.join_parent(join)


def forget(run: Run) -> None:
    """The run has ended; with the last one go our hooks."""
    if run in _runs:
        _runs.remove(run)
    if run in _habits:
        _habits.pop(run).close()
    if run in _copies:
        _printed.stop(_copies.pop(run))
    if _runs:
        _hooks.follow_faults()
    else:
        _hooks.restore(run if run.has_failed else None)
    for left in _listeners:
        left(run)


def tell_of_ends(left: Callable[[Run], None], *, at_once: Callable[[], None]) -> None:
    """Call `left` for each run that has ended, and `at_once` before the process leaves by `os._exit`."""
    _listeners[:] = [left]
    _hooks.before_leaving_at_once = at_once


def recording() -> list[Run]:
    """The runs that this process opened and keeps, that of its kernel included."""
    return [run for run in _runs if run.dir and run.is_owned]


def known() -> list[Run]:
    """All that have not ended; in a fork also those of its parent."""
    return list(_runs)


def current() -> Run | None:
    """The active run. The one that records a notebook's kernel is none that anybody logs to."""
    for run in reversed(_runs):  # each row that goes through the module asks: no generator
        if not run.is_kernel:
            return run
    return None


def kernel_run() -> Run | None:
    """The run that records this kernel for its own sake."""
    return next((run for run in _runs if run.is_kernel), None)


def leave_to_parent() -> None:
    """In a forked child that begins a run of its own: the inherited ones are the parent's."""
    for run in [run for run in _runs if not run.is_owned]:
        run.finish()


def link(voice: Voice) -> SidecarLink:
    """This process's way to its sidecar; the voice of the first run says what comes back."""
    global _link
    if _link is None:
        # In a notebook it would be shown below any cell that happens to run.
        _link = SidecarLink(voice, may_mention=lambda: not is_kernel())
        _link.when_pressed = _press
        _link.when_said = _look_what_grows
        _link.when_asked_to_stop = _wish_stop
        _link.where_we_are = _where_we_are
    return _link


def _press(warn: Warn) -> None:
    from holter.client.pressure import press  # ctypes: only those pay for it whose memory runs out

    press(warn, recording())


def _look_what_grows(warn: Warn, say: Callable[[str, Sequence[str]], None]) -> None:
    from holter.client.growth import warned

    warned(warn, next((run for run in recording() if run.id == warn.run), None), say=say)


def _where_we_are(run: str) -> Here | None:
    from holter.client.stacks import stacks_here  # only those who stand still pay for it

    directory = next((each.dir for each in recording() if each.id == run), None)
    return Here(directory=directory, stack=stacks_here(), pid=os.getpid()) if directory is not None else None


def _wish_stop(wish: Stop) -> None:
    for run in recording():
        if run.id == wish.run:
            run.wish_stop(wish.wish)


def the_run(call: str) -> Run:
    """The active run, or the last one, which says itself that it has ended. Raises NoRun before `init()`."""
    if _last is None:
        raise NoRun(f"holter.{call} needs a run: call holter.init() first")
    return current() or _last


class _Log:
    """`holter.log(...)`; a callable object so that `holter.log.flush()` works as people write it."""

    def __call__(
        self,
        data: Mapping[str, Any] | None = None,
        step: int | None = None,
        commit: bool | None = None,
        *,
        sync: bool | None = None,
        row: Mapping[str, Any] | None = None,
    ) -> None:
        """Record a row in the active run; see `Run.log`. `row` and `sync` are W&B's old words."""
        run = current() or the_run("log()")
        run.log(row if data is None else data, step, commit)  # type: ignore[arg-type]  # None is said there

    def flush(self) -> bool:
        """Wait until everything logged so far would survive the death of the machine; see `Run.flush`."""
        return the_run("flush()").flush()


class _Mapping(MutableMapping[str, Any]):
    """`holter.config` and `holter.summary`: those of whichever run is active when they are used."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _mapping(self) -> Any:
        return getattr(the_run(self._name), self._name)

    def __getitem__(self, key: str) -> Any:
        return self._mapping()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._mapping()[key] = value

    def __delitem__(self, key: str) -> None:
        del self._mapping()[key]

    def update(self, *others: Any, **values: Any) -> None:
        """Change several values as one record, as that of the run does."""
        self._mapping().update(*others, **values)

    def __iter__(self) -> Iterator[str]:
        return iter(self._mapping())

    def __len__(self) -> int:
        return len(self._mapping())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mapping(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._mapping()[name] = value

    def __repr__(self) -> str:
        return f"<holter.{self._name}>" if _last is None else repr(self._mapping())


log = _Log()
flush = log.flush
config = _Mapping("config")
summary = _Mapping("summary")


def finish(exit_code: int | None = None, quiet: bool | None = None) -> None:
    """End the active run; without one this does nothing, so that it may be called twice."""
    if (run := current()) is not None:
        run.finish(exit_code, quiet)


def alert(title: str, text: str = "", level: str = "INFO", wait_duration: float | None = None) -> None:
    """Record that somebody should look at the active run."""
    the_run("alert()").alert(title, text, level, wait_duration)


def save(glob_str: Any = None, base_path: Any = None, policy: str = "live") -> list[str]:
    """Keep copies of files with the active run; see `Run.save`."""
    return the_run("save()").save(glob_str, base_path, policy)


def mark_preempting() -> None:
    """Say that a scheduler is about to take the active run's place."""
    the_run("mark_preempting()").mark_preempting()


def define_metric(name: str, *options: Any, **others: Any) -> Any:
    """Say which metric is the x axis of another in the active run; see `Run.define_metric`."""
    return the_run("define_metric()").define_metric(name, *options, **others)


def _leave() -> None:
    _printed.is_leaving = True
    _hooks.leave()
    for run in reversed(_runs.copy()):
        run.leave(*_hooks.asked)


def _before_fork() -> None:
    if "tensorflow" in sys.modules:
        from holter.client.habits.forking import noticed_at_fork

        if (noticed := noticed_at_fork()) is not None:
            for run in recording():
                run.keep(noticed)
    _hooks.before_fork()


def _after_fork() -> None:
    _hooks.after_fork()
    _printed.after_fork()
    for run in _runs:
        run.after_fork()
    if _link is not None:
        _link.after_fork()


# At import, so that what the program registers later runs earlier: its own atexit functions may still log.
atexit.register(_leave)
os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
