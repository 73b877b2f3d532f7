"""What a run printed."""

from typing import Annotated

import msgspec

from holter.console.screen import without_colours
from holter.errors import NoRun
from holter.model.records import Console
from holter.server.query.consoles import ShownLine, last_lines, next_hit, some_lines
from holter.server.transport.routing import Route, Visit
from holter.storage.console import ConsoleRange, Gap

STREAMS = {1: "stdout", 2: "stderr"}
MOST_LINES = 10_000
Number = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_LINES)]


class AskedConsole(msgspec.Struct, frozen=True, kw_only=True):
    """Lines `first` to `first + count` of a transcript, or the last `tail`, or `count` hits of `search` from `after`.

    With `around` the next hit from `after` on, behind the last one the first, with so many lines before and behind it.
    Without a transcript it is the first one; with `tail` all of them in the order of time. With
    `colours` the text has the sequences that set them, and no others.
    """

    run: str
    transcript: Annotated[str, msgspec.Meta(max_length=100)] = ""
    first: Number | None = None
    count: Count = 500
    tail: Count | None = None
    search: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    after: Number = 0
    around: Annotated[int, msgspec.Meta(ge=0, le=MOST_LINES // 2)] | None = None
    colours: bool = False


class LineJson(msgspec.Struct, frozen=True):
    """A line; its number `n` within its transcript stays the same for ever."""

    n: int
    at: float
    stream: str
    text: str
    transcript: str


class ConsoleJson(msgspec.Struct, frozen=True):
    """Lines, how many their transcript has, and which transcripts there are; `hit` is the one looked for `around`.

    `total` counts the lines in its `gaps` too, which were not kept.
    """

    total: int
    transcripts: list[str]
    lines: list[LineJson]
    hit: int | None = None
    gaps: list[Gap] = []
    streams: dict[str, str] = {}
    """Where there are no lines at all: how `stdout` and `stderr` were kept, in the words of the `Console` record."""


def console(visit: Visit, asked: AskedConsole) -> ConsoleJson:
    """Lines that a run printed"""
    storage = visit.services.storage
    names = list(storage.console.transcripts(asked.run))
    if not names and storage.runs.get(asked.run) is None:
        raise NoRun(f"there is no run {asked.run[:128]!r}")
    name = asked.transcript or (names[0] if names else "")
    total = _total(visit, asked.run, name)
    hit = None
    if asked.around is not None:
        hit = next_hit(storage, asked.run, transcript=name, text=asked.search, after=asked.after)
        lines = [] if hit is None else _lines_around(visit, asked, name, hit)
    elif asked.tail is not None and not asked.transcript:
        lines = last_lines(storage, asked.run, count=asked.tail, text=asked.search)
    else:
        wanted = _range(asked)
        lines = some_lines(storage, asked.run, transcript=name, wanted=wanted) if name in names else []
    shown = [_line(each, has_colour=asked.colours) for each in lines]
    streams = {} if total else _streams(visit, asked.run)
    return ConsoleJson(total, names, shown, hit, storage.console.gaps(asked.run, name), streams)


def _streams(visit: Visit, run: str) -> dict[str, str]:
    """As the last process said of which holter does not read along elsewhere."""
    said = [msgspec.convert(event.fields, Console) for event in visit.services.storage.console.events(run, ["Console"])]
    own = [each for each in said if "launcher" not in (each.stdout, each.stderr)]
    return {"stdout": own[-1].stdout, "stderr": own[-1].stderr} if own else {}


def _lines_around(visit: Visit, asked: AskedConsole, name: str, hit: int, /) -> list[ShownLine]:
    around = asked.around or 0
    start = max(0, hit - around)
    wanted = ConsoleRange(hit + around + 1 - start, start=start)
    return some_lines(visit.services.storage, asked.run, transcript=name, wanted=wanted)


def _range(asked: AskedConsole) -> ConsoleRange:
    if asked.tail is not None:
        return ConsoleRange(asked.tail, text=asked.search)
    start = asked.after if asked.search else asked.first or 0
    return ConsoleRange(asked.count, start=start, text=asked.search)


def _total(visit: Visit, run: str, name: str) -> int:
    last = visit.services.storage.console.lines(run, name, wanted=ConsoleRange(1)) if name else []
    return last[-1].number + 1 if last else 0


def _line(line: ShownLine, *, has_colour: bool) -> LineJson:
    text = line.text if has_colour else without_colours(line.text)
    return LineJson(line.number, line.at_ns / 1e9, STREAMS.get(line.stream, "both"), text, line.transcript)


ROUTES = [
    Route(
        method="GET", path="/runs/{run}/console", touches="run", answer=console, asked=AskedConsole, result=ConsoleJson
    )
]
