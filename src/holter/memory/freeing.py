"""Which lines give a holder's memory back, and doing so for what nobody will miss."""

import collections
import contextlib
import functools
import gc
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holter.memory.arrays import attributes_of, type_name
from holter.memory.holders import Holder, is_numbered, last_errors
from holter.memory.readings import gpu_reader, rss_bytes
from holter.memory.walk import derives_from

# With `clear()`: other code may go on using them.
_CLEARED = (dict, list, set, collections.deque)
_WHATS = ("out", "traceback")


class Freed(msgspec.Struct, frozen=True, kw_only=True):
    """What `free` dropped and what came back."""

    outputs: int
    """Entries of `Out`."""
    error: str
    """The type of the exception whose traceback was dropped; empty where there was none."""
    rss_before_bytes: int
    rss_after_bytes: int
    gpu_before_bytes: int | None = None
    gpu_after_bytes: int | None = None


def lines_that_free(holder: Holder, partners: Sequence[Holder], namespace: Mapping[str, Any], /) -> list[str]:
    """What to run so that nobody known holds the memory any more. `partners` hold the same, or much of it."""
    everyone = [holder, *partners]
    if special := _without_losing_the_name(holder, namespace):
        return special
    lines = []
    if any(each.error for each in everyone):
        lines.append(_drop_traceback(namespace))
    for each in everyone:
        if each.module:
            lines += [f"import {each.module}", *_lines_of_global(each)]
    names = [name for each in everyone if not each.module and not each.error for name in each.names]
    shown = [each for each in everyone if each.outputs or each.underscores]
    if len(shown) == 1 and shown[0] is holder and (alias := _lasting_name(holder)):
        others = [name for name in names if name not in holder.names]
        return [*lines, *_delete(others), f"%xdel {alias}"]
    if shown:
        # Not by two `%xdel`, for the second one fails, and not by `%reset -f out`, which leaves the last three outputs.
        lines.append("%holter free out")
    return [*lines, *_delete(names)]


def free(shell: Any, whats: Sequence[str] = _WHATS) -> Freed:
    """Drop what IPython keeps for convenience: outputs of cells, and the frames of the last traceback."""
    read_gpu = gpu_reader()
    rss_before, gpu_before = rss_bytes(), read_gpu() if read_gpu else None
    outputs, error = 0, ""
    if "out" in whats:
        held = shell.user_ns.get("_oh")
        outputs = len(held) if type(held) is dict else 0
        _forget_outputs(shell)
    if "traceback" in whats:
        errors = last_errors(shell)
        error = type_name(type(errors[0])) if errors else ""
        del errors
        _forget_error(shell)
    gc.collect()
    _give_back()
    if read_gpu is not None:
        sys.modules["torch"].cuda.empty_cache()
    return Freed(
        outputs=outputs,
        error=error,
        rss_before_bytes=rss_before,
        rss_after_bytes=rss_bytes(),
        gpu_before_bytes=gpu_before,
        gpu_after_bytes=read_gpu() if read_gpu else None,
    )


def _without_losing_the_name(holder: Holder, namespace: Mapping[str, Any]) -> list[str]:
    """For a cache, whose name other code goes on using."""
    value, name = holder.value, holder.name
    if holder.error or holder.is_output or holder.module:
        return []
    if type(value) is functools._lru_cache_wrapper:
        return [f"{name}.cache_clear()"]
    if derives_from(value, *_CLEARED) and _is_used_by_functions(holder.names, namespace):
        return [f"{name}.clear()"]
    return []


def _lasting_name(holder: Holder) -> str:
    """One that will still mean the same when somebody runs the line; `_` will not."""
    numbered = [f"_{number}" for number in holder.outputs] + [each for each in holder.underscores if is_numbered(each)]
    return next(iter([*holder.names, *numbered]), "")


def _is_used_by_functions(names: Sequence[str], namespace: Mapping[str, Any]) -> bool:
    code_of = attributes_of(types.FunctionType)["__code__"].__get__
    functions = [value for value in list(namespace.values()) if type(value) is types.FunctionType]
    return any(name in code_of(each).co_names for each in functions for name in names)


def _lines_of_global(holder: Holder) -> list[str]:
    if type(holder.value) is functools._lru_cache_wrapper:
        return [f"{holder.name}.cache_clear()"]
    if derives_from(holder.value, *_CLEARED):
        return [f"{holder.name}.clear()"]
    return [f"{holder.name} = None"]


def _drop_traceback(namespace: Mapping[str, Any]) -> str:
    if "get_ipython" in namespace:
        return "%holter free traceback"
    return "import sys; sys.last_exc = sys.last_value = sys.last_traceback = None"


def _delete(names: Sequence[str]) -> list[str]:
    return [f"del {', '.join(names)}"] if names else []


def _give_back() -> None:
    """Have glibc return what it keeps for later: small objects that are freed leave pages that nobody uses."""
    import ctypes

    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def _forget_outputs(shell: Any) -> None:
    if shell.displayhook.do_full_cache:  # else there is no `Out`
        shell.displayhook.flush()
    # IPython 9.18 forgets its second list of names, which tells it that `_` is not the user's own.
    for name in ("_", "__", "___"):
        if name in shell.user_ns_hidden and name in shell.user_ns:
            shell.user_ns_hidden[name] = shell.user_ns[name]
    # After `Out.clear()` by hand, which it takes for an empty history.
    for names in (shell.user_ns, shell.user_ns_hidden):
        for name in [each for each in list(names) if is_numbered(each)]:
            del names[name]


def _forget_error(shell: Any) -> None:
    for name in ("last_exc", "last_value", "last_type", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)
    for name in ("InteractiveTB", "SyntaxTB"):
        shown = getattr(shell, name, None)
        for field in ("tb", "etype", "evalue", "last_syntax_error"):
            if getattr(shown, field, None) is not None:
                setattr(shown, field, None)
    result = getattr(shell, "last_execution_result", None)
    for field in ("error_in_exec", "error_before_exec"):
        if getattr(result, field, None) is not None:
            setattr(result, field, None)
