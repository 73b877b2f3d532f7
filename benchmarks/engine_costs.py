"""What charts and tables cost on PostgreSQL and ClickHouse, beside SQLite, in one go: `make bench-engines`."""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping

import msgspec
import numpy as np

from holter.model.run_row import RunRow
from holter.storage.filter_text import parse_filter, parse_sort
from holter.storage.opening import Storage, open_storage
from holter.storage.places import Places
from holter.storage.runs import RunQuery
from holter.storage.series import Line, Rows, SeriesBatch, Window
from tests.clickhouse.server import running_chdb
from tests.postgres import running_postgres

NOW_NS = 1_700_000_000_000_000_000
AT_ONCE = 50_000
REPEATS = 7


def batches(run: str, points: int, *, seed: int) -> Iterator[SeriesBatch]:
    """A run of one key."""
    values = np.random.default_rng(seed).normal(size=points).astype(np.float32).astype(np.float64)
    for start in range(0, points, AT_ONCE):
        steps = np.arange(start, min(points, start + AT_ONCE))
        rows = Rows(("loss",), steps, steps * 1_000_000, steps * 10, values[np.newaxis, start : start + AT_ONCE])
        yield SeriesBatch(run, f"{seed:032x}", start * 10, (start + len(steps)) * 10, (rows,))


def fill(storage: Storage, *, points: int, runs: int) -> float:
    """The seconds it took."""
    began = time.perf_counter()
    for batch in batches("long", points, seed=1):
        storage.series.append(batch)
    for number in range(100):
        for batch in batches(f"short-{number}", 10_000, seed=2 + number):
            storage.series.append(batch)
    storage.series.sync()
    for start in range(0, runs, 1000):
        rows = [
            RunRow(
                id=f"r{number:07}",
                project=f"p{number % 7}",
                name=f"run {number}",
                started_ns=number * 1_000_000,
                state="finished",
                config={"lr": number * 7919 % 1000 / 1000, "seed": number},
                summary={"loss": number * 104729 % 100_003 / 1000},
            )
            for number in range(start, min(runs, start + 1000))
        ]
        storage.runs.put(rows)
    return time.perf_counter() - began


def questions(storage: Storage) -> dict[str, Callable[[], object]]:
    """What people look at."""
    shorts = [Line(f"short-{number}", "loss") for number in range(100)]

    def page(sort: str, text: str = "") -> Callable[[], object]:
        query = RunQuery(now_ns=NOW_NS, where=parse_filter(text), sort=parse_sort(sort), count=50)
        return lambda: storage.runs.query(query)

    return {
        "chart, one run in 2,000 buckets": lambda: storage.series.buckets([Line("long", "loss")], Window(2000)),
        "chart, its middle hundredth": lambda: storage.series.buckets(
            [Line("long", "loss")], Window(2000, "step", 2_000_000, 2_050_000)
        ),
        "chart, 100 runs in 1,000 buckets": lambda: storage.series.buckets(shorts, Window(1000)),
        "table, newest": page("-started_at"),
        "table, by a summary": page("-summary.loss"),
        "table, filtered": page("summary.loss", "config.lr < 0.01 and project = p3"),
        "table, searched": page("-started_at", "'run 4242'"),
    }


def median_ms(ask: Callable[[], object]) -> float:
    """Of some repeats behind the first one."""
    ask()
    taken = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        ask()
        taken.append((time.perf_counter() - began) * 1e3)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument(
        "--chdb", default=sys.executable, help="a Python that has chDB: .venv-scale/bin/python has all of it"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_postgres() as server, running_chdb(args.chdb) as clickhouse:
        places = Places.at(f"sqlite:{folder}")
        url, points = server.new_place(), clickhouse.new_place()
        opened = {
            "SQLite": open_storage(places),
            "PostgreSQL": open_storage(Places(url, url, url, places.blobs, url, url)),
            "ClickHouse": open_storage(msgspec.structs.replace(places, series=points, console=points)),
        }
        print(f"{'':34}{opened_names(opened)}")
        took = [fill(storage, points=args.points, runs=args.runs) for storage in opened.values()]
        print(line("filled, s", took))
        for name in questions(opened["SQLite"]):
            asked = [each for each in opened if name.startswith("chart") or each != "ClickHouse"]  # no table is there
            print(line(f"{name}, ms", [median_ms(questions(opened[each])[name]) for each in asked]))
        for storage in opened.values():
            storage.close()


def opened_names(opened: Mapping[str, Storage]) -> str:
    """The heading."""
    return "".join(f"{name:>12}" if name == "SQLite" else f"{name:>12}{'ratio':>8}" for name in opened)


def line(name: str, found: list[float]) -> str:
    """Each figure, and how often it is the first one."""
    rest = "".join(f"{each:12.1f}{each / found[0]:8.2f}" for each in found[1:])
    return f"{name:34}{found[0]:12.1f}{rest}"


if __name__ == "__main__":
    main()
