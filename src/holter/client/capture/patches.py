"""Replaces attributes of other people's modules and classes, and puts back what was there."""

from typing import Any

_NOTHING = object()


class Patches:
    """What was replaced, and with what. Thread-safe without a lock, which a forked child could inherit closed."""

    def __init__(self) -> None:
        self._previous: dict[tuple[int, str], tuple[Any, Any, Any]] = {}

    def has(self, owner: Any, name: str) -> bool:
        """Whether this attribute is replaced already."""
        return (id(owner), name) in self._previous

    def set(self, owner: Any, name: str, replacement: Any, /) -> None:
        """Replace an attribute of a module or class, or add one; does nothing where that is done already."""
        entry = (owner, vars(owner).get(name, _NOTHING), replacement)
        if self._previous.setdefault((id(owner), name), entry) is entry:
            setattr(owner, name, replacement)

    def restore(self) -> None:
        """Put everything back, but for what somebody has replaced on top of ours. Idempotent."""
        while self._previous:
            (_, name), (owner, previous, replacement) = self._previous.popitem()
            if vars(owner).get(name) is not replacement:
                continue
            if previous is _NOTHING:
                delattr(owner, name)
            else:
                setattr(owner, name, previous)
