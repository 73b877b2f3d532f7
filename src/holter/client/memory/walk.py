"""Adds up what a value holds, without running any code of the user's.

Types are recognised by their own identity and read past any method that a derived class may have. Memory that is
reached twice is counted once. Large containers are sampled.
"""

import collections
import contextlib
import functools
import gc
import itertools
import time
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from holter.client.boundary import is_strict

MOST_ITEMS = 200
MOST_DEPTH = 3
# Beyond this, going through a dict to take items evenly costs more than the items.
FAR = 100_000
# A text or bytes object below this is not worth finding out whether somebody else holds it too.
LARGE_BYTES = 4096

# Straight from `type`: a metaclass of the user's could answer these itself.
mro_of: Any = type.__dict__["__mro__"].__get__
attributes_of: Any = type.__dict__["__dict__"].__get__
module_of: Any = type.__dict__["__module__"].__get__
qualname_of: Any = type.__dict__["__qualname__"].__get__

Reader = Callable[["Walk", Any], None]


class Buffer(msgspec.Struct, frozen=True):
    """A piece of memory that several values may share."""

    key: int
    size_bytes: int
    place: str = "host"
    """`host`, `gpu` or `file`."""


class Reach(msgspec.Struct):
    """What one holder reaches: how much of it nobody before it did, and all that it touches."""

    bytes: dict[str, float] = msgspec.field(default_factory=lambda: {"host": 0.0, "gpu": 0.0, "file": 0.0})
    touched: dict[int, float] = {}
    """Keys of buffers and ids of containers, with what this holder was the first to reach there; 0 if it was not."""
    graphs: list[tuple[Any, float]] = []
    """Tensors with an autograd graph behind them, and how many tensors each of them stands for."""
    parts: dict[int, float] = {}
    """What the values right inside of it come to, by their ids."""
    is_estimate: bool = False
    has_cycle: bool = False
    """Some of it is held by itself: only the garbage collector can free that."""

    @property
    def total(self) -> float:
        """Host and GPU."""
        return self.bytes["host"] + self.bytes["gpu"]


