"""`variables()`: who holds the memory of this process."""

import collections
import contextlib
import functools
import linecache
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from holter.errors import is_strict
from holter.memory.arrays import mro_of, type_name, without_torch_hooks
from holter.memory.frames import frame_locals
from holter.memory.freeing import lines_that_free
from holter.memory.graphs import Graphs
from holter.memory.held import Held, Variables
from holter.memory.holders import Holder, find_holders, running_shell
from holter.memory.libraries import READERS
from holter.memory.readings import cuda_is_used, rss_bytes
from holter.memory.smaller import smaller
from holter.memory.tables import show_bytes
from holter.memory.tensorflow_types import TENSORFLOW
from holter.memory.walk import Reach, Walk, derives_from, dotted_name, instance_dict

BUDGET_S = 0.02
MOST_HELD = 100
LEAST_BYTES = 1024
LEAST_GLOBAL_BYTES = 1 << 20
SHARE_OF_WALK = 0.7
LEAST_GRAPH_S = 0.001
# A holder of less than this share of somebody's memory need not let go for that to be freed.
LEAST_SHARE = 0.1
MOST_SOURCE = 1_000_000

_HOLTER = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_COUNTED: tuple[Any, ...] = (list, tuple, dict, set, frozenset, collections.deque)


class _Measured(msgspec.Struct, eq=False):
    holder: Holder
    reach: Reach
    graph_bytes: float = 0.0
    partners: list[Holder] = []


def variables(namespace: Mapping[str, Any], *, budget_s: float = BUDGET_S, shell: Any = None) -> Variables:
    """What the names of a namespace hold, the largest first.

    Runs no code of the user's, waits for no GPU, and ends soon after `budget_s` of the processor's time.

    Args:
        shell: the IPython shell whose outputs and last traceback count too; None outside of IPython.
    """
    began, start = time.perf_counter(), time.thread_time()
    walk = Walk(READERS, until=start + SHARE_OF_WALK * budget_s, skip=(namespace, shell, sys.modules))
    with without_torch_hooks():
        measured = _measure(find_holders(namespace, shell), walk)
        _follow_graphs([each for each in measured if each.reach.graphs], Graphs(walk), until=start + budget_s)
        worth = [each for each in measured if sum(each.reach.bytes.values()) >= _least_bytes(each.holder)]
        worth.sort(key=lambda each: -each.reach.total)
        _find_partners(measured)
        source = _source(namespace, shell)
        held = [_describe(each, namespace, source) for each in worth[:MOST_HELD]]
    return Variables(
        held=tuple(held),
        rss_bytes=rss_bytes(),
        is_complete=walk.is_complete,
        took_s=time.perf_counter() - began,
    )


def variables_here(*, budget_s: float = BUDGET_S) -> Variables:
    """The same for whoever called into holter: a notebook's names, or those that the calling code can see."""
    shell = running_shell()
    if shell is not None:
        return variables(shell.user_ns, shell=shell, budget_s=budget_s)
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_HOLTER) and frame.f_back is not None:
        frame = frame.f_back
    return variables({**frame.f_globals, **dict(frame_locals(frame))}, budget_s=budget_s)


def _measure(holders: list[Holder], walk: Walk) -> list[_Measured]:
    holders.sort(key=_precedence)
    measured = [_Measured(each, walk.measure(each.value)) for each in holders]
    walk.go_deeper()
    return measured


def _least_bytes(holder: Holder) -> int:
    """Of a module's globals only what is large: the rest is its own business."""
    return LEAST_GLOBAL_BYTES if holder.module else LEAST_BYTES


def _follow_graphs(measured: list[_Measured], graphs: Graphs, *, until: float) -> None:
    """The longest list first: the graph that it shares with `loss` is part of what it holds."""
    measured.sort(key=lambda each: -len(each.reach.graphs))
    for each in measured:
        now = time.thread_time()
        each.graph_bytes = graphs.add(each.reach, until=now + max((until - now) / 2, LEAST_GRAPH_S))


def _precedence(holder: Holder) -> tuple[int, int]:
    """Who counts memory that several hold: the array before the list it is in, names before outputs."""
    names = [dotted_name(kind) for kind in mro_of(type(holder.value))]
    is_own = any(name in READERS and name != "torch.optim.optimizer.Optimizer" for name in names)
    rank = 4 if holder.error else 3 if holder.module else 2 if holder.is_output else 0 if is_own else 1
    size = 0
    if names[0] in ("numpy.ndarray", "torch.Tensor"):  # of an array and a view of it, the array
        with contextlib.suppress(Exception):  # a tensor that is not dense
            size = holder.value.nbytes
    return rank, -size


