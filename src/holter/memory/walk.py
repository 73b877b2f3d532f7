"""Adds up what a value holds, without running any code of the user's.

Types are recognised by their own identity and read past any method that a derived class may have. Memory that is
reached twice is counted once. Large containers are sampled.
"""

import collections
import contextlib
import functools
import gc
import itertools
import sys
import time
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from holter.errors import is_strict
from holter.memory.arrays import attributes_of, module_of, mro_of, qualname_of
from holter.memory.frames import OPTIMIZED, frame_locals
from holter.memory.sampling import FEWER_ITEMS, MOST_ITEMS, OWN_REFERENCES, distinct, sample, shuffled

# So many are rather the items of a list than the attributes of an object.
LEAST_ALIKE = 16
# What lies deeper waits until everybody else has been looked at so far.
MOST_DEPTH = 3
# So far back we know again what holds itself.
MOST_PATH = 12
# Beyond this, going through a dict to take items evenly costs more than the items.
FAR = 100_000
# A text or bytes object below this is not worth finding out whether somebody else holds it too.
LARGE_BYTES = 4096
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
    is_least: bool = False
    """There is more that could not be seen, or for which there was no time."""
    has_cycle: bool = False
    """Some of it is held by itself: only the garbage collector can free that."""

    @property
    def total(self) -> float:
        """Host and GPU."""
        return self.bytes["host"] + self.bytes["gpu"]


class _Deeper(msgspec.Struct, eq=False):
    """Where to go on, and as what."""

    reach: Reach
    owner: object
    items: Sequence[object]
    count: int
    scale: float
    item: int
    part: int
    path: dict[int, None]


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
        self._deeper: collections.deque[_Deeper] = collections.deque()
        self._depth = 0
        self._path: dict[int, None] = {}
        self._part = 0
        self._item = 0
        self._extras: dict[int, tuple[int, float, str]] = {}

    def measure(self, value: object) -> Reach:
        """What a holder reaches; as much as could be found out where a library does not answer as it used to.

        `go_deeper` adds what lies far down.
        """
        self.reach, self.scale, self._depth = Reach(), 1.0, 0
        self._path, self._part, self._item, self._extras = {}, 0, 0, {}
        self._guarded(lambda: self.visit(value))
        return self.reach

    def go_deeper(self) -> None:
        """Follow chains and trees to their ends, as long as there is time, and mark those that have more."""
        while self._deeper and not self.is_late():
            each = self._deeper.popleft()
            self.reach, self.scale, self._depth = each.reach, each.scale, 1
            self._path, self._part, self._item, self._extras = each.path, each.part, each.item, {}
            before = self.reach.total
            self._guarded(lambda each=each: self._visit_sample(each.items, each.count))  # type: ignore[misc]  # each is itself
            found, key = self.reach.total - before, id(each.owner)
            self.reach.touched[key] = self.reach.touched.get(key, 0.0) + found
            if each.part in self.reach.parts:
                self.reach.parts[each.part] += found
        for each in self._deeper:
            each.reach.is_least = True
        self._deeper.clear()

    def _guarded(self, look: Callable[[], None]) -> None:
        try:
            look()
        except Exception:
            if is_strict():
                raise
            self.reach.is_estimate = True

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
        if items and (self._depth + levels > MOST_DEPTH or self.is_late()):
            path = dict.fromkeys([*self._path, key][-MOST_PATH:])
            self._deeper.append(_Deeper(reach, owner, items, count, self.scale, self._item, self._part, path))
        elif items:
            self._depth += levels
            self._path[key] = None
            self._visit_sample(items, count)
            self._path.pop(key, None)
            self._depth -= levels
        reach.touched[key] = reach.total - before

    def _visit_sample(self, items: Sequence[object], count: int) -> None:
        scale, item, is_top = self.scale, self._item, len(self._path) == 1
        unique = {id(each): each for each in items}
        times = dict.fromkeys(unique, 1) if len(unique) == len(items) else collections.Counter(map(id, items))
        self.reach.is_estimate = self.reach.is_estimate or count > len(items)
        held_scale = scale * distinct(times, count) / len(unique)
        before = dict(self.reach.bytes)
        for position, (key, each) in enumerate(shuffled(unique)):
            total = self.reach.total
            self._part = key if is_top else self._part
            if (size_of := _LEAVES.get(type(each))) is not None and (size := size_of(each)) < LARGE_BYTES:
                # Of what many hold, each of them holds a share.
                holders = sys.getrefcount(each) - OWN_REFERENCES - times[key]
                self.add(size * (count / len(items)) * min(1.0, times[key] / max(1, holders)))
            else:
                self.scale = held_scale
                self._item = position if scale == 1 and held_scale > 1 else item
                self.visit(each)
                self.scale = scale
            if is_top:
                self.reach.parts[key] = self.reach.total - total
            if not self.is_complete or (position % 64 == 63 and self.is_late()):
                self._extrapolate(before, done=position + 1, of=len(unique))
                break
        self._item = item

    def _extrapolate(self, before: dict[str, float], *, done: int, of: int) -> None:
        """The time is up: of many things, those for which there was none are as the others; of few, nobody knows."""
        if done < of and of < LEAST_ALIKE:
            self.reach.is_least = True
        elif done < of:
            self.reach.is_estimate = True
            for place, size in before.items():
                self.reach.bytes[place] += (of - done) / done * (self.reach.bytes[place] - size)

    def sample(self, count: int) -> range:
        """Which items of so many to look at: fewer of what is inside of something else."""
        return sample(count, most=FEWER_ITEMS if self._depth else MOST_ITEMS)

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


