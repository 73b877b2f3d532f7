"""What people did that others may have to answer for: an append-only file, a line of JSON for each act."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import msgspec

from holter.journal.line_files import append_line

NAME = "audit.jsonl"
MOST_TEXT = 200


class Act(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who did what, when; `what` has the names that belong to it, and never a secret."""

    at: float
    """Seconds since 1970."""
    user: str
    act: str
    key: str = ""
    """The id of the key that was used; empty for a command on the server's own machine."""
    what: dict[str, Any] = {}


_encode = msgspec.json.Encoder().encode
decode_act = msgspec.json.Decoder(Act).decode


class Audit:
    """Appends to one file, on disk when `note` returns. Thread-safe; other processes may append too."""

    def __init__(self, path: str) -> None:
        self._path = path

    def note(self, act: Act) -> None:
        """Write an act down. Where the disk does not take it, the terminal says so: what was done is done."""
        try:
            append_line(self._path, _encode(act))
        except OSError as error:
            because = error.strerror or error
            with contextlib.suppress(OSError):
                sys.stderr.write(f"holter: {act.user} did {act.act} {act.what}, and {self._path} lacks it: {because}\n")

    def acts(self) -> Iterator[Act]:
        """All of them, the oldest first; a line that was cut off is left out. Raises OSError."""
        try:
            with open(self._path, "rb") as file:
                for line in file:
                    with contextlib.suppress(msgspec.MsgspecError):
                        yield decode_act(line)
        except FileNotFoundError:
            return


def names_in(question: object) -> dict[str, Any]:
    """What a question names, for an act: what was left out is left out, and long texts are cut."""
    named: dict[str, Any] = msgspec.to_builtins(question)
    return {name: _cut(value) for name, value in named.items() if value not in (None, "", [], {})}


def _cut(value: object) -> object:
    return f"{value[:MOST_TEXT]}…" if isinstance(value, str) and len(value) > MOST_TEXT else value
