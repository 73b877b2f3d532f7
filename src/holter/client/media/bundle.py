"""Gathers the bytes of one logged value, and how arrays and files become such bytes."""

import importlib
import os
import stat
import sys
from typing import Any

from holter.errors import UsageError
from holter.journal.spool import Bytes, FilePart, Part

MOST_BYTES = 2 << 30
"""Of one value: more would hold up the program, and nobody could look at it."""
MOST_PARTS = 10_000


class Bundle:
    """Parts in their order; each `add` returns the number of its part. Raises UsageError for what is too much."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.sources: list[Bytes | FilePart] = []
        self.missing: list[str] = []
        """Why parts of the value are left out of it."""
        self.size = 0

    def add(self, data: Bytes, dtype: str = "", shape: tuple[int, ...] = ()) -> int:
        """Bytes; they must stay as they are until they are written."""
        size = data.nbytes if isinstance(data, memoryview) else len(data)
        self._grow(size)
        self.parts.append(Part(size, dtype, shape))
        self.sources.append(data)
        return len(self.parts) - 1

    def add_array(self, array: Any) -> int:
        """An array as `own_array` makes them."""
        self._grow(0 if array.nbytes <= MOST_BYTES else array.nbytes)
        return self.add(memoryview(array.reshape(-1)).cast("B") if array.size else b"", array.dtype.str, array.shape)

    def add_file(self, path: str) -> int:
        """The content of a file as it is when the value is logged. Raises OSError, UsageError."""
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{path!r} is no file")
        self._grow(status.st_size)
        self.parts.append(Part(status.st_size))
        self.sources.append(FilePart(os.path.abspath(path), status.st_size))
        return len(self.parts) - 1

    def _grow(self, size: int) -> None:
        self.size += size
        self.check_size()
        if len(self.parts) >= MOST_PARTS:
            raise UsageError(f"it has more than {MOST_PARTS:,} media: log them in several calls")

    def check_size(self) -> None:
        """Raises UsageError where it is more than one value may have."""
        if self.size > MOST_BYTES:
            raise UsageError(
                f"it has {self.size:,} bytes, and {MOST_BYTES:,} are the most of one value: log less of it"
            )


def numpy() -> Any:
    """The user's numpy: whoever has arrays has it. Raises UsageError."""
    try:
        return sys.modules.get("numpy") or importlib.import_module("numpy")
    except ImportError:
        raise UsageError("this needs numpy: pip install numpy") from None


def as_array(value: Any) -> Any:
    """A numpy array of it, which may share its memory. Waits for a device. Raises UsageError."""
    np = numpy()
    try:
        if hasattr(value, "detach"):  # torch
            value = value.detach()
            value = value.float() if str(value.dtype) == "torch.bfloat16" else value
            value = value.cpu().numpy()
        elif not isinstance(value, np.ndarray):
            value = value.numpy() if hasattr(value, "numpy") else np.asarray(value)
            value = np.asarray(value)
    except UsageError:
        raise
    except Exception as error:  # what users' own classes raise
        raise UsageError(f"no array can be made of a {type(value).__name__}: {error}") from error
    if value.dtype.kind not in "biuf":
        if value.dtype.kind == "V" and value.dtype.itemsize == 2:  # bfloat16 of ml_dtypes
            return value.astype(np.float32)
        raise UsageError(f"an array of {value.dtype} holds no numbers")
    if value.nbytes > MOST_BYTES:
        raise UsageError(f"an array of {value.nbytes:,} bytes: {MOST_BYTES:,} are the most; log a part of it")
    return value


def own_array(value: Any) -> Any:
    """A copy of it that nobody else can change, with its items in the order of the C language."""
    np = numpy()
    array = as_array(value)
    dtype = array.dtype.newbyteorder("<") if array.dtype.byteorder == ">" else array.dtype
    return np.array(array, dtype=dtype, order="C", copy=True)


def is_array(value: Any) -> bool:
    """Whether it has the shape of an array of some library."""
    return hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "__len__") and not callable(value)
