"""Where in its own code a program raised what ended it: the line, and those around it where they are kept. Pure."""

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from holter.model.records import OwnFrame, Raised

BEFORE, BEHIND = 6, 4
MOST_LINE = 400
MOST_TRACEBACK = 12
ENDED_IT = ("main", "cell", "child")
TEXT = "<string>"
"""What Python calls the file of `python -c`."""


class RaisedAt(msgspec.Struct, frozen=True, kw_only=True):
    """Where it was raised; `lines` are those of the file from `first` on, empty where the file was not kept."""

    file: str = ""
    line: int = 0
    function: str = ""
    first: int = 0
    lines: list[str] = []
    traceback: list[str] = []
    """The end of what Python printed about it."""


def last_raised(said: Sequence[Raised]) -> Raised | None:
    """The exception that ended it, as far as exceptions did."""
    return next((each for each in reversed(said) if each.where in ENDED_IT), None)


def raised_at(raised: Raised, script: str | None) -> RaisedAt:
    """Where it was, with the lines around it from the text of its file, where that is known."""
    traceback = [_cut(line) for line in raised.traceback.rstrip().splitlines()[-MOST_TRACEBACK:]]
    frame = raised.frames[-1] if raised.frames else None
    if frame is None:
        return RaisedAt(traceback=traceback)
    lines = script.splitlines() if script is not None else []
    start = max(0, frame.line - 1 - BEFORE)
    shown = lines[start : frame.line + BEHIND] if frame.line <= len(lines) else []
    return RaisedAt(
        file=frame.file,
        line=frame.line,
        function=frame.function,
        first=start + 1 if shown else 0,
        lines=[_cut(line) for line in shown],
        traceback=traceback,
    )


def is_of_script(frame: OwnFrame, facts: dict[str, Any]) -> bool:
    """Whether the script that is kept with the run is the file of a frame."""
    script = facts.get("script")
    if not isinstance(script, dict):
        return False
    if script.get("kind") == "text":
        return frame.file == TEXT
    path, cwd = str(script.get("path") or ""), str(facts.get("cwd") or "")
    return bool(path) and script.get("kind") != "notebook" and os.path.normpath(os.path.join(cwd, frame.file)) == path


def _cut(line: str) -> str:
    return line if len(line) <= MOST_LINE else f"{line[:MOST_LINE]}…"
