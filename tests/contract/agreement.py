"""The same random work done by several storages, which must then say the same of every run."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from holter.model.run_row import RunRow
from holter.server.migration.digests import index_digests
from holter.storage.console import ConsoleBatch, Event
from holter.storage.media import MediaEntry
from holter.storage.opening import Storage
from holter.storage.series import SeriesBatch
from tests.contract.series_contract import random_journal, random_order

RUNS = ("one", "two")
VALUES = (
    float("nan"),
    float("inf"),
    float("-inf"),
    -0.0,
    1e308,
    0.1,
    7,
    -(1 << 53),
    True,
    None,
    "ü",
    "",
    "\x1b[31mred",
)
TEXTS = ("plain", "", "ü€😀", "\x1b[31mred\x1b[0m", "it's", "back\\slash", "tab\there", "x" * 3000, "%s ? :name")
Work = Callable[[Storage], None]


def random_work(seed: int) -> list[Work]:
    """What a server does to its storage, in some order: points come late and again, what is there is said again."""
    random = np.random.default_rng(seed)
    journals = [random_journal(name * 32, random) for name in "ab"]
    work: list[Work] = []
    ends = dict.fromkeys(RUNS, 0)
    for number, (start, stop, journal) in enumerate(random_order(journals, random)):
        for run in RUNS:
            batch = journal.batch(run, start=start, stop=stop)
            work.append(partial(_append, batch=batch))
        run = RUNS[random.integers(2)]
        for some in (_lines(run, ends, random), _events(run, random), _row(run, number, random), _media(run, random)):
            work += [some] * int(random.integers(1, 3))
    gone = RUNS[random.integers(2)]
    work.insert(len(work) // 2, lambda storage: storage.media.delete(gone))
    return work


def said_by(storage: Storage) -> Mapping[str, Mapping[str, str]]:
    """Digests of all that a storage says, by run and port."""
    return {run: index_digests(storage, run) for run in (*RUNS, "nobody")}


def _append(storage: Storage, *, batch: SeriesBatch) -> None:
    storage.series.append(batch)


def _lines(run: str, ends: dict[str, int], random: np.random.Generator) -> Work:
    texts = [TEXTS[place] for place in random.integers(len(TEXTS), size=random.integers(1, 40))]
    missed = int(random.integers(3) == 0) * 50
    start = ends[run]
    ends[run] = stop = start + missed + sum(len(text.encode()) + 1 for text in texts)
    lines = tuple((start + place, 1 + place % 3, text) for place, text in enumerate(texts))
    batch = ConsoleBatch(run, "output", start, stop, lines, rest=TEXTS[random.integers(len(TEXTS))], missed=missed)
    return lambda storage: storage.console.append(batch)


def _events(run: str, random: np.random.Generator) -> Work:
    found = []
    for at_ns in random.integers(200, size=3).tolist():
        title = TEXTS[random.integers(len(TEXTS))]
        found.append(Event(at_ns, "a" * 32, at_ns * 10, "Alerted", {"title": title, "at_ns": at_ns}))
    return lambda storage: storage.console.add_events(run, found)


def _row(run: str, number: int, random: np.random.Generator) -> Work:
    values = {f"v/{place}": VALUES[each] for place, each in enumerate(random.integers(len(VALUES), size=6))}
    version = int(random.integers(1000))  # an older one is passed over
    row = RunRow(
        id=run,
        project="p",
        name=TEXTS[random.integers(len(TEXTS))],
        config=values,
        summary=values,
        version=version,
        rows=number,
        tags=("a", "ü"),
    )
    return lambda storage: storage.runs.put([row])


def _media(run: str, random: np.random.Generator) -> Work:
    entries = [
        MediaEntry(key="img", step=int(step), logged_ns=int(random.integers(50)), type="image", data=random.bytes(20))
        for step in random.integers(-5, 20, size=5)
    ]
    return lambda storage: storage.media.add(run, entries)
