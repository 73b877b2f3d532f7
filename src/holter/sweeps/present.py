"""A sweep as `holter sweep show --json`, the API and the page have it."""

import time
from collections.abc import Callable
from typing import Any

import msgspec

from holter.sweeps.desk import LEASE_S, Desk
from holter.sweeps.fates import FATES
from holter.sweeps.regions import Region, find_regions
from holter.sweeps.state import (
    FAILED,
    FINISHED,
    INFEASIBLE,
    RUNNING,
    STATES,
    STOPPED,
    WAITING,
    Attempt,
    SweepState,
    Trial,
)
from holter.sweeps.words import AgentSeen


class TrialJson(msgspec.Struct, frozen=True, kw_only=True):
    """A trial. Times are seconds since 1970."""

    number: int
    params: dict[str, Any]
    changed: dict[str, Any] = {}
    """What its newest attempt had instead: a smaller batch."""
    state: str
    cause: str
    value: float | None
    attempts: int
    because: str
    run: str
    """The run of its newest attempt."""
    runs: list[str]
    host: str
    gpu: str
    device: str
    agent: str
    started_at: float | None
    ended_at: float | None
    lease_s: float | None
    """For how long its agent may still be silent; None for a trial that nobody runs."""
    iteration: int
    now: float | None
    """The metric as it was last heard, of a trial that runs."""


