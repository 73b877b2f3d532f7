"""The helpers of `wandb.util` and `wandb.sdk.lib` that programs call though nobody promised them."""

import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterator
from typing import Any

from holter.recording.identity import new_run_id

POW_10_BYTES = [("B", 1), ("KB", 10**3), ("MB", 10**6), ("GB", 10**9), ("TB", 10**12), ("PB", 10**15)]
POW_2_BYTES = [("B", 1), ("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30), ("TiB", 2**40), ("PiB", 2**50)]
VALUE_BYTES_LIMIT = 100_000
LogicalPath = str


def generate_id(length: int = 8) -> str:
    """A new id for a run, whatever `random.seed()` was given."""
    text = new_run_id()
    while len(text) < length:
        text += new_run_id()
    return text[:length]


generate_fast_id = random_string = generate_id


def to_human_size(size: float, units: list[tuple[str, int]] = POW_10_BYTES) -> str:
    """`2.0MB`."""
    unit, factor = next(each for each in reversed(units) if size >= each[1] or each[1] == 1)
    return f"{round(size / factor, 1)}{unit}"


def from_human_size(size: str, units: list[tuple[str, int]] = POW_10_BYTES) -> int:
    """`2MB` as a number of bytes. Raises ValueError."""
    text = size.strip().upper()
    for unit, factor in sorted([*units, *POW_2_BYTES], key=lambda each: -len(each[0])):
        if text.endswith(unit.upper()) and text[: -len(unit)].strip():
            return int(float(text[: -len(unit)]) * factor)
    return int(float(text))


def json_friendly(value: Any) -> tuple[Any, bool]:
    """A value that JSON has, and whether it is another one."""
    plain = make_safe_for_json(value)
    return plain, plain is not value


def json_friendly_val(value: Any) -> Any:
    """A value that JSON has."""
    return make_safe_for_json(value)


def make_safe_for_json(value: Any) -> Any:
    """A value that JSON has; text for what it has not."""
    from holter.client.values import plain_tree

    return plain_tree({"value": value}, lambda cause, text: None)["value"]


def json_dumps_safer(value: Any, **others: Any) -> str:
    """JSON of whatever it is."""
    return json.dumps(make_safe_for_json(value), **others)


json_dumps_safer_history = json_dumps_safer


def get_module(name: str, required: str | bool | None = None, lazy: bool = True) -> Any:
    """A module, None where it can't be imported. Raises UsageError with what `required` says."""
    try:
        return importlib.import_module(name)
    except ImportError:
        if required:
            from holter.errors import UsageError

            raise UsageError(str(required)) from None
        return None


def get_full_typename(value: Any) -> str:
    """The module and the name of a type."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _is_of(value: Any, package: str, names: str) -> bool:
    kinds = type(value).__mro__
    return any(kind.__module__.partition(".")[0] == package and kind.__name__ in names.split() for kind in kinds)


def is_numpy_array(value: Any) -> bool:
    """Whether it is one of numpy's."""
    return _is_of(value, "numpy", "ndarray")


def is_pytorch_tensor(value: Any) -> bool:
    """Whether it is one of torch's."""
    return _is_of(value, "torch", "Tensor")


def is_tf_tensor(value: Any) -> bool:
    """Whether it is one of TensorFlow's."""
    return _is_of(value, "tensorflow", "Tensor EagerTensor _EagerTensorBase")


def is_pandas_data_frame(value: Any) -> bool:
    """Whether it is one of pandas'."""
    return _is_of(value, "pandas", "DataFrame")


def coalesce(*values: Any) -> Any:
    """The first that is not None."""
    return next((value for value in values if value is not None), None)


def mkdir_exists_ok(path: Any) -> bool:
    """Make a directory; whether it is there then."""
    os.makedirs(path, exist_ok=True)
    return True


def to_forward_slash_path(path: str) -> str:
    """A path with slashes."""
    return path.replace("\\", "/") if os.sep == "\\" else path


def python_type() -> str:
    """`python`, `ipython` or `jupyter`."""
    from holter.client.shell import is_kernel

    return "jupyter" if is_kernel() else "ipython" if "IPython" in sys.modules and hasattr(sys, "ps1") else "python"


def in_jupyter() -> bool:
    """Whether a notebook's kernel runs it."""
    return python_type() == "jupyter"


in_notebook = in_jupyter


def in_ipython() -> bool:
    """Whether IPython runs it."""
    return python_type() != "python"


class _Telemetry:
    """What frameworks tell W&B of themselves; holter sends nothing of that kind to anybody."""

    def __getattr__(self, name: str) -> "_Telemetry":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        """Forget it."""


@contextlib.contextmanager
def context(run: Any = None, obj: Any = None) -> Iterator[_Telemetry]:
    """`with telemetry.context() as tel: tel.feature.x = True`."""
    yield _Telemetry()
