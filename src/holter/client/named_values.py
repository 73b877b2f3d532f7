"""What has names and values without being a dict: dataclasses, Namespaces, models of libraries, files."""

import os
import types
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from holter.errors import UsageError


def named_values(value: Any) -> dict[Any, Any] | None:
    """The names and values of what is made to hold such, with a description where one can't be read; else None.

    An instance of any other class is None too: what a model or a data loader keeps is no configuration.
    """
    if isinstance(value, Mapping):
        return {key: _read(lambda key=key: value[key]) for key in list(value)}
    kind = type(value)
    if (names := _field_names(kind)) is not None:
        return {name: _read(lambda name=name: getattr(value, name)) for name in names}
    # By name: to import any of them would cost those who have none.
    if isinstance(value, types.SimpleNamespace) or _is_a(kind, "Namespace", of="argparse"):
        return dict(vars(value))
    if _is_a(kind, "BaseModel", of="pydantic"):  # and not its SecretStr, which hides what it holds
        return {**vars(value), **(getattr(value, "__pydantic_extra__", None) or {})}
    if _is_a(kind, "ConfigDict", of="ml_collections"):
        return dict(value.to_dict())
    return None


def names_given(values: Any, what: str) -> dict[str, Any]:
    """The same for the whole of a configuration, where any object's attributes and a file's contents count too.

    Raises UsageError.
    """
    if values is None:
        return {}
    if isinstance(values, str | os.PathLike):
        return _from_file(os.fspath(values), what)
    if not isinstance(values, type):
        if (found := named_values(values)) is not None:
            return found
        if hasattr(values, "flag_values_dict"):  # absl
            return dict(values.flag_values_dict())
        if hasattr(values, "__dict__"):
            return dict(vars(values))
        if isinstance(values, Iterable) and (pairs := _pairs(values)) is not None:
            return pairs
    raise UsageError(f"{what} must be a dict of names and values, got {type(values).__name__} {str(values)[:40]!r}")


class Unreadable(str):
    """Stands for a value that raised when it was asked for."""

    because: str


def _read(ask: Any) -> Any:
    try:
        return ask()
    except Exception as error:  # noqa: BLE001  a value that is missing yet, or a property of the user's
        unread = Unreadable(f"<{type(error).__name__}: {str(error)[:200]}>")
        unread.because = type(error).__name__
        return unread


def _field_names(kind: type) -> list[str] | None:
    """Of a dataclass, a named tuple, attrs' and msgspec's classes."""
    if (fields := getattr(kind, "__dataclass_fields__", None)) is not None:
        return list(fields)
    if (fields := getattr(kind, "__attrs_attrs__", None)) is not None:
        return [field.name for field in fields]
    if issubclass(kind, msgspec.Struct):
        return list(kind.__struct_fields__)
    names = getattr(kind, "_fields", None)
    return list(names) if issubclass(kind, tuple) and isinstance(names, tuple) else None


def _is_a(kind: type, name: str, *, of: str) -> bool:
    return any(each.__name__ == name and str(each.__module__).partition(".")[0] == of for each in kind.__mro__)


def _pairs(values: Iterable[Any]) -> dict[str, Any] | None:
    try:
        return dict(values)
    except (TypeError, ValueError):
        return None


def _from_file(path: str, what: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            data = file.read()
        found = msgspec.json.decode(data) if path.endswith(".json") else msgspec.yaml.decode(data)
    except OSError as error:
        because = error.strerror or str(error)
        raise UsageError(
            f"{what}={path!r} names no file that can be read ({because}): give a path, or a dict"
        ) from None
    except ImportError:
        raise UsageError(f"reading {path} needs PyYAML: `pip install pyyaml`, or give {what} as a dict") from None
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path} can't be read as {what}: {error}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path} has no names and values: {what} must be a dict")
    found.pop("wandb_version", None)
    return {str(key): value["value"] if _is_wrapped(value) else value for key, value in found.items()}


def _is_wrapped(value: Any) -> bool:
    """As W&B writes it: the value beside a description."""
    return isinstance(value, dict) and "value" in value and value.keys() <= {"value", "desc"}
