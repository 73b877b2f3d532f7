"""Sees the cells of a kernel: when each began and ended, what it took, and what went wrong in it."""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from holter.client.capture.description import describe, exit_code_of, type_name
from holter.client.capture.patches import Patches
from holter.client.notebook.cell_files import file_of, files_so_far
from holter.errors import is_strict
from holter.memory.readings import GpuMemory, begin_peak, peak_bytes, rss_bytes
from holter.model.clock import Clock
from holter.model.cutting import bounded, first_words
from holter.model.record import Record
from holter.model.records import CellEnded, CellStarted, HeldVariable, Raised
from holter.model.secrets import masked

if TYPE_CHECKING:
    from types import FrameType

MOST_SOURCE = 16 << 10
MOST_ERROR = 500
MOST_VARIABLES = 8
LEAST_VARIABLE_BYTES = 1 << 20
# The namespace is looked at only after a cell that moved the memory by so much: to fill that takes longer than to look.
WORTH_A_LOOK_BYTES = 16 << 20
LOOK_FOR_S = 0.01
INTERRUPTED_WITHIN_S = 2.0

Look = Callable[[], tuple[HeldVariable, ...]]


class Recording(Protocol):
    """A run, as far as cells are told to it."""

    @property
    def dir(self) -> str:
        """Where it is kept."""

    @property
    def last_row_ns(self) -> int:
        """When it last logged."""

    def keep(self, record: Record) -> None:
        """Keep a sentence."""

    def raised(self, raised: Raised) -> None:
        """Keep an exception."""


