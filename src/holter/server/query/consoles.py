"""What a run printed, from all of its transcripts in the order of time."""

import heapq

import msgspec

from holter.storage.console import ConsoleLine, ConsoleRange
from holter.storage.opening import Storage


class ShownLine(msgspec.Struct, frozen=True):
    """A line, and which transcript it is from."""

    transcript: str
    number: int
    at_ns: int
    stream: int
    text: str


def last_lines(storage: Storage, run: str, *, count: int, text: str = "") -> list[ShownLine]:
    """The last lines of a run, or the last ones that contain a text, the oldest first."""
    wanted = ConsoleRange(count, text=text)
    names = storage.console.transcripts(run)
    found = [_shown(name, storage.console.lines(run, name, wanted=wanted)) for name in names]
    merged = list(heapq.merge(*found, key=lambda line: line.at_ns))
    return merged[-count:] if count > 0 else []


def some_lines(storage: Storage, run: str, *, transcript: str, wanted: ConsoleRange) -> list[ShownLine]:
    """A range of one transcript: numbers stay the same for ever."""
    return _shown(transcript, storage.console.lines(run, transcript, wanted=wanted))


def next_hit(storage: Storage, run: str, *, transcript: str, text: str, after: int) -> int | None:
    """The number of the next line that contains a text, from a line on; behind the last one the first."""
    for start in dict.fromkeys((after, 0)):
        if found := storage.console.lines(run, transcript, wanted=ConsoleRange(1, start=start, text=text)):
            return found[0].number
    return None


def _shown(transcript: str, lines: list[ConsoleLine]) -> list[ShownLine]:
    return [ShownLine(transcript, line.number, line.at_ns, line.stream, line.text) for line in lines]