class AgentJson(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that was heard of."""

    id: str
    host: str
    gpu: str
    device: str
    heard_at: float
    is_lost: bool
    quarantined: str
    """Why it gets no trials; empty where it does."""
    trial: int | None
    iteration: int


class RegionJson(msgspec.Struct, frozen=True, kw_only=True):
    """Where trials do not fit."""

    words: str
    died: int
    device: str
    bounds: list[dict[str, Any]]


class SweepLine(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep in a listing."""

    id: str
    name: str
    project: str
    status: str
    """`running`, `paused`, `stopped` or `finished`."""
    method: str
    metric: str
    goal: str
    trials: int
    counts: dict[str, int]
    best: float | None
    begun_at: float


class SweepJson(SweepLine, frozen=True, kw_only=True):
    """All of a sweep."""

    description: str
    by: str
    reason: str
    best_trial: int | None
    most: int | None
    """How many trials there will be; None for a sweep that ends when somebody says so."""
    eta_s: float | None
    spent_s: float = 0.0
    """That agents were at trials, all attempts together."""
    lost_s: float = 0.0
    """Of it, in attempts that died."""
    parameters: list[dict[str, Any]]
    rows: list[TrialJson]
    agents: list[AgentJson]
    quarantined: dict[str, str]
    regions: list[RegionJson]
    importance: dict[str, float]
    fates: dict[str, str]


def line_of(desk: Desk) -> SweepLine:
    """What a listing shows."""
    return SweepLine(**_line(desk, desk.state()))


def show(desk: Desk, *, with_importance: bool = False) -> SweepJson:
    """All of it."""
    state = desk.state()
    configuration = state.configuration
    assert configuration is not None
    agents = desk.agents()
    seen = {each.asker.id: each for each in agents}
    best = state.best()
    most = _most(state)
    devices = dict.fromkeys(each.last.device for each in state.trials if each.last is not None)
    regions = [region for device in devices for region in find_regions(state, device)]
    return SweepJson(
        **_line(desk, state),
        description=configuration.description,
        by=state.by,
        reason=state.reason,
        best_trial=best.number if best is not None else None,
        most=most,
        eta_s=_eta_s(state, most, working=sum(not desk.is_silent(each) for each in agents)),
        spent_s=_spent_s(state),
        lost_s=_spent_s(state, only=lambda each: each.state in (FAILED, INFEASIBLE, WAITING) and not each.is_free),
        parameters=[_parameter(each) for each in msgspec.to_builtins(configuration.parameters)],
        rows=[_trial(each, seen) for each in state.trials],
        agents=[_agent(each, desk, state) for each in agents],
        quarantined=dict(state.quarantined),
        regions=[_region(each) for each in regions],
        importance=desk.importance() if with_importance else {},
        fates={**FATES},
    )


def status_of(state: SweepState) -> str:
    """`finished` where no trial is left to do."""
    if state.status in (STOPPED, RUNNING):
        most = _most(state)
        is_through = most is not None and len(state.trials) >= most and all(each.is_over for each in state.trials)
        if is_through and state.status == RUNNING:
            return FINISHED
    return state.status


def _line(desk: Desk, state: SweepState) -> dict[str, Any]:
    configuration = state.configuration
    assert configuration is not None
    best = state.best()
    metric = configuration.metric
    counts = dict.fromkeys(STATES, 0)
    for each in state.trials:
        counts[each.state] += 1
    return {
        "id": desk.id,
        "name": state.name,
        "project": state.project,
        "status": status_of(state),
        "method": configuration.method,
        "metric": metric.name if metric is not None else "",
        "goal": metric.goal if metric is not None else "",
        "trials": len(state.trials),
        "counts": counts,
        "best": best.value if best is not None else None,
        "begun_at": state.begun_ns / 1e9,
    }


def _most(state: SweepState) -> int | None:
    configuration = state.configuration
    assert configuration is not None
    given = sum("grid_id" not in each.attrs for each in state.trials)
    size = configuration.size
    known = [each for each in (configuration.run_cap, size + given if size is not None else None) if each is not None]
    return min(known, default=None)


def _eta_s(state: SweepState, most: int | None, *, working: int) -> float | None:
    """For what is left, at the pace of what has ended."""
    took = [
        attempt.ended_ns - attempt.started_ns
        for each in state.trials
        for attempt in each.attempts
        if attempt.ended_ns is not None
    ]
    if most is None or not took or not working:
        return None
    left = max(0, most - sum(each.is_over for each in state.trials))
    return left * (sum(took) / len(took)) / 1e9 / working


def _spent_s(state: SweepState, *, only: Callable[[Attempt], bool] = lambda each: True) -> float:
    attempts = [attempt for each in state.trials for attempt in each.attempts if only(attempt)]
    now = time.time_ns()
    took = ((now if each.ended_ns is None else each.ended_ns) - each.started_ns for each in attempts)
    return sum(max(0, each) for each in took) / 1e9  # the clock of another host may be ahead


def _trial(trial: Trial, seen: dict[str, AgentSeen]) -> TrialJson:
    last = trial.last
    agent = seen.get(last.agent) if last is not None else None
    is_running = trial.state == RUNNING and last is not None
    heard_ns = max(agent.at_ns if agent else 0, last.started_ns if last else 0)
    is_at_it = is_running and agent is not None and agent.number == trial.number
    return TrialJson(
        number=trial.number,
        params=trial.params,
        changed=trial.changed,
        state=trial.state,
        cause=trial.cause,
        value=trial.value,
        attempts=len(trial.attempts),
        because=trial.because,
        run=trial.run,
        runs=[each.run for each in trial.attempts],
        host=last.host if last else "",
        gpu=last.gpu if last else "",
        device=last.device if last else "",
        agent=last.agent if last else "",
        started_at=last.started_ns / 1e9 if last else None,
        ended_at=last.ended_ns / 1e9 if last and last.ended_ns is not None else None,
        lease_s=max(0.0, LEASE_S - (time.time_ns() - heard_ns) / 1e9) if is_running else None,
        iteration=agent.iteration if is_at_it and agent else 0,
        now=agent.value if is_at_it and agent else None,
    )


def _agent(seen: AgentSeen, desk: Desk, state: SweepState) -> AgentJson:
    asker = seen.asker
    because = state.quarantined.get(asker.gpu_place) or state.quarantined.get(asker.host_place) or ""
    return AgentJson(
        id=asker.id,
        host=asker.host,
        gpu=asker.gpu,
        device=asker.device,
        heard_at=seen.at_ns / 1e9,
        is_lost=desk.is_silent(seen),
        quarantined=because,
        trial=seen.number,
        iteration=seen.iteration,
    )


def _parameter(given: dict[str, Any]) -> dict[str, Any]:
    choices = list(given.get("choices", ()))
    is_number = not choices
    return {
        "name": given["name"],
        "choices": choices,
        "is_log": bool(given.get("is_log")),
        "low": given.get("low", 0) if is_number and "normal" not in given else None,
        "high": given.get("high", 1) if is_number and "normal" not in given else None,
    }


def _region(region: Region) -> RegionJson:
    bounds = [{"name": each.name, "side": each.side, "value": each.value} for each in region.bounds]
    return RegionJson(words=region.words, died=region.died, device=region.device, bounds=bounds)