class CellHooks:
    """Tells all runs in the list of the cells of one shell. Never raises; takes itself off where it fails.

    Cells inside of cells count as part of the outer one, and those of other threads are passed over.
    """

    def __init__(self, shell: Any, runs: Callable[[], Sequence[Recording]], *, look: Look) -> None:
        self._shell = shell
        self._runs = runs
        self._look = look
        self._clock = Clock()
        self._patches = Patches()
        self._gpu = GpuMemory()
        self._depth = 0
        self._ordinal = 0
        self._cell: CellStarted | None = None
        self._shown: BaseException | None = None
        self._shown_ns = 0
        self._interrupted_at = 0.0
        self._variables: tuple[HeldVariable, ...] = ()
        self._looked_bytes = 0
        self.is_installed = False
        self.failure: Raised | None = None
        """Why a notebook that a tool runs from its first cell to its last stopped with the one that was last."""

    @property
    def is_busy(self) -> bool:
        """A cell runs, or was interrupted just now, as a server does before it restarts the kernel."""
        return self._cell is not None or time.monotonic() - self._interrupted_at < INTERRUPTED_WITHIN_S

    def install(self) -> None:
        """Idempotent. Called from inside of a cell, that one counts from here on."""
        if self.is_installed:
            return
        self.is_installed = True
        self._shell.events.register("pre_run_cell", self._pre)
        self._shell.events.register("post_run_cell", self._post)
        self._wrap_traceback()
        if (running := _running_cell(self._shell)) is not None:
            self._depth = 1
            self._begin(*running, files=files_so_far(self._shell))

    def remove(self) -> None:
        """Idempotent."""
        if not self.is_installed:
            return
        self.is_installed = False
        self._cell, self._depth = None, 0
        for event, callback in (("pre_run_cell", self._pre), ("post_run_cell", self._post)):
            if callback in self._shell.events.callbacks.get(event, ()):
                self._shell.events.unregister(event, callback)
        self._patches.restore()

    def tell(self, run: Recording) -> None:
        """Tell a run that has just been opened of the cell that it was opened in."""
        if self._cell is not None:
            run.keep(msgspec.structs.replace(self._cell, files=files_so_far(self._shell)))

    def _pre(self, info: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            self._depth += 1
            if self._depth == 1:
                number = _number(self._shell) if getattr(info, "store_history", False) else 0
                source = getattr(info, "raw_cell", "") or ""
                self._begin(number, source, files=file_of(self._shell, source, number=number))
        except Exception as error:  # noqa: BLE001  the boundary
            self._give_up(error)

    def _post(self, result: Any) -> None:
        if threading.current_thread() is not threading.main_thread() or not self._depth:
            return
        try:
            self._depth -= 1
            if not self._depth:
                self._end(getattr(result, "error_before_exec", None) or getattr(result, "error_in_exec", None))
        except Exception as error:  # noqa: BLE001  the boundary
            self._give_up(error)

    def _begin(self, number: int, source: str, *, files: dict[str, int]) -> None:
        self._ordinal += 1
        self._shown = self.failure = None
        self._interrupted_at = 0.0  # who goes on was not interrupted in order to be restarted
        begin_peak()
        self._gpu.begin()
        self._cell = CellStarted(
            at_ns=self._clock.now_ns(),
            ordinal=self._ordinal,
            number=number,
            source=_without_secrets(source),
            rss_bytes=rss_bytes() or None,
            files=files,
        )
        self._keep(self._cell)

    def _end(self, error: BaseException | None) -> None:
        cell, self._cell = self._cell, None
        shown, self._shown = self._shown, None
        error = shown if error is None else error
        if isinstance(error, KeyboardInterrupt):
            self._interrupted_at = time.monotonic()
        elif error is not None and _is_batch(self._shell):
            self.failure = describe(error, self._clock.now_ns())
        if cell is None:
            return
        rss, (gpu, gpu_peak) = rss_bytes() or None, self._gpu.end()
        if rss is not None and abs(rss - self._looked_bytes) >= WORTH_A_LOOK_BYTES:
            self._looked_bytes, self._variables = rss, self._look_around()
        ended = CellEnded(
            at_ns=self._clock.now_ns(),
            ordinal=cell.ordinal,
            number=cell.number,
            rss_bytes=rss,
            peak_bytes=peak_bytes(),
            gpu_bytes=gpu,
            gpu_peak_bytes=gpu_peak,
            error=_words(error) if error is not None else "",
            variables=self._variables,
        )
        self._keep(ended)
        if error is not None and exit_code_of(error):
            self._keep_failure(cell, error, at_ns=self._shown_ns if error is shown else self._clock.now_ns())

    def _keep_failure(self, cell: CellStarted, error: BaseException, *, at_ns: int) -> None:
        """For the runs that logged in it before: where nothing more comes, that is how they ended."""
        from holter.client.capture.surroundings import look_around  # only those who fail pay for it

        for run in [each for each in self._runs() if cell.at_ns <= each.last_row_ns <= at_ns]:
            run.raised(describe(error, at_ns, where="cell"))
            if not isinstance(error, KeyboardInterrupt):
                run.keep(look_around(error, [run.dir], at_ns=at_ns))

    def _look_around(self) -> tuple[HeldVariable, ...]:
        try:
            return self._look()
        except Exception:  # the boundary: what the user keeps may be anything, and cells matter more
            self._look = tuple
            if is_strict():
                raise
            return ()

    def _keep(self, record: Record) -> None:
        for run in list(self._runs()):
            run.keep(record)

    def _wrap_traceback(self) -> None:
        """`%run` shows the traceback of its script itself, and its cell then counts as a success."""
        real = self._shell.showtraceback

        def showtraceback(*args: Any, **kwargs: Any) -> Any:
            try:
                if (error := sys.exc_info()[1]) is not None and self._cell is not None:
                    self._shown, self._shown_ns = error, self._clock.now_ns()
            except Exception as ours:  # noqa: BLE001  the boundary: the user wants to see the traceback
                self._give_up(ours)
            return real(*args, **kwargs)

        self._patches.set(self._shell, "showtraceback", showtraceback)

    def _give_up(self, error: Exception) -> None:
        self.remove()
        if is_strict():
            raise error


def look_at(namespace: dict[str, Any], shell: Any) -> tuple[HeldVariable, ...]:
    """The largest variables of a namespace; takes some milliseconds."""
    from holter.memory.variables import variables

    found = variables(namespace, budget_s=LOOK_FOR_S, shell=shell)
    large = [each for each in found if each.size_bytes >= LEAST_VARIABLE_BYTES]
    return tuple(
        HeldVariable(
            name=each.name, type=each.type, what=each.what, host_bytes=each.host_bytes, gpu_bytes=each.gpu_bytes
        )
        for each in large[:MOST_VARIABLES]
    )


def _number(shell: Any) -> int:
    """Of the cell that runs; IPython 9.16 counts on before a cell, others behind it, and this one knows."""
    return int(getattr(getattr(shell, "displayhook", None), "prompt_count", 0))


def _running_cell(shell: Any) -> tuple[int, str] | None:
    """The number and the source of the cell out of which we were called; None where it was none."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != "run_code":
        frame = frame.f_back
    if frame is None or frame.f_locals.get("self") is not shell:
        return None
    number = _number(shell)
    inputs = getattr(getattr(shell, "history_manager", None), "input_hist_raw", ())
    return number, str(inputs[number]) if number < len(inputs) else ""


def _is_batch(shell: Any) -> bool:
    """Whether nobody sits in front of it, and it ends with the first cell that fails: papermill, nbconvert."""
    get_parent = getattr(getattr(shell, "kernel", None), "get_parent", None)
    request = get_parent("shell").get("content", {}) if callable(get_parent) else {}
    return request.get("allow_stdin") is False and request.get("stop_on_error") is True


def _without_secrets(source: str) -> str:
    data = first_words(source, MOST_SOURCE).encode("utf-8", "replace")
    return masked(data, is_code=True).decode("utf-8", "replace")


def _words(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  a user's __str__
        text = ""
    return bounded(f"{type_name(error)}: {text}".rstrip(": "), MOST_ERROR)
