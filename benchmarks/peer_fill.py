"""Gives another tracker the same points as holter, in its environment: standard library and that tracker only.

`python -m benchmarks.peer_fill TOOL DIRECTORY PROJECT RUNS KEYS POINTS`. Each is written to by its own library, in the
way that takes the most at once.
"""

import datetime
import json
import math
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STARTED_S = 1_700_000_000
EVERY_S = 0.1
BATCH = 1000
"""So many values MLflow takes at once."""


def key_names(keys: int) -> list[str]:
    """As people name metrics: five kinds, each of so many things."""
    kinds = ("train", "val", "grad", "perf", "layer")
    return ["loss"] if keys == 1 else [f"{kinds[key % 5]}/{key // 5:02}" for key in range(keys)]


def run_name(run: int) -> str:
    return f"run-{run:05}"


def make_values(run: int, key: int, *, points: int) -> list[float]:
    """A curve with noise, always the same for the same numbers."""
    noise = random.Random(run * 1009 + key)
    return [math.exp(-3 * point / points) + noise.gauss(0, 0.05) for point in range(points)]


def make_rows(run: int, keys: int, *, points: int) -> Iterator[tuple[int, dict[str, float]]]:
    """The steps of a run with their values; those of validation are there at every fifth step, as usual."""
    names = key_names(keys)
    often = [name for name in names if not name.startswith("val/")]
    columns = [make_values(run, key, points=points) for key in range(keys)]
    for step, row in enumerate(zip(*columns, strict=True)):
        values = dict(zip(names, row, strict=True))
        yield step, values if step % 5 == 0 else {name: values[name] for name in often}


def config_of(run: int) -> dict[str, Any]:
    return {"lr": 10 ** -(2 + run % 7 / 2), "depth": run % 12, "seed": run}


def fill_mlflow(directory: Path, project: str, *, runs: int, keys: int, points: int) -> dict[str, Any]:
    """`log_batch` of its own client, 1,000 values at a time."""
    from mlflow import MlflowClient  # type: ignore[import-not-found]  # of another environment
    from mlflow.entities import Metric, Param  # type: ignore[import-not-found]

    client = MlflowClient(tracking_uri=f"sqlite:///{directory}/mlflow.db")
    experiment = client.create_experiment(project, artifact_location=str(directory / "artifacts"))
    ids = []
    for run in range(runs):
        begun_ms = (STARTED_S + run) * 1000
        info = client.create_run(experiment, run_name=run_name(run), start_time=begun_ms).info
        client.log_batch(info.run_id, params=[Param(name, str(value)) for name, value in config_of(run).items()])
        values = (
            Metric(name, value, begun_ms + int(step * EVERY_S * 1000), step)
            for step, row in make_rows(run, keys, points=points)
            for name, value in row.items()
        )
        while batch := [metric for metric, _ in zip(values, range(BATCH), strict=False)]:
            client.log_batch(info.run_id, metrics=batch)
        client.set_terminated(info.run_id)
        ids.append(info.run_id)
    return {"experiment": experiment, "ids": ids}


def fill_aim(directory: Path, project: str, *, runs: int, keys: int, points: int) -> dict[str, Any]:
    """`Run.track` of a row at a time, then its index, as `aim up` makes it in the background."""
    import aim  # type: ignore[import-not-found]  # of another environment
    from aim.sdk.index_manager import RepoIndexManager  # type: ignore[import-not-found]

    ids = []
    for number in range(runs):
        run = aim.Run(
            repo=str(directory),
            experiment=project,
            system_tracking_interval=None,
            log_system_params=False,
            capture_terminal_logs=False,
        )
        run.name = run_name(number)
        run["config"] = config_of(number)
        for step, row in make_rows(number, keys, points=points):
            run.track(row, step=step)
        run.close()
        ids.append(run.hash)
    index = RepoIndexManager(aim.Repo(str(directory)))
    for each in ids:
        index.index(each)
    return {"ids": ids}


def fill_trackio(directory: Path, project: str, *, runs: int, keys: int, points: int) -> dict[str, Any]:
    """`bulk_log` of its own storage, a run at a time."""
    os.environ["TRACKIO_DIR"] = str(directory)
    from trackio.sqlite_storage import SQLiteStorage  # type: ignore[import-not-found]  # of another environment

    for run in range(runs):
        begun = datetime.datetime.fromtimestamp(STARTED_S + run, datetime.UTC)
        rows = list(make_rows(run, keys, points=points))
        SQLiteStorage.bulk_log(
            project,
            run_name(run),
            [row for _, row in rows],
            steps=[step for step, _ in rows],
            timestamps=[(begun + datetime.timedelta(seconds=step * EVERY_S)).isoformat() for step, _ in rows],
            config=config_of(run),
            run_id=f"{project}-{run}",
        )
    return {"ids": [f"{project}-{run}" for run in range(runs)]}


FILLS = {"mlflow": fill_mlflow, "aim": fill_aim, "trackio": fill_trackio}


def main() -> None:
    tool, directory, project, *sizes = sys.argv[1:]
    runs, keys, points = map(int, sizes)
    found = FILLS[tool](Path(directory), project, runs=runs, keys=keys, points=points)
    Path(directory, f"{project}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
