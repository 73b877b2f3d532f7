"""`wandb.Api`: holter's, with the arguments, orders and frames that W&B's has."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from holter.api import recorded_runs
from holter.api.columns import Columns
from holter.api.run import ApiRun
from holter.client.wandb_words import is_of_wandb
from holter.errors import UsageError
from holter.wandb_door.api_words import File, files
from holter.wandb_door.saying import say

SAMPLES = 500
OLDEST_FIRST = "started_at"


class Run(ApiRun):
    """A recorded run whose history is a frame of pandas, as W&B's is."""

    def history(  # type: ignore[override]  # W&B's arguments in their order
        self, samples: int = SAMPLES, keys: Sequence[str] | None = None, x_axis: str = "_step", **others: Any
    ) -> Any:
        """At most so many rows, evenly over the run; with `keys` only those that have a value for each of them.

        Args:
            others: `pandas=False` for a list of dicts; `stream="system"` for what was measured of the machine.
        """
        if others.get("stream") == "system":
            keys = [key for key in self.keys() if key.startswith("system/")]
        rows = _thinned([*self.scan_history(keys)], samples)
        rows = [{**row, "_runtime": row["_timestamp"] - self.fields["started_at"]} for row in rows]
        rows.sort(key=lambda row: row.get(x_axis, 0))
        if others.get("pandas", True):
            try:
                import pandas
            except ImportError:
                say("pandas", "history() is a list of dicts here: pandas is not installed")
                return rows
            return pandas.DataFrame(rows)
        return rows

    def scan_history(
        self, keys: Sequence[str] | None = None, page_size: int = 1000, **bounds: Any
    ) -> Iterator[dict[str, Any]]:
        """Every row by step; with `keys` those that have all of them; from `min_step` on, before `max_step`."""
        wanted = [key for key in keys if not key.startswith("_")] if keys is not None else None
        low, high = bounds.get("min_step") or 0, bounds.get("max_step")
        for row in super().scan_history(wanted):
            if row["_step"] < low or (high is not None and row["_step"] >= high):
                continue
            if wanted is None or all(key in row for key in wanted):
                yield row

    def files(self, names: Sequence[str] | None = None, **others: Any) -> list[File]:  # type: ignore[override]  # W&B's
        """Its files, all or those of some names."""
        return files(self, names, **others)


def _thinned(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    if most < 1:
        raise UsageError(f"samples must be 1 or more, got {most}; scan_history() gives every row")
    if len(rows) <= most:
        return rows
    if most == 1:
        return rows[-1:]
    return [rows[place * (len(rows) - 1) // (most - 1)] for place in range(most)]


class Runs(recorded_runs.Runs):
    """W&B's list of runs."""

    @overload
    def __getitem__(self, place: int) -> ApiRun: ...
    @overload
    def __getitem__(self, place: slice) -> list[ApiRun]: ...
    def __getitem__(self, place: int | slice) -> ApiRun | list[ApiRun]:
        found = super().__getitem__(place)
        return found if isinstance(found, list) else Run(found._source, found.fields)

    @property
    def length(self) -> int:
        """How many there are."""
        return len(self)

    def histories(
        self,
        samples: int = SAMPLES,
        keys: Sequence[str] | None = None,
        x_axis: str = "_step",
        format: str = "default",  # noqa: A002  W&B's word
    ) -> Any:
        """The rows of all of them, each with its `run_id`: a list of dicts, or a frame (`pandas`, `polars`)."""
        rows = [
            {**row, "run_id": run.id}
            for run in self
            for row in Run(run._source, run.fields).history(samples, keys, x_axis, pandas=False)
        ]
        return rows if format == "default" else importlib.import_module(format).DataFrame(rows)

    def upgrade_to_full(self) -> None:
        """Nothing has to be: what was left out is read when it is asked for."""


class Api(recorded_runs.Api):
    """W&B's `Api`: the oldest run first, histories as frames."""

    def __init__(
        self,
        overrides: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        api_key: str | None = None,
        **others: Any,
    ) -> None:
        asked = {**(overrides or {}), **others}
        url = asked.get("base_url")
        ours = url if url and not is_of_wandb(url, api_key or "") else None
        if api_key and not ours:
            say("Api key", "Api(api_key=…): a key of W&B's is not used; `holter login URL` keeps the one of a server")
        super().__init__(ours, api_key if ours else None, timeout=timeout)
        self._project = asked.get("project")

    def runs(self, path: str | None = None, filters: Any = "", *, sort: str = "", **others: Any) -> Runs:  # type: ignore[override]  # W&B's
        """Runs of a project that fit a filter of W&B's, the oldest first unless `order` says otherwise."""
        if not others.get("order") and not sort:
            sort = OLDEST_FIRST
        found = super().runs(path or self._project, filters or "", sort=sort, **others)
        return Runs(found._source, found._wanted, limit=found._limit)

    def run(self, path: str = "") -> Run:
        """One run by `entity/project/id`. Raises NoRun."""
        found = super().run(path)
        return Run(found._source, found.fields)


PublicApi = Api
__all__ = ["Api", "Columns", "PublicApi", "Runs"]
