"""Whether a row may hold media: cheap, and without loading anything."""

from collections.abc import Mapping
from typing import Any

from holter.client.media.medium import Media

MOST_DEPTH = 16
_PLAIN = frozenset({float, int, bool, str, type(None)})
_LIBRARIES = frozenset(
    {"PIL", "matplotlib", "plotly", "pandas", "polars", "pyarrow", "numpy", "torch", "jax", "jaxlib", "tensorflow"}
)


def may_hold_media(data: Any, depth: int = 0) -> bool:
    """Whether some value of a row is a medium, or something that becomes one."""
    for value in data.values():
        if type(value) in _PLAIN:
            continue
        if isinstance(value, Mapping):
            if depth < MOST_DEPTH and may_hold_media(value, depth + 1):
                return True
        elif _is_one(value[0] if type(value) in (list, tuple) and value else value):
            return True
    return False


def _is_one(value: Any) -> bool:
    if isinstance(value, Media) or getattr(value, "__name__", "") == "matplotlib.pyplot":
        return True
    return any(base.__module__.partition(".")[0] in _LIBRARIES for base in type(value).__mro__[:-1])
