"""What of a recorded run can be changed in place, and kept then."""

from collections.abc import Callable, Mapping
from typing import Any

from holter.errors import UsageError


class RunSummary(dict[str, Any]):
    """The summary as a dict; `summary["outer"]` is also what lies below that name, and `update` keeps what changed."""

    def __init__(self, values: Mapping[str, Any], keep: Callable[[], None]) -> None:
        super().__init__(values)
        self._keep = keep

    def __missing__(self, key: str) -> Any:
        below = {name.removeprefix(f"{key}."): value for name, value in self.items() if name.startswith(f"{key}.")}
        if not below:
            raise KeyError(key)
        return below

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the summary has no {name!r}") from None

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or what lies below it."""
        try:
            return self[key]
        except KeyError:
            return default

    @property
    def _json_dict(self) -> dict[str, Any]:
        """As W&B's: a plain dict."""
        return dict(self)

    def update(self, *others: Any, **values: Any) -> None:
        """Set several values, and keep them and all others that were set."""
        for other in (*others, values):
            super().update(other)
        self._keep()


def plain_tree(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as a journal takes them. Raises UsageError for one that has no place there."""
    return {str(name): _plain(value, str(name)) for name, value in values.items()}


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, f"{name}.{key}") for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner, name) for inner in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if (item := getattr(value, "item", None)) is not None:
        return item()
    raise UsageError(f"{name!r} is a {type(value).__name__}, which has no place in a run: give a number, text or list")