def _find_partners(measured: list[_Measured]) -> None:
    """Who else would have to let go."""
    by_key: dict[int, list[_Measured]] = {}
    for each in measured:
        for key in each.reach.touched:
            by_key.setdefault(key, []).append(each)
    for each in measured:
        shared: dict[int, float] = {}
        for key, size in each.reach.touched.items():
            for other in by_key[key] if size and len(by_key[key]) > 1 else ():
                if other is not each:
                    shared[id(other.holder)] = shared.get(id(other.holder), 0.0) + size
        if shared:
            least = max(LEAST_BYTES, LEAST_SHARE * sum(each.reach.bytes.values()))
            holders = [other.holder for other in measured]
            each.partners = [holder for holder in holders if shared.get(id(holder), 0.0) >= least]


def _describe(measured: _Measured, namespace: Mapping[str, Any], source: str) -> Held:
    holder, reach = measured.holder, measured.reach
    lines = lines_that_free(holder, measured.partners, namespace)
    if reach.bytes["gpu"] > reach.bytes["host"] and cuda_is_used():
        lines.append("import torch; torch.cuda.empty_cache()")
    if reach.has_cycle:
        lines.append("import gc; gc.collect()")
    return Held(
        name=holder.name,
        type="traceback" if holder.error else type_name(type(holder.value)),
        what=_what(holder),
        host_bytes=round(reach.bytes["host"]),
        gpu_bytes=round(reach.bytes["gpu"]),
        file_bytes=round(reach.bytes["file"]),
        is_estimate=reach.is_estimate,
        is_least=reach.is_least,
        why=_why(measured),
        frees="\n".join(lines),
        smaller=_advice(measured, source),
    )


def _advice(measured: _Measured, source: str) -> tuple[str, ...]:
    holder, reach = measured.holder, measured.reach
    try:
        return tuple(smaller(holder.name, holder.value, reach=reach, graph_bytes=measured.graph_bytes, source=source))
    except Exception:
        if is_strict():
            raise
        return ()  # a library that is not as it used to be


def _what(holder: Holder) -> str:
    value = holder.value
    if holder.error:
        return f"{len(value)} variables of the frames behind {holder.error}"
    names = [dotted_name(kind) for kind in mro_of(type(value))]
    if "numpy.ndarray" in names:
        kind = sys.modules["numpy"].ndarray
        return f"{_shape(kind.shape.__get__(value))} {kind.dtype.__get__(value)}"
    if "torch.Tensor" in names:
        base = sys.modules["torch"]._C.TensorBase
        dtype = str(base.dtype.__get__(value)).removeprefix("torch.")
        return f"{_shape(tuple(base.shape.__get__(value)))} {dtype} {base.device.__get__(value)}"
    if names[0].startswith("jaxlib."):
        return f"{_shape(value.shape)} {value.dtype}"
    if any(name in TENSORFLOW and name.startswith("tensorflow.") for name in names):
        return f"{_shape(tuple(value.shape))} {value.dtype.name}"
    if names[0] in ("pandas.DataFrame", "polars.dataframe.frame.DataFrame", "pandas.core.frame.DataFrame"):
        return "{:,} rows × {:,} columns".format(*value.shape)
    if type(value) is functools._lru_cache_wrapper:
        return f"{value.cache_info().currsize:,} results"
    for kind in _COUNTED:
        if derives_from(value, kind):
            return f"{kind.__len__(value):,} items"
    return ""


def _why(measured: _Measured) -> str:
    holder, reach = measured.holder, measured.reach
    found = []
    if measured.graph_bytes > reach.total / 2:
        tensors = round(sum(scale for _, scale in reach.graphs))
        found.append(f"autograd graphs behind {tensors:,} tensors hold {show_bytes(measured.graph_bytes)} of it")
    if holder.is_output and holder.outputs:
        found.append(f"displayed by cell {holder.outputs[0]}: IPython keeps it as Out[{holder.outputs[0]}]")
    elif holder.outputs:
        found.append(f"also Out[{holder.outputs[0]}]")
    if holder.names[1:]:
        found.append(f"also {', '.join(holder.names[1:6])}")
    if part := _largest_part(holder, reach):
        found.append(f"mostly {part}")
    return "; ".join(found)


def _largest_part(holder: Holder, reach: Reach) -> str:
    """The name of the part that most of it is in."""
    largest, size = max(reach.parts.items(), key=lambda item: item[1], default=(0, 0.0))
    if size <= reach.total / 2:
        return ""
    if type(holder.value) is dict:
        keys = [key for key, value in list(holder.value.items()) if id(value) == largest and type(key) is str]
        return (keys[0] if holder.error else f"[{keys[0]!r}]") if keys else ""
    names = [name for name, value in list(instance_dict(holder.value).items()) if id(value) == largest]
    return f".{names[0]}" if names else ""


def _shape(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{length:,}" for length in shape) or "scalar"


def _source(namespace: Mapping[str, Any], shell: Any) -> str:
    """The code that the user has run: the cells, or the script."""
    cells = namespace.get("_ih") if shell is not None else None
    if type(cells) is list:
        return "\n".join(cell for cell in cells if type(cell) is str)[-MOST_SOURCE:]
    file = namespace.get("__file__")
    return "".join(linecache.getlines(file))[:MOST_SOURCE] if type(file) is str else ""
