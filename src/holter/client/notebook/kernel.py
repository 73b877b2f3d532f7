"""What a kernel that records does besides: its cells are seen, and the death of the kernel before it is shown."""

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec

from holter.client import active
from holter.client.capture.patches import Patches
from holter.client.notebook.cells import CellHooks, look_at
from holter.client.notebook.displays import Displays
from holter.client.notebook.place import Place, find_place
from holter.client.notebook.predecessors import Registry
from holter.client.run import Run
from holter.client.shell import current_shell
from holter.errors import is_strict
from holter.model.clock import Clock
from holter.model.records import KernelAsked
from holter.probes.identity import ProcessIdentity, identify
from holter.recording.kernels import join, kernel_before, read_kernel

P = ParamSpec("P")
ASKED_AFTER_INTERRUPT_S = 2.0
_kernel: "Kernel | None" = None


class _Interrupted(NamedTuple):
    """A run that ended because a KeyboardInterrupt left its `with` block."""

    data: str
    directory: str
    run: str
    attempt: int
    at: float


class Kernel:
    """This process as a notebook's kernel, or a terminal with IPython. One of them, for all of its runs."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.place: Place = find_place(shell, os.environ)
        self.process: ProcessIdentity | None = identify(os.getpid())
        self.predecessor = ""
        """The run whose death was shown in this kernel."""
        self.cells = CellHooks(shell, active.recording, look=lambda: look_at(shell.user_ns, shell))
        self._displays = Displays(shell, active.print_copies)
        self._patches = Patches()
        self._clock = Clock()
        self._parent = os.getppid()
        self._registries: dict[str, list[str]] = {}
        self._is_cut_short = False
        self._asked: KernelAsked | None = None
        self._interrupted: list[_Interrupted] = []
        self._before = kernel_before(os.environ)
        atexit.register(self._leave)

    def enter(self, run: Run, data: str, *, may_show: bool) -> None:
        """A run was opened in this kernel. Idempotent for each run."""
        if self.cells.is_installed:
            self.cells.tell(run)
        else:
            self.cells.install()
        self._displays.install()
        self._watch_requests()
        self._tell_server(run)
        others = self._registries.get(data, [])
        # The last one is what a card tells of, and a run knows more than the record of a kernel.
        self._write(data, [run.id, *others] if run.is_kernel else [*others, run.id])
        if may_show and threading.current_thread() is threading.main_thread():
            self._show_predecessor(data)

    def left(self, run: Run) -> None:
        """A run has ended. One that was cut short is what the next kernel tells of."""
        if not self._is_here():
            return
        was_interrupted = isinstance(sys.exc_info()[1], KeyboardInterrupt)
        for data, runs in list(self._registries.items()):
            if run.id in runs and not self._is_cut_short:
                self._write(data, [each for each in runs if each != run.id])
                if was_interrupted:
                    self._interrupted.append(_Interrupted(data, run.dir, run.id, run.address[3], time.monotonic()))
        if was_interrupted and self._asked is not None:  # perhaps while the run was ending, and kept nothing any more
            _add_to(run.dir, self._asked, run=run.id, attempt=run.address[3])
        if not active.recording():
            self.cells.remove()
            self._displays.remove()
            # A server that restarts a kernel interrupts it first, and tells it a moment later.
            if not was_interrupted:
                self._patches.restore()

    def leaves_at_once(self) -> None:
        """Somebody calls `os._exit`: ipykernel does so when the server that started it is gone."""
        is_left_alone = os.getppid() != self._parent and threading.current_thread() is not threading.main_thread()
        if self._is_here() and is_left_alone:
            self._ask("server-gone")

    def _leave(self) -> None:
        """The interpreter exits. Of a notebook that a tool ran, the cell that stopped it is why the runs failed."""
        if (failure := self.cells.failure) is None:
            return
        for run in active.recording():
            run.raised(failure)
            run.finish(1)

    def _is_here(self) -> bool:
        """Not in a forked child, which inherits all hooks."""
        return self.process is not None and self.process.pid == os.getpid()

    def _tell_server(self, run: Run) -> None:
        """What becomes of the kernel becomes of the run: the server that started it writes that into both."""
        server = read_kernel(os.environ)
        if server is not None and server.directory != run.dir:
            with contextlib.suppress(OSError):  # then the sidecar is the only witness, as without such a server
                join(server, directory=run.dir, journal=run.journal.id.hex())

    def _write(self, data: str, runs: list[str]) -> None:
        self._registries[data] = runs
        if self.process is not None:
            Registry(data, self.place).write(self.process, runs)

    def _show_predecessor(self, data: str) -> None:
        registry = Registry(data, self.place)
        dead = [entry for entry in registry.dead() if entry.process != self.process and registry.claim(entry)]
        before, self._before = self._before, ""
        if not dead and not before:
            return
        from holter.client.notebook.card import show_death  # only those pay for it who have something to show

        if not dead:
            # Nobody was inside it who could have left an entry; but the server that started it saw it die.
            with self._displays.unheard():
                self.predecessor = before if show_death(data, [before], others=0) else ""
            return
        try:
            with self._displays.unheard():
                # An older one may be worth a card where the newest left in order.
                shown = next((each for each in dead if show_death(data, each.runs, others=len(dead) - 1)), None)
        except BaseException:  # somebody interrupted the cell: the next one may show it
            for entry in dead:
                registry.write(entry.process, entry.runs)
            raise
        self.predecessor = shown.runs[-1] if shown is not None else ""

    def _watch_requests(self) -> None:
        """The kernel is told to end in its control thread, also in the middle of a cell that does not listen."""
        kernel = getattr(self.shell, "kernel", None)
        real = getattr(kernel, "do_shutdown", None)
        if not callable(real) or self._patches.has(kernel, "do_shutdown"):
            return

        ask = _guarded(self._ask)

        def do_shutdown(restart: bool, *args: Any, **kwargs: Any) -> Any:
            ask("restart" if restart else "shutdown")
            return real(restart, *args, **kwargs)

        self._patches.set(kernel, "do_shutdown", do_shutdown)

    def _ask(self, kind: str) -> None:
        ended = [each for each in self._interrupted if time.monotonic() - each.at < ASKED_AFTER_INTERRUPT_S]
        is_busy = self.cells.is_busy or bool(ended)
        self._is_cut_short = is_busy
        asked = self._asked = KernelAsked(at_ns=self._clock.now_ns(), kind=kind, is_busy=is_busy)
        for run in active.recording():
            run.keep(asked)
        for each in ended:
            _add_to(each.directory, asked, run=each.run, attempt=each.attempt)
            self._write(each.data, [*self._registries[each.data], each.run])


def _add_to(directory: str, asked: KernelAsked, *, run: str, attempt: int) -> None:
    """Write it beside a run that has ended and keeps nothing itself any more."""
    from holter.catalog.change.command_journal import (  # milliseconds that every `init()` would cost
        as_command,
        write_down,
    )

    write_down(directory, [asked], opened=as_command(run, attempt))


def this_kernel() -> Kernel | None:
    """The kernel that this process is; None where it is none."""
    global _kernel
    shell = current_shell()
    if shell is None or not hasattr(shell, "events"):
        return None
    if _kernel is None or _kernel.shell is not shell:
        _kernel = Kernel(shell)
        active.tell_of_ends(_guarded(_kernel.left), at_once=_guarded(_kernel.leaves_at_once))
    return _kernel


def _guarded(call: Callable[P, None]) -> Callable[P, None]:
    """The same without its failures, except in tests of ours: a run ends with or without us."""

    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            call(*args, **kwargs)
        except Exception:  # the boundary
            if is_strict():
                raise

    return guarded
