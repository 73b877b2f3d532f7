"""Finds the event files of a folder, and reads on in all of them: each folder below is a part of its own."""

import os
from collections.abc import Collection, Iterator

import msgspec

from holter.formats.event_files import EventFile
from holter.formats.events import Event

MARK = "tfevents"
MOST_FILES = 10_000
DEEPEST = 16


def find_event_files(folder: str) -> dict[str, list[str]]:
    """Paths by their folder relative to this one, in the order in which they were begun. Follows no links."""
    found: dict[str, list[str]] = {}
    if os.path.isfile(folder):
        return {".": [folder]}
    count = 0
    for place, folders, names in os.walk(folder):
        part = os.path.relpath(place, folder)
        folders[:] = sorted(folders) if part.count(os.sep) < DEEPEST else []
        events = sorted(name for name in names if MARK in name and os.path.isfile(os.path.join(place, name)))
        count += len(events)
        if events and count <= MOST_FILES:
            found[part] = [
                os.path.join(place, name) for name in events if not os.path.islink(os.path.join(place, name))
            ]
    return found


class WriterFolder:
    """Follows the files that TensorFlow's writers of one process write into one folder. Holds one event at a time."""

    def __init__(self, folder: str, pid: int, *, prefix: str = "") -> None:
        self._folder = folder
        self._mark = f".{pid}."
        self._prefix = prefix
        self._files: dict[str, EventFile] = {}

    def read(self) -> Iterator[Event]:
        """What has come since. Raises OSError."""
        if not os.path.isdir(self._folder):
            return  # it is made with the first event
        for name in sorted(os.listdir(self._folder)):
            if MARK in name and self._mark in name and name.endswith(".v2"):
                for event in self._files.setdefault(name, EventFile(os.path.join(self._folder, name))).read():
                    yield msgspec.structs.replace(event, tag=self._prefix + event.tag) if self._prefix else event

    @property
    def trouble(self) -> list[str]:
        """What of the files is not read, and why."""
        return _troubles(self._files.values())


class EventFolder:
    """Follows the event files of a folder from now on, as they are written. Holds one event at a time."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        # What lies there already is of earlier programs.
        there = [path for paths in find_event_files(folder).values() for path in paths]
        self._files = {path: EventFile(path, os.path.getsize(path)) for path in there}

    def read(self) -> Iterator[Event]:
        """What has come since; a tag of a folder below is `folder/tag`. Raises OSError."""
        for part, paths in find_event_files(self._folder).items():
            for path in paths:
                for event in self._files.setdefault(path, EventFile(path)).read():
                    yield (
                        event
                        if part == "."
                        else msgspec.structs.replace(event, tag=f"{part.replace(os.sep, '/')}/{event.tag}")
                    )

    @property
    def trouble(self) -> list[str]:
        """What of the files is not read, and why."""
        return _troubles(self._files.values())


def _troubles(files: Collection[EventFile]) -> list[str]:
    """What of each file is not read, and why."""
    torn = [f"{file.path}: {file.trouble}: what stands behind it is not recorded" for file in files if file.trouble]
    return torn + [f"{file.path}: damaged events are left out" for file in files if file.damaged]
