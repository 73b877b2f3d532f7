"""The last lines that a run printed, with their times."""

import re
from collections.abc import Iterable, Iterator

from holter.console.files import STDERR
from holter.console.reading import ConsoleReader, Printed
from holter.model.evidence import Said

TAIL_BYTES = 48 << 10
MOST_LINES = 300
MOST_TEXT = 1000
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OURS = "holter: "


def read_last_words(directory: str, *, since_ns: int) -> list[Said]:
    """Lines of the newest attempt, at most a few hundred; of a progress bar its last state. Raises OSError."""
    printed = [each for each in ConsoleReader(directory).last(TAIL_BYTES) if each.at_ns >= since_ns]
    return list(lines_of(printed))[-MOST_LINES:]


def lines_of(printed: Iterable[Printed]) -> Iterator[Said]:
    """Whole lines of each stream in the order in which they ended, without colours, blank ones and our own. Pure."""
    open_lines: dict[int, tuple[int, bytes]] = {}
    for each in printed:
        at_ns, begun = open_lines.pop(each.stream, (each.at_ns, b""))
        *whole, rest = (begun + each.data).split(b"\n")
        for line in whole:
            yield from _said(line, at_ns, stream=each.stream)
            at_ns = each.at_ns
        if rest:
            open_lines[each.stream] = (at_ns, rest)
    for stream, (at_ns, rest) in open_lines.items():
        yield from _said(rest, at_ns, stream=stream)


def _said(line: bytes, at_ns: int, *, stream: int) -> Iterator[Said]:
    text = _UNSEEN.sub("", _SEQUENCE.sub("", _shown(line).decode("utf-8", "replace"))).rstrip()
    if text and not text.startswith(_OURS):
        yield Said(at_ns=at_ns, text=text[:MOST_TEXT], is_error=stream == STDERR)


def _shown(line: bytes) -> bytes:
    return line.rstrip(b"\r").rpartition(b"\r")[2]
