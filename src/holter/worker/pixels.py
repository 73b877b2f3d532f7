"""From an array of any shape and type to the bytes of a picture."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from holter.errors import UsageError
from holter.worker.work import Array

MOST_PIXELS = 200_000_000
CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
GAP = 2


def pixels_of(array: Array, about: dict[str, Any], *, warn: Callable[[str], None]) -> Array:
    """(height, width, channels) of bytes. Raises UsageError for an array that is no picture."""
    laid = _laid_out(array, is_first=bool(about.get("first")))
    values = _as_bytes(laid, normalize=bool(about.get("normalize", True)), warn=warn)
    picture = values[0] if len(values) == 1 else _grid(values)
    if picture.shape[0] * picture.shape[1] > MOST_PIXELS:
        raise UsageError(f"a picture of {picture.shape[1]} x {picture.shape[0]} pixels: {MOST_PIXELS:,} are the most")
    wanted = CHANNELS.get(about.get("mode", ""))
    if wanted == 1 and picture.shape[2] == 3:
        grey: Array = np.rint(picture @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)
        return grey[..., None]
    if wanted in (3, 4) and picture.shape[2] == 1:
        picture = np.repeat(picture, 3, axis=2)
    if wanted == 4 and picture.shape[2] == 3:
        return np.concatenate([picture, np.full((*picture.shape[:2], 1), 255, np.uint8)], axis=2)
    if wanted == 3 and picture.shape[2] == 4:
        return picture[..., :3]
    return picture


def _laid_out(array: Array, *, is_first: bool) -> Array:
    """(batch, height, width, channels)."""
    if array.ndim == 2:
        return array[None, :, :, None]
    if array.ndim == 3:
        array = array[None]
    if array.ndim != 4 or 0 in array.shape:
        raise UsageError(f"a picture has 2, 3 or 4 axes; got the shape {array.shape}")
    has_last, has_first = array.shape[3] in (1, 2, 3, 4), array.shape[1] in (1, 2, 3, 4)
    if has_first and (is_first or not has_last):
        return array.transpose(0, 2, 3, 1)
    if not has_last:
        raise UsageError(f"a picture has 1, 2, 3 or 4 channels, in front or at the end; got the shape {array.shape}")
    return array


def _as_bytes(values: Array, *, normalize: bool, warn: Callable[[str], None]) -> Array:
    if values.dtype == np.uint8:
        return values
    if values.dtype == np.bool_:
        return values.astype(np.uint8) * 255
    numbers = values.astype(np.float64)
    if not np.isfinite(numbers).all():
        count = int((~np.isfinite(numbers)).sum())
        warn(f"{count:,} of its {numbers.size:,} values are NaN or infinite; they are drawn as 0")
        numbers = np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(numbers.min()), float(numbers.max())
    if normalize and values.dtype.kind == "f":
        if low >= 0 and high <= 1:
            numbers = numbers * 255
        elif low >= -1 and high <= 1:
            numbers = (numbers + 1) * 127.5
    if numbers.size and (numbers.min() < 0 or numbers.max() > 255):
        warn(f"its values lie between {low:g} and {high:g}; a picture has 0 to 1, or 0 to 255: what is beyond is cut")
    return np.rint(np.clip(numbers, 0, 255)).astype(np.uint8)


def _grid(values: Array) -> Array:
    """Pictures beside each other, eight in a row, with a dark gap."""
    count, height, width, channels = values.shape
    across = min(8, count)
    down = math.ceil(count / across)
    grid = np.zeros((down * (height + GAP) + GAP, across * (width + GAP) + GAP, channels), np.uint8)
    if grid.shape[0] * grid.shape[1] > MOST_PIXELS:
        raise UsageError(f"a batch of {count} pictures of {width} x {height}: {MOST_PIXELS:,} pixels are the most")
    for number, picture in enumerate(values):
        top, left = GAP + (number // across) * (height + GAP), GAP + (number % across) * (width + GAP)
        grid[top : top + height, left : left + width] = picture
    return grid
