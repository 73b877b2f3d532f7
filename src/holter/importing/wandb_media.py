"""Media in rows of W&B: what a row says of them, and the files that it names."""

import os
import stat
from collections.abc import Callable
from typing import Any

import msgspec

from holter.client.media.audio import Audio
from holter.client.media.foreign import as_logged
from holter.client.media.image import Image
from holter.client.media.table import Table
from holter.client.media.texts import Html
from holter.client.media.video import Video
from holter.formats.events import Bars

LARGEST_BYTES = 256 << 20
MOST_PICTURES = 1_000


def medium_of(told: dict[str, Any], folder: str) -> Any:  # noqa: ANN401  whatever `log()` takes
    """What `log()` takes for it; None for a kind that has no place, or whose file is missing or lies elsewhere."""
    kind = told.get("_type")
    if kind == "histogram":
        return _histogram(told)
    if kind in _FILES and (place := _place(told.get("path"), folder)) is not None:
        return _FILES[kind](place, told.get("caption"), folder)
    if kind == "images/separated" and isinstance(told.get("filenames"), list):
        paths = told["filenames"][:MOST_PICTURES]
        captions = told.get("captions")
        texts = captions if isinstance(captions, list) and len(captions) >= len(paths) else [None] * len(paths)
        found = [_picture(path, text, folder=folder) for path, text in zip(paths, texts, strict=False)]
        return [each for each in found if each is not None] or None
    return None


def _histogram(told: dict[str, Any]) -> Any:  # noqa: ANN401  a `Histogram` or None
    counts, edges, packed = told.get("values"), told.get("bins"), told.get("packedBins")
    try:
        if isinstance(packed, dict):
            edges = [packed["min"] + packed["size"] * place for place in range(min(packed["count"], 1 << 16) + 1)]
        return as_logged(Bars(tuple(map(float, counts or ())), tuple(map(float, edges or ()))))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _picture(path: object, caption: object, *, folder: str) -> Image | None:
    place = _place(path, folder)
    return None if place is None else _image(place, caption, folder)


def _place(path: object, folder: str) -> str | None:
    """Where a named file of the run's own folder lies; None for a name that leads out of it."""
    if not isinstance(path, str) or not folder or "\0" in path:
        return None
    top, place = os.path.realpath(folder), os.path.realpath(os.path.join(folder, path))
    return place if os.path.commonpath([top, place]) == top else None


def _read(place: str) -> bytes:
    """A regular file's bytes; none of one that is missing, too large, or something else."""
    try:
        with open(os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return b""
            data = file.read(LARGEST_BYTES + 1)
    except OSError:
        return b""
    return data if len(data) <= LARGEST_BYTES else b""


def _image(place: str, caption: object, _: str) -> Image | None:
    return Image(data, caption=caption) if (data := _read(place)) else None


def _film(place: str, caption: object, _: str) -> Any:  # noqa: ANN401  a `Video` or None
    made = Video(data, caption, None, place.rpartition(".")[2]) if (data := _read(place)) else None
    return None if made is None or made.trouble else made


def _sound(place: str, caption: object, _: str) -> Any:  # noqa: ANN401  an `Audio` or None
    made = Audio(place, caption=caption) if os.path.isfile(place) else None
    return None if made is None or made.trouble else made


def _page(place: str, caption: object, _: str) -> Any:  # noqa: ANN401  an `Html` or None
    return (
        Html(data.decode("utf-8", "replace"), data_is_not_path=True, caption=caption)
        if (data := _read(place))
        else None
    )


def _table(place: str, _: object, folder: str) -> Any:  # noqa: ANN401  a `Table` or None
    try:
        told = msgspec.json.decode(_read(place), type=_Told)
    except msgspec.DecodeError:
        return None
    made = Table(columns=told.columns, data=[[_cell(cell, folder) for cell in row] for row in told.data])
    return None if made.trouble else made


def _cell(cell: Any, folder: str) -> Any:  # noqa: ANN401  any JSON, or a medium
    found = medium_of(cell, folder) if isinstance(cell, dict) and cell.get("_type") in _IN_CELLS else None
    return cell if found is None else found


class _Told(msgspec.Struct):
    """A table's file."""

    columns: list[Any]
    data: list[list[Any]]


_FILES: dict[str, Callable[[str, object, str], Any]] = {
    "image-file": _image,
    "video-file": _film,
    "audio-file": _sound,
    "html-file": _page,
    "table-file": _table,
}
_IN_CELLS = ("image-file", "video-file", "audio-file", "html-file")
