"""Media: pictures, films, sounds, tables and texts that rows hold, and histograms over steps."""

from typing import Annotated

import msgspec

from holter.catalog.read.media import LostMedia, gathered
from holter.errors import UsageError
from holter.model.media_records import MediaLost
from holter.server.domain.unmade import begin_unmade
from holter.server.query.media import MOST_ENTRIES, HeatMap, ShownEntry, heat_maps, shown
from holter.server.transport.routing import Route, Visit
from holter.storage.media import MediaQuery

MOST_RUNS = 1000
MOST_TOLD = 100
MOST_CELLS = 2_000_000
Id = Annotated[str, msgspec.Meta(max_length=128)]
Name = Annotated[str, msgspec.Meta(max_length=4096)]


class AskedMediaKeys(msgspec.Struct, frozen=True, kw_only=True):
    """What media some runs have; those that are gone, or that you may not know of, are left out.

    `runs` are ids separated by commas.
    """

    runs: Annotated[str, msgspec.Meta(max_length=10_000)]


class RunMedia(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a run under which there are media: of `type`, at so many `steps` from `first` to `last`."""

    run: str
    key: str
    type: str
    steps: int
    first: int
    last: int


class MediaKeys(msgspec.Struct, frozen=True):
    """By run and key."""

    media: list[RunMedia]
    waiting: dict[str, int] = {}
    """By run, how many are still being made."""
    lost: dict[str, list[LostMedia]] = {}
    """By run, what was logged and is not there, by key and reason."""


class AskedMedia(msgspec.Struct, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}):
    """The media of some keys of some runs; runs that are gone are left out.

    With `step`, of each run and key those of that step, or of the last one before it: what a slider that all runs share
    asks for. Without it those of the steps from `from` to `to`, at most `limit` for each run and key, with `newest` the
    last of them.
    """

    runs: Annotated[list[Id], msgspec.Meta(max_length=MOST_RUNS)]
    keys: Annotated[list[Name], msgspec.Meta(max_length=MOST_RUNS)]
    step: int | None = None
    first: int | None = None
    last: int | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_ENTRIES)] = 100
    newest: bool = False


class MediaFound(msgspec.Struct, frozen=True):
    """By run, key and step, in the order of the question."""

    entries: list[ShownEntry]


class AskedSteps(msgspec.Struct, frozen=True, kw_only=True):
    """At which steps some runs have something under some keys; runs that are gone are left out."""

    runs: Annotated[list[Id], msgspec.Meta(max_length=MOST_RUNS)]
    keys: Annotated[list[Name], msgspec.Meta(max_length=MOST_RUNS)]


class MediaSteps(msgspec.Struct, frozen=True):
    """All of them together, growing: the places of a slider."""

    steps: list[int]


class AskedHeat(msgspec.Struct, frozen=True, kw_only=True, rename={"first": "from", "last": "to"}):
    """The histograms of some keys over steps, in at most `columns` parts of the steps and `rows` of the values."""

    runs: Annotated[list[Id], msgspec.Meta(max_length=MOST_RUNS)]
    keys: Annotated[list[Name], msgspec.Meta(max_length=MOST_RUNS)] = []
    key: Name = ""
    """One more of them."""
    first: int | None = None
    last: int | None = None
    columns: Annotated[int, msgspec.Meta(ge=1, le=2000)] = 400
    rows: Annotated[int, msgspec.Meta(ge=1, le=512)] = 64


class HeatMaps(msgspec.Struct, frozen=True):
    """One for each run and key that has some."""

    maps: list[HeatMap]


def media_keys(visit: Visit, asked: AskedMediaKeys) -> MediaKeys:
    """The keys under which some runs have media"""
    store = visit.services.storage.media
    runs = list(dict.fromkeys(asked.runs.split(",")))[:MOST_RUNS]
    found = [
        RunMedia(run=run, key=each.key, type=each.type, steps=each.steps, first=each.first, last=each.last)
        for run in runs
        for each in store.keys(run)
    ]
    waiting = {run: count for run in runs if (count := begin_unmade(visit.services, run))}
    lost = {run: each for run in runs if (each := _lost(visit, run))}
    return MediaKeys(found, waiting, lost)


def _lost(visit: Visit, run: str) -> list[LostMedia]:
    events = visit.services.storage.console.events(run, [MediaLost.__name__])
    return gathered(msgspec.convert(event.fields, MediaLost) for event in events)[:MOST_TOLD]


def media(visit: Visit, asked: AskedMedia) -> MediaFound:
    """Media of many runs and keys, at a step or in a range of steps"""
    store = visit.services.storage.media
    entries: list[ShownEntry] = []
    for run in dict.fromkeys(asked.runs):
        for key in dict.fromkeys(asked.keys):
            if asked.step is not None:
                query = MediaQuery(key=key, last=asked.step, most=1, newest=True)
            else:
                query = MediaQuery(key=key, first=asked.first, last=asked.last, most=asked.limit, newest=asked.newest)
            entries += [shown(run, each) for each in store.select(run, query)]
            if len(entries) > MOST_ENTRIES:
                raise UsageError(f"these are more than {MOST_ENTRIES:,}: ask for fewer runs, keys or steps at once")
    return MediaFound(entries)


def media_steps(visit: Visit, asked: AskedSteps) -> MediaSteps:
    """The steps at which some runs have media"""
    store = visit.services.storage.media
    found = {step for run in asked.runs for key in asked.keys for step in store.steps(run, key)}
    return MediaSteps(sorted(found))


def media_heat(visit: Visit, asked: AskedHeat) -> HeatMaps:
    """Histograms over steps, as shares in equal parts"""
    store = visit.services.storage.media
    maps: list[HeatMap] = []
    runs = list(dict.fromkeys(asked.runs))
    for key in dict.fromkeys([asked.key, *asked.keys] if asked.key else asked.keys):
        if (len(maps) + len(runs) - 1) * asked.columns * asked.rows > MOST_CELLS:
            raise UsageError(f"these are more than {MOST_CELLS:,} cells: ask for fewer keys or columns at once")
        query = MediaQuery(key=key, first=asked.first, last=asked.last, most=1_000_000)
        maps += heat_maps(store, runs, query=query, columns=asked.columns, rows=asked.rows)
    return HeatMaps(maps)


ROUTES = [
    Route(method="GET", path="/media", touches="runs", answer=media_keys, asked=AskedMediaKeys, result=MediaKeys),
    Route(
        method="POST",
        path="/media",
        touches="runs",
        answer=media,
        asked=AskedMedia,
        result=MediaFound,
        body="json",
    ),
    Route(
        method="POST",
        path="/media/steps",
        touches="runs",
        answer=media_steps,
        asked=AskedSteps,
        result=MediaSteps,
        body="json",
    ),
    Route(
        method="POST",
        path="/media/histograms",
        touches="runs",
        answer=media_heat,
        asked=AskedHeat,
        result=HeatMaps,
        body="json",
    ),
]
