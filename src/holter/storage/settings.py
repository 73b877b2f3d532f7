"""The port for what people set: short texts by name, gathered in sets, for one owner in one project."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from holter.errors import UsageError

Sets = dict[str, dict[str, str]]
"""Texts by their name, by the name of their set."""
Changes = Mapping[str, Mapping[str, str | None] | None]
"""By set, the texts that change: None removes one, or a whole set."""

MOST_BYTES = 512 << 10
"""Of all sets of one owner in one project, names included."""


class SettingStore(Protocol):
    """Keeps sets of settings. Thread-safe; several processes may have the same place open.

    - `merge` is atomic, and touches only what it names: of two who change different settings nothing is lost, and of
      two who change the same one the later holds.
    - What `merge` returned for outlives the process and the machine. Nothing else can give it back: it is no part of
      the index.
    """

    def get(self, project: str, owner: str) -> Sets:
        """All sets of an owner in a project."""

    def owners(self) -> list[tuple[str, str]]:
        """All who have set something, each with the project."""

    def merge(self, project: str, owner: str, *, changes: Changes) -> Sets:
        """Change some settings; returns all as they are then. A set without settings is there all the same.

        Raises UsageError, and changes nothing, where that would be more than `MOST_BYTES`; StorageFull.
        """


def merged(sets: Sets, changes: Changes) -> Sets:
    """Sets with some changes. Pure. Raises UsageError where they are too much."""
    found = {name: dict(texts) for name, texts in sets.items()}
    for name, texts in changes.items():
        if texts is None:
            found.pop(name, None)
            continue
        held = found.setdefault(name, {})
        for key, text in texts.items():
            if text is None:
                held.pop(key, None)
            else:
                held[key] = text
    if (size := _size(found)) > MOST_BYTES and size > _size(sets):
        raise UsageError(
            f"these settings would need {size:,} bytes, and there is room for {MOST_BYTES:,}: "
            "delete views that nobody needs, or shorten long texts"
        )
    return found


def _size(sets: Sets) -> int:
    def bytes_of(texts: Iterable[str]) -> int:
        return sum(len(text.encode()) for text in texts)

    return bytes_of(sets) + sum(bytes_of(texts) + bytes_of(texts.values()) for texts in sets.values())
