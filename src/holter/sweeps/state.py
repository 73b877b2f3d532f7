"""What a sweep's book says, as it stands: trials, their attempts, what people decreed. Pure."""

from typing import Any

import msgspec

from holter.sweeps.configuration import Configuration
from holter.sweeps.events import Added, AnyEvent, Begun, Decreed, Ended, Handed, Reported

WAITING, RUNNING, FINISHED = "waiting", "running", "finished"
PRUNED, INFEASIBLE, FAILED = "pruned", "infeasible", "failed"
STATES = (WAITING, RUNNING, FINISHED, PRUNED, INFEASIBLE, FAILED)
PAUSED, STOPPED = "paused", "stopped"


class Attempt(msgspec.Struct, kw_only=True):
    """One time that a trial was run."""

    fence: int
    run: str
    agent: str
    host: str = ""
    device: str = ""
    gpu: str = ""
    started_ns: int = 0
    ended_ns: int | None = None
    state: str = RUNNING
    cause: str = ""
    peak_bytes: int | None = None
    limit_bytes: int | None = None
    is_free: bool = False


class Trial(msgspec.Struct, kw_only=True):
    """One point of the search."""

    number: int
    point: dict[str, float]
    params: dict[str, Any]
    changed: dict[str, Any] = {}
    """What it is tried with instead, after what was chosen did not fit."""
    state: str = WAITING
    value: float | None = None
    cause: str = ""
    because: str = ""
    place: str = ""
    run: str = ""
    added_ns: int = 0
    is_allowed: bool = False
    """A person said that what did not fit may be tried again: it counts no more."""
    is_asked: bool = True
    """A sampler asked for it, and not a person."""
    attempts: list[Attempt] = []
    reports: dict[int, float] = {}
    attrs: dict[str, Any] = {}

    @property
    def is_over(self) -> bool:
        """Whether nobody works at it or will."""
        return self.state not in (WAITING, RUNNING)

    @property
    def last(self) -> Attempt | None:
        """Its newest attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def tries(self) -> int:
        """Attempts that count."""
        return sum(not each.is_free for each in self.attempts)

    @property
    def last_finite(self) -> float | None:
        """The metric when it was last reported as a number."""
        known = [value for _, value in sorted(self.reports.items()) if value - value == 0]
        return known[-1] if known else None


class SweepState:
    """All of it. Changed by `apply` alone."""

    def __init__(self) -> None:
        self.configuration: Configuration | None = None
        self.project = self.name = self.by = ""
        self.begun_ns = 0
        self.status = RUNNING
        self.is_ending = False
        """What runs is to be stopped as well."""
        self.reason = ""
        self.trials: list[Trial] = []
        self.quarantined: dict[str, str] = {}
        """GPUs and hosts that get no trials, with the reason."""
        self.study_attrs: dict[str, Any] = {}
        self.touched: list[int] = []
        """The number of a trial for each change of it: whoever projects this further begins where it stopped."""
        self.allowances = 0
        """How often people changed what counts or what is searched: who projects this further begins anew."""

    def apply(self, event: AnyEvent) -> None:
        """Take in what happened next."""
        match event:
            case Begun():
                self.configuration = msgspec.convert(event.configuration, Configuration)
                self.project, self.name, self.by = event.project, event.name, event.by
                self.begun_ns = event.at_ns
            case Added():
                self._add(event)
            case Handed():
                self._hand(event)
            case Reported():
                trial = self.trials[event.number]
                trial.reports[event.iteration] = event.value
                trial.attrs |= event.attrs
                self.touched.append(event.number)
            case Ended():
                self._end(event)
            case Decreed():
                self._decree(event)

    def holds(self, number: int, fence: int) -> bool:
        """Whether this lease is the one that counts."""
        if not 0 <= number < len(self.trials):
            return False
        trial = self.trials[number]
        return trial.state == RUNNING and len(trial.attempts) == fence

    def best(self) -> Trial | None:
        """The finished trial with the best value."""
        metric = self.configuration.metric if self.configuration else None
        known = [each for each in self.trials if each.state == FINISHED and each.value is not None]
        if metric is None or not known:
            return None
        sign = -1 if metric.goal == "maximize" else 1
        return min(known, key=lambda each: (sign * (each.value or 0.0), each.number))

    def _add(self, event: Added) -> None:
        trial = Trial(
            number=event.number,
            point=event.point,
            params=event.params,
            state=event.state,
            value=event.value,
            because=event.because,
            run=event.run,
            added_ns=event.at_ns,
            is_asked=bool(event.attrs),
            attrs=dict(event.attrs),
        )
        self._note_attrs(event.study_attrs)
        self.trials.append(trial)
        self.touched.append(trial.number)

    def _hand(self, event: Handed) -> None:
        if event.point is not None:
            new = Trial(number=event.number, point=event.point, params=event.params, added_ns=event.at_ns)
            new.attrs = dict(event.attrs)
            self.trials.append(new)
        self._note_attrs(event.study_attrs)
        trial = self.trials[event.number]
        trial.state, trial.cause, trial.because, trial.run = RUNNING, "", "", event.run
        trial.attempts.append(
            Attempt(
                fence=event.fence,
                run=event.run,
                agent=event.agent,
                host=event.host,
                device=event.device,
                gpu=event.gpu,
                started_ns=event.at_ns,
            )
        )
        self.touched.append(event.number)

    def _end(self, event: Ended) -> None:
        trial = self.trials[event.number]
        trial.state, trial.value = event.state, event.value
        trial.cause, trial.because, trial.place = event.cause, event.because, event.place
        trial.changed = event.changed or trial.changed
        attempt = trial.attempts[event.fence - 1]
        attempt.state, attempt.cause, attempt.ended_ns = event.state, event.cause, event.at_ns
        attempt.peak_bytes, attempt.limit_bytes, attempt.is_free = event.peak_bytes, event.limit_bytes, event.is_free
        self.touched.append(event.number)

    def _decree(self, event: Decreed) -> None:
        match event.act:
            case "pause" if self.status == RUNNING:
                self.status, self.reason = PAUSED, event.reason
            case "resume":
                self.status, self.reason, self.is_ending = RUNNING, "", False
            case "stop" | "end":
                self.status, self.reason, self.is_ending = STOPPED, event.reason, event.act == "end"
            case "quarantine":
                self.quarantined[event.what] = event.reason
            case "lift":
                self.quarantined.pop(event.what, None)
            case "bounds" if self.configuration is not None and event.bounds is not None:
                self.allowances += 1
                self.configuration = self.configuration.within(event.what, event.bounds)
            case "allow":
                self.allowances += 1
                for trial in self.trials:
                    trial.is_allowed = trial.is_allowed or trial.state == INFEASIBLE

    def _note_attrs(self, attrs: dict[str, Any]) -> None:
        for name, value in attrs.items():
            if value is None:
                self.study_attrs.pop(name, None)
            else:
                self.study_attrs[name] = value
