"""The last lines that a run printed, with their times."""

import re
from collections.abc import Iterable, Iterator, Sequence

from holter.console.files import STDERR
from holter.console.reading import ConsoleReader, Printed, read_from_last
from holter.model.evidence import Said

TAIL_BYTES = 48 << 10
MOST_LINES = 300
MOST_TEXT = 1000
MOST_RAW = 4 * MOST_TEXT
# A traceback of a thousand frames, or with a tensor for its message, begins far before its end.
FAR_BYTES = 8 << 20
HEAD_BYTES = 4 << 10
HEADS = (b"Traceback (most recent call last):", b"  + Exception Group Traceback (most recent call last):")
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P^_X][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_OURS = "holter: "
_HEAD_TEXTS = tuple(head.decode() for head in HEADS)


def read_last_words(directory: str, *, since_ns: int) -> list[Said]:
    """Lines of the newest attempt, at most a few hundred; of a progress bar its last state. Raises OSError.

    Where they are the end of a traceback that began far before them, its beginning comes first.
    """
    printed = [each for each in ConsoleReader(directory).last(TAIL_BYTES) if each.at_ns >= since_ns]
    lines = list(lines_of(printed))
    has_head = any(line.text.startswith(_HEAD_TEXTS) for line in lines[-MOST_LINES:])
    is_cut = len(lines) > MOST_LINES or sum(len(each.data) for each in printed) >= TAIL_BYTES
    if has_head or not is_cut:
        return lines[-MOST_LINES:]
    later = lines[1:][-MOST_LINES:]  # the first one may be the end of a line
    return [*_begun_before(directory, later, since_ns=since_ns), *later]


def _begun_before(directory: str, later: Sequence[Said], *, since_ns: int) -> Sequence[Said]:
    """The beginning of the traceback whose end comes later; empty where the program went on after the last one."""
    far = read_from_last(directory, HEADS, within=FAR_BYTES, count=HEAD_BYTES)
    if not far or far[0].at_ns < since_ns:
        return ()
    head, *frames = lines_of(each for each in far if each.stream == far[0].stream)
    has_exception = any(not line.text.startswith(" ") for line in frames)
    rest = [line for line in later if line.is_error == head.is_error]
    is_within = bool(rest) and rest[0].text.startswith(" ")
    return (head, *frames) if has_exception or is_within else ()


def lines_of(printed: Iterable[Printed]) -> Iterator[Said]:
    """Whole lines of each stream in the order in which they ended, without colours, blank ones and our own. Pure."""
    open_lines: dict[int, tuple[int, list[bytes]]] = {}
    for each in printed:
        at_ns, parts = open_lines.pop(each.stream, (each.at_ns, []))
        first, *more = each.data.split(b"\n")
        parts.append(first)
        if more:
            *whole, rest = b"".join(parts), *more
            for line in whole:
                yield from _said(line, at_ns, stream=each.stream)
                at_ns = each.at_ns
            parts = [rest]
        if any(parts):
            open_lines[each.stream] = (at_ns, parts)
    for stream, (at_ns, parts) in open_lines.items():
        yield from _said(b"".join(parts), at_ns, stream=stream)


def _said(line: bytes, at_ns: int, *, stream: int) -> Iterator[Said]:
    text = _UNSEEN.sub("", _SEQUENCE.sub("", _shown(line)[:MOST_RAW].decode("utf-8", "replace"))).rstrip()
    if text and not text.startswith(_OURS):
        yield Said(at_ns=at_ns, text=text[:MOST_TEXT], is_error=stream == STDERR)


def _shown(line: bytes) -> bytes:
    return line.rstrip(b"\r").rpartition(b"\r")[2]
