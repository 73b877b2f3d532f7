"""Describes arrays and tensors without their values, and without running any code of the user's."""

import contextlib
import itertools
import math
import sys
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any

from holter.model.cutting import bounded
from holter.model.records import HeldArray

LIBRARIES = frozenset(("numpy", "torch", "jax", "jaxlib", "tensorflow"))
MOST_ITEMS = 4096
MOST_DIMENSIONS = 16
MOST_TEXT = 100
LARGEST = (1 << 63) - 1

# Straight from `type`: a metaclass of the user's could answer these itself.
attributes_of: Any = type.__dict__["__dict__"].__get__
mro_of: Any = type.__dict__["__mro__"].__get__
module_of: Any = type.__dict__["__module__"].__get__
qualname_of: Any = type.__dict__["__qualname__"].__get__
_IN_C = (GetSetDescriptorType, MemberDescriptorType)
# With one of these, torch asks the class before it answers even for a shape.
_TORCH_HOOKS = ("__torch_function__", "__torch_dispatch__")


class ArrayReader:
    """Lives for one exception: remembers which types are arrays, and ends when it has looked at enough values."""

    def __init__(self, most_values: int) -> None:
        self._left = most_values
        self._is_array: dict[type, bool] = {}

    def read(self, name: str, value: object) -> HeldArray | None:
        """What a variable holds, if it is an array or a list, tuple or dict with arrays in it."""
        self._left -= 1
        if self._left < 0:
            return None
        kind = type(value)
        if self._knows(kind):
            return _describe(name, value)
        return self._read_many(name, _items(value, kind), type_name(kind))

    def _read_many(self, name: str, items: list[object], kind: str) -> HeldArray | None:
        self._left -= len(items)
        arrays = [item for item in items if self._knows(type(item))]
        if not arrays:
            return None
        sizes = [_size_bytes(each) for each in arrays]
        known = [size for size in sizes if size is not None]
        total = min(sum(known), LARGEST) if len(known) == len(sizes) else None
        return HeldArray(name=bounded(name, MOST_TEXT), type=kind, count=len(arrays), size_bytes=total)

    def _knows(self, kind: type) -> bool:
        found = self._is_array.get(kind)
        if found is None:
            found = self._is_array[kind] = is_array(kind)
        return found


def is_array(kind: type) -> bool:
    """Whether a type is an array of one of the libraries, or derived from one; numpy's scalars are none."""
    homes = [each for each in mro_of(kind) if _is_library(each)]
    has = {name for each in homes for name in ("shape", "dtype") if name in attributes_of(each)}
    return len(has) == 2 and not any(qualname_of(each) == "generic" for each in homes)


def type_name(kind: type) -> str:
    """`torch.Tensor`; `list` for a builtin."""
    module, name = module_of(kind), qualname_of(kind)
    return bounded(name if module == "builtins" or type(module) is not str else f"{module}.{name}", MOST_TEXT)


def without_torch_hooks() -> contextlib.AbstractContextManager[object]:
    """A `with` in which torch answers by itself, whatever mode the program has switched on."""
    core = getattr(sys.modules.get("torch"), "_C", None)
    disable = getattr(core, "DisableTorchFunction", None)
    return disable() if isinstance(disable, type) else contextlib.nullcontext()


def _describe(name: str, value: object) -> HeldArray:
    kind, dtype = type(value), _value_of(value, "dtype")
    library = next(_package(each) for each in mro_of(kind) if _is_library(each))
    return HeldArray(
        name=bounded(name, MOST_TEXT),
        type=type_name(kind),
        shape=_shape(value) or (),
        dtype=_text(_value_of(dtype, "name") or dtype).removeprefix("torch."),
        device=_text(_value_of(value, "device")) or ("cpu" if library == "numpy" else ""),
        size_bytes=_size_bytes(value),
    )


def _size_bytes(value: object) -> int | None:
    size = _value_of(value, "nbytes")
    if type(size) is not int:
        dtype, shape = _value_of(value, "dtype"), _shape(value)
        item = _value_of(dtype, "itemsize") or _value_of(dtype, "size")  # the latter in TensorFlow
        # TensorFlow's sparse and ragged tensors have no device of their own, and less in them than their shape says.
        is_dense = bool(_text(_value_of(value, "device")))
        if not is_dense or shape is None or -1 in shape or type(item) is not int or not item:
            return None
        size = math.prod(shape) * item
    return min(size, LARGEST)


def _shape(value: object) -> tuple[int, ...] | None:
    shape = _value_of(value, "shape")
    if type(shape) is not tuple and not _is_library(type(shape)):
        return None
    try:
        lengths = list(itertools.islice(iter(shape), MOST_DIMENSIONS))  # type: ignore[call-overload]  # a tuple, or one of the library's
    except (TypeError, ValueError):  # TensorFlow does not know yet how many dimensions there are
        return None
    return tuple(min(length, LARGEST) if type(length) is int else -1 for length in lengths)


def _value_of(value: object, name: str) -> object:
    """An attribute whose code is the library's own; None where it is missing, the user's, or fails."""
    kind = type(value)
    owner = next((each for each in mro_of(kind) if name in attributes_of(each)), None)
    if owner is None or not _is_library(owner):
        return None
    is_derived = not _is_library(kind)
    found = attributes_of(owner)[name]
    # A property of the library may call methods that a derived class has replaced; a descriptor written in C does not.
    readable = _IN_C if is_derived else (*_IN_C, property)
    if type(found) not in readable or (is_derived and _has_torch_hook(kind)):
        return None
    try:
        return found.__get__(value, kind)
    except Exception:  # noqa: BLE001  an array that was deleted, or is not there yet
        return None


def _has_torch_hook(kind: type) -> bool:
    own = [each for each in mro_of(kind) if not _is_library(each)]
    return any(name in attributes_of(each) for each in own for name in _TORCH_HOOKS)


def _items(value: object, kind: type) -> list[object]:
    """The first level of a list, tuple or dict, past any method that a derived class may have; else nothing."""
    iterate: Any
    if issubclass(kind, dict):
        iterate = dict.values
    elif issubclass(kind, list):
        iterate = list.__iter__
    elif issubclass(kind, tuple):
        iterate = tuple.__iter__
    else:
        return []
    try:
        return list(itertools.islice(iter(iterate(value)), MOST_ITEMS))
    except RuntimeError:  # another thread changes it meanwhile
        return []


def _text(value: object) -> str:
    if type(value) is str:
        return bounded(value, MOST_TEXT)
    if value is None or not _is_library(type(value)):
        return ""
    try:
        return bounded(str(value), MOST_TEXT)
    except Exception:  # noqa: BLE001  a library's own trouble, at a moment when it may be broken
        return ""


def _is_library(kind: type) -> bool:
    return _package(kind) in LIBRARIES


def _package(kind: type) -> str:
    module = module_of(kind)
    return module.partition(".")[0] if type(module) is str else ""
