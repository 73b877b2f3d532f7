"""What becomes of values that are no media and are logged as if they were: figures, frames, arrays, pictures."""

import importlib
from collections.abc import Sequence
from typing import Any

from holter.client.media.bundle import is_array
from holter.client.media.medium import Media
from holter.client.values import MOST_IN_ARRAY


def as_media(value: Any) -> Media | Sequence[Media] | None:
    """The media that a value is or becomes; None for what stays in the row."""
    if isinstance(value, Media):
        return value
    if isinstance(value, list | tuple):
        found = [as_one(each) for each in value]
        media = [each for each in found if each is not None]
        return media if media and len(media) == len(value) else None
    return as_one(value) or _array(value)


def as_one(value: Any) -> Media | None:
    """The same for what stands alone, or in a list."""
    if isinstance(value, Media):
        return value
    library = type(value).__module__.partition(".")[0]
    if getattr(value, "__name__", "") == "matplotlib.pyplot" or (library == "matplotlib" and _is_figure(value)):
        return _image(value)
    if hasattr(value, "getbands") and hasattr(value, "tobytes"):  # PIL
        return _image(value)
    if library == "plotly" and hasattr(value, "to_json"):
        return _made("figures", "Plotly", value)
    # Of the type: what is lazy would begin to work where its columns are asked for.
    if library in ("pandas", "polars", "pyarrow") and hasattr(type(value), "columns") and hasattr(type(value), "shape"):
        return _made("table", "Table", dataframe=value)
    return None


def _is_figure(value: Any) -> bool:
    return hasattr(value, "savefig") or hasattr(value, "get_figure")


def _image(value: Any) -> Media:
    return _made("image", "Image", value)


def _array(value: Any) -> Media | None:
    if not is_array(value) or not len(value.shape):
        return None
    count = 1
    for length in value.shape:
        count *= int(length)
    if count <= MOST_IN_ARRAY:  # a list in the row
        return None
    return _made("histogram", "Histogram", value)


def _made(module: str, name: str, *args: Any, **kwargs: Any) -> Media:
    """By name: those modules know of this one, for cells of tables may be anything."""
    made: Media = getattr(importlib.import_module(f"holter.client.media.{module}"), name)(*args, **kwargs)
    return made