class Walk:
    """Lives for one look at a namespace. `readers` know the libraries' types, by their dotted names.

    `until` is by the thread's own clock: on a busy machine the same work takes longer, and finds the same.
    """

    def __init__(self, readers: dict[str, Reader], *, until: float, skip: Iterable[object] = ()) -> None:
        self.until = until
        self.is_complete = True
        self.reach = Reach()
        self.scale = 1.0
        self._readers = readers
        self._by_type: dict[int, Reader] = {}  # by the types' ids: a metaclass may have a hash of its own
        self._seen: set[int] = {id(each) for each in skip}
        self._alive: list[object] = []  # while we hold them, no other object gets their id
        self._depth = 0
        self._path: set[int] = set()
        self._item = 0
        self._extras: dict[int, tuple[int, float, str]] = {}

    def measure(self, value: object) -> Reach:
        """What a holder reaches; as much as could be found out where a library does not answer as it used to."""
        self.reach, self.scale, self._depth = Reach(), 1.0, 0
        self._path, self._item, self._extras = set(), 0, {}
        try:
            self.visit(value)
        except Exception:
            if is_strict():
                raise
            self.reach.is_estimate = True
        return self.reach

    def is_late(self) -> bool:
        """Whether the time is up; then what was found so far is all."""
        if self.is_complete and time.thread_time() > self.until:
            self.is_complete = False
        return not self.is_complete

    def visit(self, value: object) -> None:
        """Add what a value holds, of whatever type it is."""
        kind = type(value)
        reader = self._by_type.get(id(kind))
        if reader is None:
            reader = self._by_type[id(kind)] = self._choose(kind)
            self._alive.append(kind)
        reader(self, value)

    def knows(self, value: object) -> bool:
        """Whether what a value holds is counted when it is visited."""
        return self._choose(type(value)) is not _object

    def add(self, size_bytes: float) -> None:
        """Count memory that only one value can hold."""
        self.reach.bytes["host"] += size_bytes * self.scale

    def add_buffer(self, buffer: Buffer) -> None:
        """Count memory that several values may share. A sample stands for others only where it is not shared."""
        touched, key = self.reach.touched, buffer.key
        if key in touched:
            first, extra, place = self._extras.pop(key, (self._item, 0.0, ""))
            if extra and first != self._item:
                self.reach.bytes[place] -= extra
                touched[key] -= extra
            elif extra:
                self._extras[key] = first, extra, place
            return
        is_new = key not in self._seen
        self._seen.add(key)
        counted = buffer.size_bytes * self.scale if is_new else 0.0
        touched[key] = counted
        self.reach.bytes[buffer.place] += counted
        if is_new and self.scale > 1:
            self._extras[key] = self._item, counted - buffer.size_bytes, buffer.place

    def visit_all(
        self, owner: object, items: Sequence[object], *, count: int, own_bytes: int = 0, levels: int = 1
    ) -> None:
        """Add what a container holds, of which `items` are all or a sample; each container once.

        Args:
            levels: how much of the depth it takes; 0 for a library's own structure.
        """
        reach, key = self.reach, id(owner)
        if key in self._seen:
            reach.touched.setdefault(key, 0.0)
            reach.has_cycle = reach.has_cycle or key in self._path
            return
        self._seen.add(key)
        self._alive.append(owner)
        before = reach.total
        self.add(own_bytes)
        if items and self._depth + levels <= MOST_DEPTH and not self.is_late():
            self._depth += levels
            self._path.add(key)
            self._visit_sample(items, count)
            self._path.discard(key)
            self._depth -= levels
        reach.touched[key] = reach.total - before

    def _visit_sample(self, items: Sequence[object], count: int) -> None:
        scale, item = self.scale, self._item
        unique = {id(each): each for each in items}
        if count > len(items):
            self.reach.is_estimate = True
            # The same few objects again and again: a sample has them all.
            if len(unique) > len(items) / 4:
                self.scale = scale * count / len(items)
        for position, each in enumerate(unique.values()):
            if scale == 1 and self.scale > 1:
                self._item = position
            before = self.reach.total
            self.visit(each)
            if len(self._path) == 1:
                self.reach.parts[id(each)] = self.reach.total - before
            if position % 64 == 63 and self.is_late():
                break
        self.scale, self._item = scale, item

    def _choose(self, kind: type) -> Reader:
        for each in mro_of(kind):
            name = dotted_name(each)
            if reader := _BUILTIN.get(id(each)) or self._readers.get(name):
                return reader
            if name.startswith("holter."):
                return _nothing
        return _object


def derives_from(value: object, *kinds: type) -> bool:
    """`isinstance`, without asking the value or its class."""
    return any(each is kind for each in mro_of(type(value)) for kind in kinds)


def dotted_name(kind: type) -> str:
    """`torch.Tensor`, without asking a metaclass."""
    module, name = module_of(kind), qualname_of(kind)
    return f"{module}.{name}" if type(module) is str else str(name)


