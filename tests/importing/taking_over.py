"""What the tests of imports share."""

import importlib
from collections.abc import Iterator
from pathlib import Path

from holter.api.recorded_runs import Api
from holter.api.run import ApiRun
from holter.importing.imported_run import ImportedRun

RECORDED = Path(__file__).parent / "recorded"


def take_over(kind: str, path: Path | str, data: Path) -> list[ImportedRun]:
    """Import all runs at a path, and say what became of them."""
    done = []
    for source in importlib.import_module(f"holter.importing.sources.{kind}").find_runs(str(path)):
        with ImportedRun(str(data), source.origin) as run:
            for _ in source.read_into(run):
                pass
            run.keep()
        done.append(run)
    return done


def the_only(kind: str, path: Path, data: Path) -> tuple[ImportedRun, ApiRun]:
    """Import the only run at a path; how that went, and the run."""
    (done,) = take_over(kind, path, data)
    return done, Api(directory=data).run(done.run)


def rows_of(run: ApiRun, key: str) -> Iterator[tuple[int, float]]:
    """Steps and values of a metric."""
    return ((row["_step"], row[key]) for row in run.scan_history([key]))