def c_size(value: object) -> int:
    """What an object takes for itself by its type's own account; one that a class of the user's gives is not asked for.

    `object.__sizeof__` is no account of generators and coroutines: it takes other fields of theirs for a length.
    """
    for kind in mro_of(type(value)):
        found = attributes_of(kind).get("__sizeof__")
        if type(found) is types.MethodDescriptorType:
            return int(found(value))
    return 0


def instance_dict(value: object) -> dict[str, Any]:
    """The attributes of an instance, whatever its class makes of `__dict__`; empty where it has none."""
    for kind in mro_of(type(value)):
        found = attributes_of(kind).get("__dict__")
        if found is not None:
            # A property of that name would be the user's code.
            held = found.__get__(value) if type(found) is types.GetSetDescriptorType else None
            return held if type(held) is dict else {}
    return {}


def keys_and_values(value: dict[Any, Any], *, most: int = MOST_ITEMS) -> list[object]:
    """Some keys and values of a dict, evenly spaced where it is not too long for that."""
    count = dict.__len__(value)
    step = sample(count, most=most).step if count <= FAR else 1
    try:
        pairs = list(itertools.islice(dict.items(value), 0, step * most, step))
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
    items = kind.__getitem__(value, slice(0, count, walk.sample(count).step))
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
    items = keys_and_values(value, most=len(walk.sample(MOST_ITEMS)))
    walk.visit_all(value, items, count=count, own_bytes=c_size(value))


def _function(walk: Walk, value: Any) -> None:
    """A closure holds what it closed over."""
    cells = types.FunctionType.__closure__.__get__(value) or ()
    held = [each for cell in cells for each in gc.get_referents(cell)]  # nothing, for a cell that is empty yet
    walk.visit_all(value, held, count=len(held))


def _builtin(walk: Walk, value: Any) -> None:
    """A method such as `[...].append` holds its list; a function its module, which would be there anyway."""
    held = gc.get_referents(value)
    walk.visit_all(value, held, count=len(held))


def _trace(walk: Walk, value: Any) -> None:
    """An exception that somebody keeps holds the local variables of every frame that it came through."""
    held: list[object] = []
    trace = value
    while trace is not None and len(held) < 10 * MOST_ITEMS:
        frame = trace.tb_frame
        if frame.f_code.co_flags & OPTIMIZED:  # else its variables are those of a module
            held += [each for _, each in frame_locals(frame)]
        trace = trace.tb_next
    if held:
        walk.visit_all(value, held, count=len(held), levels=0)


def _cached(walk: Walk, value: Any) -> None:
    """A function under `lru_cache` or `cache`: its arguments and results."""
    count = functools._lru_cache_wrapper.cache_info(value).currsize
    referents = [each for each in gc.get_referents(value) if type(each) is not types.FunctionType]
    if len(referents) < 2 * count:  # without a bound they are in a dict, else in a chain beside it
        held = [each for each in referents if type(each) is dict and len(each) == count]
        items = [each for every in held[:1] for each in keys_and_values(every)]
        walk.visit_all(value, items, count=2 * count, own_bytes=128 * count)
    else:
        total = len(referents)
        referents = referents[:: sample(total).step]
        walk.visit_all(value, referents, count=total, own_bytes=128 * count)


def _object(walk: Walk, value: Any) -> None:
    """An instance of a class that we do not know: what the garbage collector would follow from it."""
    kind = type(value)
    referents = [each for each in gc.get_referents(value) if each is not kind]
    if len(referents) == 1 and type(referents[0]) is dict:
        referents = list(itertools.islice(referents[0].values(), 10 * MOST_ITEMS))
    count = len(referents)
    del referents[10 * MOST_ITEMS :]  # in place: a second list would hold them too
    walk.visit_all(value, referents, count=count, own_bytes=c_size(value))


_READERS: dict[type, Reader] = {
    **dict.fromkeys((type, types.ModuleType, types.CodeType, types.FrameType), _nothing),
    **dict.fromkeys((types.GetSetDescriptorType, types.MappingProxyType), _nothing),
    types.BuiltinFunctionType: _builtin,
    types.TracebackType: _trace,
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
_LEAVES: dict[type[Any], Callable[[Any], int]] = {
    kind: attributes_of(kind).get("__sizeof__", object.__sizeof__) for kind in (int, float, complex, str, bytes)
}
