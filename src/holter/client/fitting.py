"""Whether an array fits, giving memory back, and going on with a smaller batch: for whoever asks."""

import ctypes
import functools
import gc
import inspect
import math
import os
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

import msgspec

from holter.errors import UsageError
from holter.memory.readings import cuda_is_used, rss_bytes
from holter.probes.cgroups import Cgroup, find_chain
from holter.probes.procfs import find_number, read_file

P = ParamSpec("P")
R = TypeVar("R")
ITEM_BYTES = {
    **dict.fromkeys(("float64", "double", "int64", "long", "uint64", "complex64", "datetime64"), 8),
    **dict.fromkeys(("float32", "float", "int32", "int", "uint32"), 4),
    **dict.fromkeys(("float16", "half", "bfloat16", "int16", "short", "uint16"), 2),
    **dict.fromkeys(("int8", "uint8", "bool", "float8_e4m3fn", "float8_e5m2"), 1),
    "complex128": 16,
}
ERRORS = ("OutOfMemoryError", "ResourceExhaustedError", "RuntimeError", "XlaRuntimeError")
OUT_OF_MEMORY = ("out of memory", "failed to allocate memory", "RESOURCE_EXHAUSTED")


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """What an array needs and what there is; true where it fits."""

    needed_bytes: int
    left_bytes: int | None
    """None where nobody could look."""
    where: str
    advice: str = ""

    def __bool__(self) -> bool:
        return self.left_bytes is None or self.needed_bytes <= self.left_bytes

    def __str__(self) -> str:
        there = "nobody can say how much there is" if self.left_bytes is None else f"{_gb(self.left_bytes)} are left"
        head = f"{'fits' if self else 'does not fit'}: {_gb(self.needed_bytes)} needed, {there} {self.where}"
        return f"{head}; {self.advice}" if self.advice else head

    __repr__ = __str__


class Released(msgspec.Struct, frozen=True, kw_only=True):
    """What `release` gave back."""

    objects: int
    """That the garbage collector freed."""
    host_bytes: int
    gpu_bytes: int | None = None
    """Of torch's cache; None where torch uses no GPU."""

    def __str__(self) -> str:
        gpu = "" if self.gpu_bytes is None else f", {_gb(self.gpu_bytes)} on GPUs"
        return f"{_gb(self.host_bytes)} came back{gpu}; {self.objects:,} objects were garbage"

    __repr__ = __str__


def fits(shape: Any, dtype: Any = "float32", *, device: Any = "cpu") -> Fit:
    """Whether an array of this shape fits into the memory that is left here, under the limit that really holds.

    Raises UsageError for what is no shape, type or device.
    """
    lengths = [shape] if isinstance(shape, int) else list(shape)
    if not all(isinstance(each, int) and each >= 0 for each in lengths):
        raise UsageError(f"fits(): a shape is whole numbers of 0 or more, got {shape!r}")
    item = _item_bytes(dtype)
    needed = math.prod(lengths) * item
    left, where = _left(str(device))
    return Fit(needed_bytes=needed, left_bytes=left, where=where, advice=_advice(lengths, item, left=left))


def release() -> Released:
    """Give back what frameworks keep for later: garbage, caches, Keras' session, a notebook's outputs and traceback."""
    before = rss_bytes()
    torch, keras = sys.modules.get("torch"), sys.modules.get("keras")
    reserved = torch.cuda.memory_reserved if torch is not None and cuda_is_used() else None
    gpu_before = reserved() if reserved else None
    shell = _shell()
    if shell is not None:
        from holter.memory.freeing import free

        free(shell)
    if keras is not None:
        keras.backend.clear_session()
    objects = _drop_caches()
    gpu = max(0, gpu_before - reserved()) if reserved and gpu_before is not None else None
    return Released(objects=objects, host_bytes=max(0, before - rss_bytes()), gpu_bytes=gpu)


@overload
def retry_smaller(function: Callable[P, R]) -> Callable[P, R]: ...


@overload
def retry_smaller(*, argument: str = ..., least: int = ...) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


