"""The bytes of sealed chunks: numbers as differences or as they are, bytes sorted by significance, compressed."""

import threading

import numpy as np
import numpy.typing as npt
import zstandard

from holter.errors import StorageDamaged
from holter.storage.bucketing import GROUP, marks_of
from holter.storage.series import Floats, Ints

_LEVEL = 1
_STRIDE, _DELTA, _SAME = b"s", b"d", b"c"
_SINGLE, _DOUBLE = b"4", b"8"

PYRAMID = np.dtype(
    [
        ("low", "<f8"),
        ("high", "<f8"),
        ("total", "<f8"),
        ("final", "<f8"),
        ("count", "u1"),
        ("finite", "u1"),
        ("marks", "u1"),
    ]
)
"""One group of points. Unpadded, and not compressed: a chart of millions of points reads thousands of these at once."""
EXTENT = np.dtype([("first_step", "<i8"), ("last_step", "<i8"), ("first_ns", "<i8"), ("last_ns", "<i8")])

_local = threading.local()


def _compress(data: bytes) -> bytes:
    if not hasattr(_local, "compressor"):
        _local.compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
        _local.decompressor = zstandard.ZstdDecompressor()
    return bytes(_local.compressor.compress(data))


def _decompress(data: memoryview, size: int) -> bytes:
    if not hasattr(_local, "decompressor"):
        _compress(b"")
    try:
        found: bytes = _local.decompressor.decompress(data, max_output_size=size)
    except zstandard.ZstdError as error:
        raise StorageDamaged(f"a sealed chunk can't be decompressed: {error}") from error
    if len(found) != size:
        raise StorageDamaged(f"a sealed chunk has {len(found)} bytes instead of {size}")
    return found


def _shuffle(values: npt.NDArray[np.generic]) -> bytes:
    return np.ascontiguousarray(values.view(np.uint8).reshape(len(values), values.itemsize).T).tobytes()


def _unshuffle(data: bytes, dtype: str, count: int) -> npt.NDArray[np.generic]:
    width = np.dtype(dtype).itemsize
    lines = np.frombuffer(data, np.uint8).reshape(width, count)
    return np.ascontiguousarray(lines.T).view(dtype).reshape(count)


def encode_values(values: Floats) -> bytes:
    """Half the size where single precision loses nothing; every bit of a NaN is kept."""
    with np.errstate(over="ignore", invalid="ignore"):
        single = values.astype("<f4")
    if (single.astype("<f8").view(np.int64) == values.view(np.int64)).all():
        return _SINGLE + _compress(_shuffle(single))
    return _DOUBLE + _compress(_shuffle(np.ascontiguousarray(values, "<f8")))


def decode_values(data: bytes, count: int) -> Floats:
    """Raises StorageDamaged."""
    dtype = "<f4" if data[:1] == _SINGLE else "<f8"
    found = _unshuffle(_decompress(memoryview(data)[1:], count * np.dtype(dtype).itemsize), dtype, count)
    return found.astype(np.float64, copy=False)


def encode_integers(values: Ints) -> bytes:
    """As a start and a stride where that is all there is, else as differences."""
    # Differences of 64-bit integers wrap around, and sums of them wrap back.
    deltas = np.diff(values)
    if len(values) < 2 or (deltas == deltas[0]).all():
        stride = deltas[:1] if len(values) > 1 else np.zeros(1, np.int64)
        return _STRIDE + np.concatenate([values[:1], stride]).astype("<i8").tobytes()
    return _DELTA + _compress(_shuffle(np.concatenate([values[:1], deltas]).astype("<i8")))


def decode_integers(data: bytes, count: int) -> Ints:
    """Raises StorageDamaged."""
    if data[:1] == _STRIDE:
        start, stride = np.frombuffer(data, "<i8", 2, 1)
        found: Ints = start + np.arange(count) * stride
        return found
    return np.cumsum(_unshuffle(_decompress(memoryview(data)[1:], 8 * count), "<i8", count), dtype=np.int64)


def stride_of(steps: Ints) -> int:
    """The distance between steps where it is always the same, else 0."""
    if len(steps) < 2:
        return 1
    stride = int(steps[1]) - int(steps[0])
    return stride if stride < 1 << 62 and (np.diff(steps) == stride).all() else 0


def build_pyramid(values: Floats) -> bytes:
    """The groups of a chunk."""
    starts = np.arange(0, len(values), GROUP)
    groups = np.empty(len(starts), PYRAMID)
    counts = np.diff(np.append(starts, len(values)))
    is_finite = np.isfinite(values)
    groups["final"] = values[starts + counts - 1]
    groups["count"] = counts
    if is_finite.all():
        groups["finite"], groups["marks"] = counts, 0
        low = high = values
    else:
        groups["finite"] = np.add.reduceat(is_finite.astype(np.uint8), starts)
        groups["marks"] = np.bitwise_or.reduceat(marks_of(values), starts)
        low, high = np.where(is_finite, values, np.inf), np.where(is_finite, values, -np.inf)
        values = np.where(is_finite, values, 0.0)
    groups["low"], groups["high"] = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    with np.errstate(over="ignore", invalid="ignore"):
        groups["total"] = np.add.reduceat(values, starts)
    return groups.tobytes()


def build_extents(steps: Ints, at_ns: Ints) -> bytes:
    """Where each group of a chunk begins and ends."""
    starts = np.arange(0, len(steps), GROUP)
    ends = np.append(starts[1:], len(steps)) - 1
    extents = np.empty(len(starts), EXTENT)
    extents["first_step"], extents["last_step"] = steps[starts], steps[ends]
    extents["first_ns"], extents["last_ns"] = at_ns[starts], at_ns[ends]
    return extents.tobytes()
