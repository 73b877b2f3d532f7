"""Runs each trial as a call of a function in this process; early ends come as an exception out of `log()`."""

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from holter.agents.agent import Holder, given_back
from holter.agents.early_end import mark_pruned
from holter.agents.going_on import GoingOn
from holter.agents.renewing import renewing
from holter.client import active, trial
from holter.client.run import Run
from holter.client.trial import VARIABLE, Trial, TrialPruned
from holter.model.state import FINISHED
from holter.sweeps.configuration import Configuration
from holter.sweeps.endings import outcome_of
from holter.sweeps.parameters import nested
from holter.sweeps.words import Lease, Outcome


class FunctionRunner:
    """The trials of an agent that has a function of the user's. One at a time."""

    def __init__(
        self,
        function: Callable[[], object],
        configuration: Configuration,
        *,
        data: str,
        project: str,
        going_on: GoingOn,
    ) -> None:
        self._function = function
        self._configuration = configuration
        self._data = data
        self._project = project
        self._going_on = going_on
        self._metric = configuration.metric.name if configuration.metric is not None else ""

    def run(self, lease: Lease, holder: Holder) -> Outcome | None:
        """Call it. A KeyboardInterrupt gives the trial back and is raised again by the agent."""
        watch = _Watch(holder, self._configuration, metric=self._metric)
        with renewing(holder), _opened(watch):
            ended = self._call(lease)
        if not holder.said.holds:
            return None
        return self._outcome(lease, watch, ended)

    def _variables(self, lease: Lease) -> dict[str, str]:
        """What the trial's run and the function find in the environment."""
        found = self._going_on.find(lease)
        given = Trial(
            sweep=lease.sweep,
            number=lease.number,
            attempt=lease.fence,
            run=lease.run,
            config=nested(lease.params, self._configuration.parameters),
            project=self._project,
            goes_on_from=found.path,
            step=found.step,
        )
        return {
            VARIABLE: msgspec.json.encode(given).decode(),
            "HOLTER_SWEEP_ID": lease.sweep,
            **found.variables,
        }

    def _call(self, lease: Lease) -> BaseException | None:
        """The exception that ended it, None for none; the run is ended in any case."""
        try:
            with _changed(self._variables(lease)):
                self._function()
        except TrialPruned as error:
            active.finish(0)
            return error
        except KeyboardInterrupt as error:
            active.finish(1)
            return error
        except SystemExit as error:
            active.finish(error.code if isinstance(error.code, int) else int(error.code is not None))
            return error if error.code else None
        except Exception as error:  # noqa: BLE001  the boundary: the next trial is to run all the same
            active.finish(1)
            return error
        active.finish()
        return None

    def _outcome(self, lease: Lease, watch: "_Watch", ended: BaseException | None) -> Outcome:
        if isinstance(ended, KeyboardInterrupt) or watch.is_ended:
            return given_back()
        found = outcome_of(self._data, lease.run, metric=self._metric) if watch.has_begun else None
        if isinstance(ended, TrialPruned):
            mark_pruned(self._data, lease)
            known = found or Outcome(state=FINISHED)
            return msgspec.structs.replace(known, is_pruned=True, state=FINISHED, cause="", value=watch.finite)
        if found is not None:
            return found if found.value is not None else msgspec.structs.replace(found, last=watch.finite)
        if ended is not None:
            said = f"{type(ended).__name__}: {ended}"
            return Outcome(state="failed", cause="uncaught-exception", because=said, place=said[:200])
        because = "" if watch.has_begun else "the function recorded no run: it has to call holter.init()"
        return Outcome(state=FINISHED, value=watch.value, because=because)


class _Watch:
    """Counts the metric as it is logged, and ends the trial out of `log()` where others do better."""

    def __init__(self, holder: Holder, configuration: Configuration, *, metric: str) -> None:
        self._holder = holder
        self._early_end = configuration.early_end
        self._metric = metric
        self.has_begun = False
        self.finite: float | None = None

    @property
    def value(self) -> float | None:
        """The last one."""
        return self._holder.value

    @property
    def is_ended(self) -> bool:
        """A person wanted all trials to stop."""
        return self._holder.said.is_ended

    def begin(self, run: Run) -> None:
        """The trial's run is there."""
        self.has_begun = True
        log = run.log

        def logged(data: Any, *others: Any, **named: Any) -> None:
            log(data, *others, **named)  # says of what is no row that it is none
            self._look(data if isinstance(data, Mapping) else {})

        vars(run)["log"] = logged

    def _look(self, data: Mapping[str, Any]) -> None:
        """Raises TrialPruned."""
        holder = self._holder
        found = data.get(self._metric)
        if found is not None and not isinstance(found, bool):
            try:
                holder.value = float(found)
            except Exception:  # noqa: BLE001  the boundary: users' objects and tensors may raise anything
                return
            self.finite = holder.value if math.isfinite(holder.value) else self.finite
            holder.iteration += 1
            if self._early_end is not None and self._early_end.asks_at(holder.iteration):
                holder.renew(((holder.iteration, holder.value),))
        said = holder.said
        if said.is_pruned:
            raise TrialPruned(f"the sweep ends this trial at {self._metric} {holder.value}: others did better")
        if said.is_ended or not said.holds:
            raise TrialPruned("the sweep was stopped" if said.is_ended else "the lease of this trial was lost")


@contextlib.contextmanager
def _opened(watch: _Watch) -> Iterator[None]:
    trial.opened.append(watch.begin)
    try:
        yield
    finally:
        trial.opened.remove(watch.begin)


@contextlib.contextmanager
def _changed(given: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
