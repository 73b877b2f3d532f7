"""Writes the media of a run as files: `KEY/STEP-NUMBER.EXT`, and what is known of each beside it as JSON."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from holter.catalog.read.media import path_of, read_media
from holter.catalog.read.media_names import file_name
from holter.catalog.tables.reading import TableFile, read_whole
from holter.errors import NotReadable
from holter.journal.kept_files import replace_file
from holter.model.media_records import HistogramLogged, MediaItem
from holter.recording.workshop import await_media

WITHIN_S = 3600.0
_TOLD = ("caption", "boxes", "masks", "chart", "fields", "title")


def write_media(directory: str, target: str) -> int:
    """Write all of them below a folder; returns how many. What waits is made first. Raises OSError."""
    await_media(directory, within_s=WITHIN_S)
    kept = read_media(directory)
    count = 0
    names = _distinct([*(each.key for each in kept.made), *(each.key for each in kept.histograms)])
    for made in kept.made:
        for number, item in enumerate(made.items):
            path = os.path.join(target, file_name(names[made.key], made.step, number=number, ext=item.ext))
            count += _write(directory, path, item)
    for told in kept.histograms:
        path = os.path.join(target, file_name(names[told.key], told.step, number=0, ext="histogram.json"))
        _write_json(path, _numbers(told))
        count += 1
    lost = sum(each.count for each in kept.lost)
    if lost or kept.waiting:
        print(
            f"holter: {lost + kept.waiting} more were logged and are not there: `holter show` says why", file=sys.stderr
        )
    return count


def _distinct(keys: Iterable[str]) -> dict[str, str]:
    """Each key as one that has a folder of its own: what file systems can't tell apart gets a number."""
    taken, found = set(), {}
    for key in sorted(set(keys)):
        name, number = key, 1
        while (folder := os.path.dirname(file_name(name, 0, number=0, ext="")).lower()) in taken:
            number += 1
            name = f"{key[:100]} {number}"
        taken.add(folder)
        found[key] = name
    return found


def _write(directory: str, path: str, item: MediaItem) -> int:
    source = path_of(directory, item)
    if source is None:
        return 0
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copyfile(source, path)
    about = item.about()
    told = {name: about[name] for name in _TOLD if name in about}
    beside = path.removesuffix(f".{item.ext}")
    if told:
        _write_json(f"{beside}.json", told)
    for inner in [*_masks(about), *_cells(source, item, about)]:
        _copy_inner(directory, f"{beside}-media", inner)
    return 1


def _copy_inner(directory: str, folder: str, path: str) -> None:
    """What a mask or a cell names, under the name that it has there."""
    digest, _, ext = path.rpartition("/")[2].partition(".")
    inner = path_of(directory, MediaItem(digest=digest, ext=ext))
    if inner is not None:
        os.makedirs(folder, exist_ok=True)
        shutil.copyfile(inner, os.path.join(folder, os.path.basename(inner)))


def _masks(about: dict[str, Any]) -> Iterator[str]:
    masks = about.get("masks")
    for mask in masks.values() if isinstance(masks, dict) else ():
        if isinstance(mask, dict):
            yield str(mask.get("path", ""))


def _cells(source: str, item: MediaItem, about: dict[str, Any]) -> Iterator[str]:
    columns = about.get("columns")
    named = [each for each in columns if each.get("type") == "media"] if isinstance(columns, list) else []
    if not named:
        return
    with open(source, "rb") as file:
        whole = TableFile(item.ext, item.size, lambda at, count: os.pread(file.fileno(), count, at), columns or [])
        try:
            table = read_whole([whole])
        except NotReadable as error:
            print(f"holter: media in the cells of a table are not exported: {error}", file=sys.stderr)
            return
    for column in named:
        for cell in table.column(column["name"]).to_pylist():
            yield str(json.loads(cell).get("path", "")) if cell else ""


def _numbers(told: HistogramLogged) -> dict[str, Any]:
    fields = {"counts": told.counts, "low": told.low, "high": told.high, "edges": told.edges}
    return {name: value for name, value in fields.items() if value != ()}


def _write_json(path: str, told: dict[str, Any]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    replace_file(path, msgspec.json.encode(told))
