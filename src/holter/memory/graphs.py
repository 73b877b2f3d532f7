"""What the autograd graph behind a tensor holds: a loss in a list keeps the activations of its whole step."""

import contextlib
import math
import statistics
import sys
import time
from types import GetSetDescriptorType
from typing import Any

from holter.memory.arrays import attributes_of, mro_of
from holter.memory.walk import Buffer, Reach, Walk, derives_from

# One node of the graph with its edges, about, in torch 2.13 on x86-64.
NODE_BYTES = 500


class Graphs:
    """Follows graphs of several holders; each node and each buffer counts for the first who reaches it."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._nodes: dict[int, Any] = {}  # held, so that no other node gets the id
        self._saved: dict[int, list[Any]] = {}

    def add(self, reach: Reach, *, until: float) -> float:
        """Count what the graphs of one holder keep beyond what is counted already; returns how much that is.

        Where the time does not suffice for all of them, the rest counts like those in the middle of what was seen.
        """
        before, found = reach.total, []
        self._walk.reach, self._walk.scale = reach, 1.0
        # Far apart first: losses of the first and of the last epoch may differ.
        tensors = [reach.graphs[position] for position in _spread(len(reach.graphs))]
        for tensor, _ in tensors:
            start = reach.total
            self._follow(tensor, reach, until)
            found.append(reach.total - start)
            if time.thread_time() > until:
                break
        stands_for = sum(scale for _, scale in tensors)
        if stands_for > len(found):
            reach.is_estimate = True
            # The first one may have reached what all of them share.
            reach.bytes[self._place(tensors[0][0])] += statistics.median(found[1:] or found) * (stands_for - len(found))
        reach.graphs = tensors  # tensors that a graph has saved have graphs of their own, and are not the holder's
        return reach.total - before

    def _follow(self, tensor: Any, reach: Reach, until: float) -> None:
        base = sys.modules["torch"]._C.TensorBase
        waiting = [base.grad_fn.__get__(tensor)]
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in self._nodes:
                continue
            self._nodes[id(node)] = node
            self._walk.add(NODE_BYTES)
            with contextlib.suppress(Exception):  # a kind of node that we do not know
                self._read(node)
                waiting += [each for each, _ in _attribute(node, "next_functions")]
            if len(self._nodes) % 32 == 0 and time.thread_time() > until:
                reach.is_estimate = True
                return

    def _read(self, node: Any) -> None:
        kind = type(node)
        if id(kind) not in self._saved:
            self._saved[id(kind)] = _saved_by(kind)
        saved = [each for descriptor in self._saved[id(kind)] for each in _as_tuple(descriptor.__get__(node))]
        if saved and not hasattr(type(saved[0]), "data"):  # a torch that can't show them without running hooks
            self._guess(node)
            return
        for each in saved:
            held = getattr(each, "data", None)  # past any hook; a hook's own package is none of ours
            if held is not None and _is_tensor(held):
                self._walk.visit(held)
        leaf = _attribute(node, "variable")  # where gradients of a parameter are collected
        if _is_tensor(leaf):
            self._walk.visit(leaf)

    def _guess(self, node: Any) -> None:
        """The size of its outputs, of which about one is kept for each node."""
        for each in _attribute(node, "_input_metadata"):
            size = math.prod(each.shape) * each.dtype.itemsize
            self._walk.add_buffer(Buffer(id(node), size, "host" if each.device.type == "cpu" else "gpu"))

    def _place(self, tensor: Any) -> str:
        base = sys.modules["torch"]._C.TensorBase
        return "host" if base.device.__get__(tensor).type == "cpu" else "gpu"


def _saved_by(kind: type) -> list[Any]:
    """What gives the tensors that nodes of a kind have saved, packed as they are."""
    names = {name: value for each in reversed(mro_of(kind)) for name, value in attributes_of(each).items()}
    raw = [value for name, value in names.items() if name.startswith("_raw_saved_")]
    return [value for value in raw if type(value) is GetSetDescriptorType]


def _attribute(node: Any, name: str) -> Any:
    """An attribute of torch's own class of nodes: a user's function may define the same."""
    for kind in mro_of(type(node)):
        found = attributes_of(kind).get(name)
        if type(found) is GetSetDescriptorType:
            return found.__get__(node)
    return ()


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if type(value) in (tuple, list) else (value,)


def _is_tensor(value: object) -> bool:
    return derives_from(value, sys.modules["torch"]._C.TensorBase)


def _spread(count: int) -> list[int]:
    """All positions, those far from each other first: 0, 1/2, 1/4, 3/4, 1/8…"""
    positions: dict[int, None] = {}
    width = 1
    while len(positions) < count:
        positions.update(dict.fromkeys(count * part // width for part in range(width)))
        width *= 2
    return list(positions)
