"""Who can hold memory in a process: names, outputs of cells, the last traceback, globals of the user's modules."""

import functools
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from holter.memory.arrays import attributes_of, type_name
from holter.memory.frames import OPTIMIZED, frame_locals, is_own
from holter.memory.walk import derives_from

LAST_TRACEBACK = "last traceback"
_UNDERSCORES = ("_", "__", "___")
_MOST_FRAMES = 200
# Python's and IPython's own names in a namespace.
_NOT_USERS = frozenset(("In", "Out", "_ih", "_oh", "_dh", "_i", "_ii", "_iii", "exit", "quit", "get_ipython", "open"))


class Holder(msgspec.Struct, eq=False):
    """Somebody who holds a value; several names for one object are one holder."""

    value: Any
    names: list[str] = []
    """In the namespace, as the user gave them."""
    outputs: list[int] = []
    """Numbers of the cells that displayed it."""
    underscores: list[str] = []
    """`_`, `__`, `_3`, where the cell's entry in `Out` is gone."""
    module: str = ""
    """Of whose globals the name is one; empty for the namespace itself."""
    error: str = ""
    """The type of the exception, for the last traceback."""

    @property
    def name(self) -> str:
        """What it is called in a table."""
        if self.error:
            return LAST_TRACEBACK
        if self.names:
            return f"{self.module}.{self.names[0]}" if self.module else self.names[0]
        return f"Out[{self.outputs[0]}]" if self.outputs else self.underscores[0]

    @property
    def is_output(self) -> bool:
        """Whether only IPython holds it, because a cell displayed it."""
        return not self.names and not self.error


def find_holders(namespace: Mapping[str, Any], shell: Any) -> list[Holder]:
    """All who may hold something, each object once. `shell` is IPython's, or None."""
    found: dict[int, Holder] = {}
    hidden = shell.user_ns_hidden if shell is not None else {}
    for name, value in list(namespace.items()):
        if type(name) is str and not _is_hidden(name, value, hidden):
            found.setdefault(id(value), Holder(value)).names.append(name)
    if shell is not None:
        _find_outputs(namespace, shell, found)
    holders = [*found.values(), *_class_caches(found), *_module_globals(namespace, found)]
    if (trace := _last_traceback(namespace, shell)) is not None:
        holders.append(trace)
    return holders


def running_shell() -> Any:
    """The IPython shell that runs this code; None in a plain Python."""
    package = sys.modules.get("IPython")
    return None if package is None else package.get_ipython()


def last_errors(shell: Any) -> list[BaseException]:
    """The exceptions that the interpreter keeps for a debugger, the last first, with those behind them."""
    result = getattr(shell, "last_execution_result", None)
    waiting = [getattr(sys, "last_exc", None), getattr(sys, "last_value", None)]
    waiting += [getattr(getattr(shell, "InteractiveTB", None), "evalue", None)]
    waiting += [getattr(result, "error_in_exec", None), getattr(result, "error_before_exec", None)]
    found: dict[int, BaseException] = {}
    while waiting:
        error = waiting.pop()
        if error is None or not derives_from(error, BaseException) or id(error) in found:
            continue
        found[id(error)] = error
        waiting += [_of_error("__cause__", error), _of_error("__context__", error)]
    return list(found.values())


def _find_outputs(namespace: Mapping[str, Any], shell: Any, found: dict[int, Holder]) -> None:
    outputs = namespace.get("_oh")
    for number, value in list(outputs.items()) if type(outputs) is dict else []:
        found.setdefault(id(value), Holder(value)).outputs.append(number)
    hook = getattr(shell, "displayhook", None)
    last = [
        (name, held) for name in _UNDERSCORES for held in (getattr(hook, name, None), shell.user_ns_hidden.get(name))
    ]
    numbered = [(name, value) for name, value in list(namespace.items()) if is_numbered(name)]
    for name, value in [*numbered, *last]:
        holder = found.get(id(value))
        if holder is None and value is not None:
            found[id(value)] = Holder(value, underscores=[name])
        elif holder is not None and not holder.outputs:
            holder.underscores.append(name)


def _is_hidden(name: str, value: object, hidden: Mapping[str, Any]) -> bool:
    if name in _NOT_USERS or name in _UNDERSCORES or (name.startswith("__") and name.endswith("__")):
        return True
    is_input = name.startswith("_i") and name[2:].isdigit()
    return is_input or is_numbered(name) or (name in hidden and hidden[name] is value)


def is_numbered(name: str) -> bool:
    """Whether a name is IPython's for the output of a cell: `_3`."""
    return type(name) is str and name[:1] == "_" and name[1:].isdigit()


def _class_caches(found: dict[int, Holder]) -> Iterator[Holder]:
    """Methods under `lru_cache` keep their `self`s and results for as long as there is the class."""
    for holder in list(found.values()):
        if not derives_from(holder.value, type) or not holder.names:
            continue
        for name, value in list(attributes_of(holder.value).items()):
            if type(value) is functools._lru_cache_wrapper and id(value) not in found:
                yield Holder(value, names=[f"{holder.names[0]}.{name}"])


def _module_globals(namespace: Mapping[str, Any], found: dict[int, Holder]) -> Iterator[Holder]:
    for name in _own_modules(len(sys.modules)):
        module = sys.modules.get(name)
        held = module.__dict__ if type(module) is types.ModuleType else namespace
        if held is namespace:
            continue
        for each, value in list(held.items()):
            if id(value) not in found and type(each) is str and not each.startswith("__"):
                yield Holder(value, names=[each], module=name)


@functools.lru_cache(maxsize=1)
def _own_modules(_count: int) -> list[str]:
    """The user's own ones, looked for again when their number has changed."""
    modules = [(name, each) for name, each in list(sys.modules.items()) if type(each) is types.ModuleType]
    own = [name for name, each in modules if is_own(each.__dict__.get("__file__") or "<built-in>")]
    return [name for name in own if name not in ("__main__", "__mp_main__")]


def _last_traceback(namespace: Mapping[str, Any], shell: Any) -> Holder | None:
    errors = last_errors(shell)
    traces = [_of_error("__traceback__", error) for error in errors]
    traces += [getattr(sys, "last_traceback", None), getattr(getattr(shell, "InteractiveTB", None), "tb", None)]
    frames = {id(frame): frame for trace in traces for frame in _frames(trace)}
    held = {
        f"{name} in {frame.f_code.co_name}()": value
        for frame in frames.values()
        if frame.f_code.co_flags & OPTIMIZED or frame.f_globals is not namespace
        for name, value in frame_locals(frame)
    }
    if not held:
        return None
    return Holder(held, error=type_name(type(errors[0])) if errors else "an exception")


def _frames(trace: Any) -> Iterator[types.FrameType]:
    """From the first one of the user's own code: those before it belong to whoever runs that code."""
    is_inside = False
    for _ in range(_MOST_FRAMES):
        if type(trace) is not types.TracebackType:
            return
        is_inside = is_inside or is_own(trace.tb_frame.f_code.co_filename)
        if is_inside:
            yield trace.tb_frame
        trace = trace.tb_next


def _of_error(name: str, error: BaseException) -> Any:
    """Of `BaseException` itself: a class of the user's may have an attribute of the same name."""
    return attributes_of(BaseException)[name].__get__(error)
