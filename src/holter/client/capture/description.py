"""An exception as a record: bounded text, and no reference to anything of the user's."""

from collections.abc import Callable
from typing import Any

from holter.model.bounds import within
from holter.model.clock import Clock
from holter.model.cutting import bounded, first_words, last_words
from holter.model.records import Cause, Raised
from holter.model.thinning import Thinning

MOST_TRACEBACK = 32 << 10
MOST_MESSAGE = 4096
MOST_CAUSES = 16
MOST_CAUSE_MESSAGE = 1000


class Describer:
    """Describes exceptions and hands them on; of many that are alike and end nothing, only some."""

    def __init__(self, keep: Callable[[Raised, BaseException], None], clock: Clock) -> None:
        self._keep = keep
        self._clock = clock
        self._thinning = Thinning()

    def ends_program(self, error: BaseException) -> None:
        """Nobody caught it in the main thread."""
        self._keep(describe(error, self._clock.now_ns()), error)

    def seen(self, error: BaseException, *, where: str, thread: str = "MainThread") -> None:
        """Nobody caught it, and the program goes on; see `Raised.where`."""
        times = self._thinning.count((where, type_name(error), _place(error)))
        if times:
            self._keep(describe(error, self._clock.now_ns(), thread=thread, where=where, times=times), error)


def describe(
    error: BaseException, at_ns: int, *, thread: str = "MainThread", where: str = "main", times: int = 1
) -> Raised:
    """An exception as bounded text, with the arrays in the user's own frames; keeps no reference to any of it."""
    from holter.memory.frames import own_frames

    text = _traceback(error)
    if len(text) > MOST_TRACEBACK:
        half = MOST_TRACEBACK // 2
        text = f"{first_words(text, half)}\n…\n{last_words(text, half)}"
    try:
        frames = own_frames(error.__traceback__)
    except Exception:  # noqa: BLE001  such as no memory left: the exception itself matters more
        frames = ()
    return Raised(
        at_ns=at_ns,
        type=type_name(error),
        message=_message(error, MOST_MESSAGE),
        traceback=bounded(text, len(text)),
        thread=bounded(thread, MOST_CAUSE_MESSAGE),
        where=where,
        causes=tuple(causes_of(error)),
        frames=frames,
        times=times,
    )


def _traceback(error: BaseException) -> str:
    import traceback  # two milliseconds that only those pay who record

    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001  some Pythons import for it, and there may be no file descriptor or memory left
        lines = [
            f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}\n'
            for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        return "".join(
            ["Traceback (most recent call last):\n", *lines, f"{type_name(error)}: {_message(error, 500)}\n"]
        )


def type_name(error: BaseException) -> str:
    """`ValueError` for a builtin, `torch.cuda.OutOfMemoryError` for others."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def causes_of(error: BaseException) -> list[Cause]:
    """What led to an exception, as Python would print it: the nearest first, each once, the members of a group too."""
    found: list[Cause] = []
    seen = {id(error)}
    waiting = [error]
    while waiting and len(found) < MOST_CAUSES:
        for how, behind in _behind(waiting.pop(0)):
            if id(behind) not in seen and len(found) < MOST_CAUSES:
                seen.add(id(behind))
                waiting.append(behind)
                found.append(Cause(type=type_name(behind), message=_message(behind, MOST_CAUSE_MESSAGE), how=how))
    return found


def _behind(error: BaseException) -> list[tuple[str, BaseException]]:
    behind: list[tuple[str, BaseException]] = []
    if error.__cause__ is not None:
        behind.append(("cause", error.__cause__))
    elif error.__context__ is not None and not error.__suppress_context__:
        behind.append(("context", error.__context__))
    if isinstance(error, BaseExceptionGroup):
        behind += [("member", member) for member in error.exceptions[:MOST_CAUSES]]
    return behind


def plain_exit_code(code: Any) -> int | None:
    """Whatever a program gives for one; 1 for what is no number, as Python's own `sys.exit` has it."""
    if code is None:
        return None
    try:
        return within(int(code))
    except Exception:  # noqa: BLE001  users' own classes may raise anything from anything
        return 1


def exit_code_of(error: BaseException | None) -> int:
    """The exit code with which Python would leave because of this exception."""
    if error is None:
        return 0
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def exit_text_of(error: BaseException | None) -> str:
    """What Python would print because of `sys.exit("text")`, else nothing."""
    if not isinstance(error, SystemExit) or error.code is None or isinstance(error.code, int):
        return ""
    try:
        return bounded(str(error.code), MOST_CAUSE_MESSAGE)
    except Exception:  # noqa: BLE001  a user's __str__
        return ""


def _message(error: BaseException, most: int) -> str:
    try:
        return bounded(str(error), most)
    except Exception:  # noqa: BLE001  a user's __str__
        return "(its message could not be read)"


def _place(error: BaseException) -> tuple[str, int]:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return (trace.tb_frame.f_code.co_filename, trace.tb_lineno or 0) if trace is not None else ("", 0)