def sample(count: int) -> range:
    """Which items of so many to look at: all of a few, else evenly spaced ones."""
    step = max(1, -(-count // MOST_ITEMS))
    return range(0, count, step)


def instance_dict(value: object) -> dict[str, Any]:
    """The attributes of an instance, whatever its class makes of `__dict__`; empty where it has none."""
    for kind in mro_of(type(value)):
        found = attributes_of(kind).get("__dict__")
        if found is not None:
            # A property of that name would be the user's code.
            held = found.__get__(value) if type(found) is types.GetSetDescriptorType else None
            return held if type(held) is dict else {}
    return {}


def keys_and_values(value: dict[Any, Any]) -> list[object]:
    """Some keys and values of a dict, evenly spaced where it is not too long for that."""
    count = dict.__len__(value)
    step = sample(count).step if count <= FAR else 1
    try:
        pairs = list(itertools.islice(dict.items(value), 0, step * MOST_ITEMS, step))
    except RuntimeError:  # another thread changes it meanwhile
        return []
    return [each for pair in pairs for each in pair]


def _nothing(walk: Walk, value: Any) -> None:
    """A module, a class: it would be there anyway."""


def _plain(sizeof: Callable[[Any], int]) -> Reader:
    return lambda walk, value: walk.add(sizeof(value))


def _text(walk: Walk, value: Any) -> None:
    _shareable(walk, value, str.__sizeof__(value))


def _bytes(walk: Walk, value: Any) -> None:
    _shareable(walk, value, bytes.__sizeof__(value))


def _bytearray(walk: Walk, value: Any) -> None:
    _shareable(walk, value, bytearray.__sizeof__(value))


def _view(walk: Walk, value: Any) -> None:
    with contextlib.suppress(ValueError):  # released
        walk.visit(memoryview.obj.__get__(value))


def _shareable(walk: Walk, value: object, size_bytes: int) -> None:
    if size_bytes < LARGE_BYTES:
        walk.add(size_bytes)
    else:
        walk.add_buffer(Buffer(id(value), size_bytes))


def _list(walk: Walk, value: Any) -> None:
    _sequence(walk, value, list)


def _tuple(walk: Walk, value: Any) -> None:
    _sequence(walk, value, tuple)


def _sequence(walk: Walk, value: Any, kind: Any) -> None:
    count = kind.__len__(value)
    items = kind.__getitem__(value, slice(0, count, sample(count).step))
    walk.visit_all(value, items, count=count, own_bytes=kind.__sizeof__(value))


def _deque(walk: Walk, value: Any) -> None:
    count = collections.deque.__len__(value)
    try:
        items = list(itertools.islice(collections.deque.__iter__(value), MOST_ITEMS))
    except RuntimeError:  # another thread changes it meanwhile
        items = []
    walk.visit_all(value, items, count=count, own_bytes=collections.deque.__sizeof__(value))


def _set(walk: Walk, value: Any) -> None:
    kind: Any = set if derives_from(value, set) else frozenset
    try:
        items = list(itertools.islice(kind.__iter__(value), MOST_ITEMS))
    except RuntimeError:  # another thread changes it meanwhile
        items = []
    walk.visit_all(value, items, count=kind.__len__(value), own_bytes=kind.__sizeof__(value))


def _dict(walk: Walk, value: Any) -> None:
    count = 2 * dict.__len__(value)
    walk.visit_all(value, keys_and_values(value), count=count, own_bytes=dict.__sizeof__(value))


def _function(walk: Walk, value: Any) -> None:
    """A closure holds what it closed over."""
    cells = types.FunctionType.__closure__.__get__(value) or ()
    held = [each for cell in cells for each in gc.get_referents(cell)]  # nothing, for a cell that is empty yet
    walk.visit_all(value, held, count=len(held))


def _cached(walk: Walk, value: Any) -> None:
    """A function under `lru_cache` or `cache`: its arguments and results."""
    count = functools._lru_cache_wrapper.cache_info(value).currsize
    referents = [each for each in gc.get_referents(value) if type(each) is not types.FunctionType]
    if len(referents) < 2 * count:  # without a bound they are in a dict, else in a chain beside it
        held = [each for each in referents if type(each) is dict and len(each) == count]
        items = [each for every in held[:1] for each in keys_and_values(every)]
        walk.visit_all(value, items, count=2 * count, own_bytes=128 * count)
    else:
        walk.visit_all(value, referents[:: sample(len(referents)).step], count=len(referents), own_bytes=128 * count)


def _object(walk: Walk, value: Any) -> None:
    """An instance of a class that we do not know: what the garbage collector would follow from it."""
    kind = type(value)
    referents = [each for each in gc.get_referents(value) if each is not kind]
    if len(referents) == 1 and type(referents[0]) is dict:
        referents = list(itertools.islice(referents[0].values(), 10 * MOST_ITEMS))
    walk.visit_all(value, referents[: 10 * MOST_ITEMS], count=len(referents), own_bytes=object.__sizeof__(value))


_READERS: dict[type, Reader] = {
    **dict.fromkeys((type, types.ModuleType, types.CodeType, types.FrameType, types.TracebackType), _nothing),
    **dict.fromkeys((types.BuiltinFunctionType, types.GetSetDescriptorType, types.MappingProxyType), _nothing),
    **dict.fromkeys((type(None), bool, type(Ellipsis), range, slice), _nothing),
    **dict.fromkeys((set, frozenset), _set),
    int: _plain(int.__sizeof__),
    complex: _plain(complex.__sizeof__),
    str: _text,
    float: _plain(float.__sizeof__),
    bytes: _bytes,
    bytearray: _bytearray,
    memoryview: _view,
    list: _list,
    tuple: _tuple,
    dict: _dict,
    collections.deque: _deque,
    types.FunctionType: _function,
    functools._lru_cache_wrapper: _cached,
}
_BUILTIN = {id(kind): reader for kind, reader in _READERS.items()}
