"""The standard output: what it can show, and how to write to it when it is closed, broken or knows ASCII only."""

import os
import sys
from collections.abc import Mapping
from typing import TextIO

import msgspec

NO_WIDTH = 1 << 30
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "bold": "1", "dim": "2"}
_MARKS = {"running": "●", "finished": "✓", "failed": "✗", "crashed": "✖", "preempted": "■"}
_ASCII_MARKS = {"running": ">", "finished": "+", "failed": "x", "crashed": "X", "preempted": "#"}
_STATE_COLOURS = {"running": "blue", "finished": "green", "failed": "red", "crashed": "magenta", "preempted": "yellow"}


class Look(msgspec.Struct, frozen=True):
    """What the reader at the other end can see. The width is NO_WIDTH where no terminal cuts lines."""

    width: int = NO_WIDTH
    has_colour: bool = False
    has_unicode: bool = True

    def paint(self, text: str, colour: str) -> str:
        """The text in a colour, where there are colours."""
        code = _COLOURS.get(colour)
        return f"\x1b[{code}m{text}\x1b[0m" if code and self.has_colour and text else text

    def mark(self, state: str) -> str:
        """One character for a run's state."""
        return (_MARKS if self.has_unicode else _ASCII_MARKS).get(state, "?")

    @property
    def ellipsis(self) -> str:
        """What ends a text that was cut."""
        return "…" if self.has_unicode else "~"


def state_colour(state: str) -> str:
    """The colour of a run's state; none for a state that is not ours."""
    return _STATE_COLOURS.get(state, "")


def look() -> Look:
    """The look of the standard output."""
    return look_at(sys.stdout, os.environ)


def look_at(out: TextIO | None, environ: Mapping[str, str]) -> Look:
    """Colours and cut lines are for terminals only; https://no-color.org is obeyed."""
    if out is None or out.closed:
        return Look()
    has_unicode = _can_encode("".join(_MARKS.values()) + "…", out.encoding)
    if not out.isatty():
        return Look(has_unicode=has_unicode)
    has_colour = not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    return Look(width=_width(out, environ), has_colour=has_colour, has_unicode=has_unicode)


def make_safe() -> None:
    """A character that the terminal's encoding lacks is written as its number instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Write out what is buffered, while an error can still be said. Raises OSError."""
    if sys.stdout is not None and not sys.stdout.closed:
        sys.stdout.flush()


def silence() -> None:
    """Let nothing more be written: what is still buffered must not fail again when the interpreter ends."""
    try:
        flush()
    except (OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def print_json(value: object) -> None:
    """One JSON document, indented for people who look at it; NaN and the infinities become null."""
    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def _width(out: TextIO, environ: Mapping[str, str]) -> int:
    if environ.get("COLUMNS", "").isdecimal():
        return int(environ["COLUMNS"]) or NO_WIDTH
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True