def retry_smaller(function: Any = None, *, argument: str = "batch_size", least: int = 1) -> Any:
    """Call the function again with half the batch when a GPU's memory does not suffice, and say so.

    What it returns has been computed with the batch that fitted; what it had changed before is not undone.

    Args:
        argument: the one that is halved.
        least: what is not gone below: then the error is raised as it was.
    """
    if function is None:
        return functools.partial(retry_smaller, argument=argument, least=least)
    signature = inspect.signature(function)
    if argument not in signature.parameters:
        raise UsageError(f"retry_smaller: {function.__name__}() has no argument {argument!r}; name it by argument=")

    @functools.wraps(function)
    def smaller(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        while True:
            try:
                return function(*bound.args, **bound.kwargs)
            except Exception as error:
                size = bound.arguments[argument]
                if not is_out_of_memory(error) or not isinstance(size, int) or size // 2 < max(1, least):
                    raise
                if _has_process_group():
                    say(f"retry_smaller: {argument} stays {size}: with several ranks all of them would have to go down")
                    raise
                bound.arguments[argument] = size // 2
                say(f"GPU out of memory with {argument}={size}: again with {size // 2}")
            # Outside of the handler: what the failed call held is let go of with its traceback.
            _drop_caches()

    return smaller


def _item_bytes(dtype: Any) -> int:
    if isinstance(size := getattr(dtype, "itemsize", None), int):
        return size
    name = getattr(dtype, "__name__", str(dtype)).rpartition(".")[2]
    name = {"float": "float64", "int": "int64"}.get(name, name) if isinstance(dtype, type) else name
    if name not in ITEM_BYTES:
        raise UsageError(
            f"fits(): dtype must be a type of numpy or torch, or one of {', '.join(ITEM_BYTES)}; got {name!r}"
        )
    return ITEM_BYTES[name]


def _left(device: str) -> tuple[int | None, str]:
    if device == "cpu":
        return host_left(), "in this process's memory"
    if not device.startswith("cuda"):
        raise UsageError(f"fits(): device is cpu or cuda, got {device!r}")
    if not cuda_is_used():
        return None, f"on {device}, which nothing here uses yet"
    torch = sys.modules["torch"]
    free = int(torch.cuda.mem_get_info(device)[0])
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return free + cached, f"on {device}"


def host_left(pid: int | None = None) -> int | None:
    """Of the machine's memory, or of a limit that is nearer, without what Linux could drop; None: nobody can look."""
    available = find_number(read_file("/proc/meminfo") or b"", b"MemAvailable:")
    left = [] if available is None else [available * 1024]
    chain = find_chain(pid or os.getpid(), "memory")
    names = ("memory.max", "memory.current", b"inactive_file")
    names = names if chain.is_unified else ("memory.limit_in_bytes", "memory.usage_in_bytes", b"total_inactive_file")
    for directory in chain.directories:
        cgroup = Cgroup(directory)
        limit, used, cache = cgroup.number(names[0]), cgroup.number(names[1]), cgroup.number("memory.stat", names[2])
        cgroup.close()
        if limit == limit and used == used:
            left.append(int(limit - used + (cache if cache == cache else 0)))
    return max(0, min(left)) if left else None


def _advice(lengths: list[int], item: int, *, left: int | None) -> str:
    needed = math.prod(lengths) * item
    if left is None or needed <= left:
        return ""
    row = needed // lengths[0] if lengths and lengths[0] else needed
    parts = [f"{left // row:,} of {lengths[0]:,} rows do"] if lengths and 0 < row <= left else []
    if item > 2 and needed * 2 // item <= left:
        parts.append("as float16 all would")
    parts.append("numpy.memmap keeps it on the disk")
    return ", ".join(parts)


def is_out_of_memory(error: Exception) -> bool:
    """Whether a framework was refused memory of a GPU."""
    return type(error).__name__ in ERRORS and any(word in str(error) for word in OUT_OF_MEMORY)


def _has_process_group() -> bool:
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    return bool(distributed and distributed.is_available() and distributed.is_initialized())


def say(text: str) -> None:
    """On the active run, or to the terminal."""
    from holter.client.active import current

    if (run := current()) is not None:
        run.remark(text)
    else:
        sys.stderr.write(f"holter: {text}\n")


def _shell() -> Any:
    from holter.client.shell import current_shell

    return current_shell()


def _drop_caches() -> int:
    """What nobody uses any more, of Python, torch and the C library; returns how many objects were garbage."""
    objects = gc.collect()
    if cuda_is_used():
        sys.modules["torch"].cuda.empty_cache()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return objects


def _gb(count: float) -> str:
    return f"{count / 1e9:.2f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
