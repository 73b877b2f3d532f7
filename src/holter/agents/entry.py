"""`holter.sweep()`, `holter.agent()` and `holter agent`: what people call to begin a sweep and to work at one."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from holter.agents.agent import Runner, work
from holter.agents.asking import list_gpus, this_agent
from holter.agents.function import FunctionRunner
from holter.agents.going_on import GoingOn
from holter.agents.interrupts import Interrupts
from holter.agents.program import ProgramRunner
from holter.agents.progress import Progress
from holter.errors import UsageError
from holter.recording.login import find_upload
from holter.recording.settings import read_settings
from holter.recording.voice import Voice
from holter.sweeps.opening import Place

_OF_WANDB = frozenset("forward_signals term_timeout max_consecutive_failed_runs".split())


def sweep(
    sweep: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | str | os.PathLike[str],
    entity: str | None = None,
    project: str | None = None,
    prior_runs: Sequence[str] | None = None,
) -> str:
    """Begin a sweep; returns its id, for `holter.agent` and `holter agent`.

    Args:
        sweep: W&B's configuration as a mapping, or the path of a YAML file with it.
        entity: the team, as W&B calls it; kept.
        project: where its runs go; left out, as the configuration or the settings say.
        prior_runs: ids of recorded runs whose configuration and metric are taken over as finished trials.

    Raises UsageError for what is not supported, with its line.
    """
    settings = read_settings({"entity": entity, "project": project}, os.environ)
    place = Place(settings, find_upload(settings))
    identity = place.begin(sweep() if callable(sweep) else sweep, project=project or "")
    if prior_runs:
        take_over(place, identity, runs=prior_runs)
    return identity


def agent(
    sweep_id: str,
    function: Callable[[], object] | None = None,
    entity: str | None = None,
    project: str | None = None,
    count: int | None = None,
    **others: Any,
) -> None:
    """Work at a sweep until it is over: call the function for each trial, or run the sweep's program.

    The function calls `holter.init()`, reads `holter.config` and logs the sweep's metric. Where the sweep ends a trial
    early, `log()` raises `holter.TrialPruned` in it.

    Raises UsageError for a sweep that is not there, and KeyboardInterrupt after a second Ctrl-C.
    """
    if wrong := sorted(others.keys() - _OF_WANDB):
        raise UsageError(f"agent() has no argument {wrong[0]!r}: it takes sweep_id, function, project and count")
    for name in others:
        Voice().warn(
            name, f"agent({name}=…) changes nothing: `holter agent` and the sweep's page stop trials and sweeps"
        )
    if count is not None and count < 1:
        raise UsageError(f"count must be a whole number of trials, got {count!r}")
    if function is not None and not callable(function):
        raise UsageError(f"function must be callable, got {type(function).__name__}")
    run_agent(sweep_id, function=function, count=count)


def run_agent(
    wanted: str, *, function: Callable[[], object] | None = None, count: int | None = None, gpu: str = ""
) -> int:
    """The work of one agent in this process; returns how many trials it ran."""
    place = Place()
    settings = place.settings
    found = place.find(wanted)
    configuration = found.configuration
    shown = found.show()
    progress = Progress(metric=shown.metric, goal=shown.goal, most=shown.most, is_silent=settings.silent)
    interrupts = Interrupts(progress.say, raises=function is not None)
    going_on = GoingOn(settings.dir, place.upload)
    runner: Runner
    if function is not None:
        runner = FunctionRunner(function, configuration, data=settings.dir, project=shown.project, going_on=going_on)
    else:
        environ = {**os.environ, **({"CUDA_VISIBLE_DEVICES": gpu} if gpu else {})}
        runner = ProgramRunner(
            configuration,
            data=settings.dir,
            project=shown.project,
            environ=environ,
            going_on=going_on,
            is_now=lambda: interrupts.is_now,
        )
    with interrupts.heard():
        done = work(
            found,
            this_agent(gpu),
            runner=runner,
            count=count,
            progress=progress,
            interrupts=interrupts,
        )
    if interrupts.is_now and function is not None:
        raise KeyboardInterrupt  # the rest of the user's program is to stop as well
    return done


def run_agents(wanted: str, gpus: str, *, count: int | None) -> int:
    """One agent for each GPU, each with its share of the cores; returns the first exit code that is not 0.

    `count` is that of all together. Ctrl-C reaches each of them.
    """
    numbers = list_gpus(gpus)
    if not numbers:
        raise UsageError(f"there are no GPUs here for --gpus {gpus}: leave it out for one agent without any")
    cores = sorted(os.sched_getaffinity(0))
    share = len(cores) // len(numbers)
    children = []
    for place, gpu in enumerate(numbers):
        mine = _part(count, len(numbers), place)
        if mine == 0:
            continue
        command = [sys.executable, "-m", "holter", "agent", wanted, "--gpu", gpu]
        command += ["--count", str(mine)] if mine is not None else []
        if share:
            command += ["--cores", ",".join(map(str, cores[place * share : (place + 1) * share]))]
        children.append(subprocess.Popen(command))
    return _wait(children)


def take_over(place: Place, identity: str, *, runs: Sequence[str]) -> list[int]:
    """Make finished trials of recorded runs, by their configuration and summary. Raises UsageError."""
    from holter.api.recorded_runs import Api

    found, api = place.find(identity), Api()
    configuration = found.configuration
    metric = configuration.metric
    if metric is None:
        raise UsageError("this sweep has no metric, by which runs could be taken over")
    numbers = []
    for name in runs:
        run = api.run(name)
        value = dict(run.summary).get(metric.name)
        if isinstance(value, bool) or not isinstance(value, int | float) or value - value != 0:
            raise UsageError(f"run {name} has no number {metric.name!r} in its summary: it can't be a trial")
        flat = _flat(dict(run.config))
        params = {each.name: flat[each.name] for each in configuration.parameters if each.name in flat}
        numbers.append(found.add(params, value=float(value), run=run.id))
    return numbers


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in config.items():
        found[f"{prefix}{name}"] = value
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
    return found


def _part(count: int | None, of: int, place: int) -> int | None:
    return None if count is None else count // of + (place < count % of)


def _wait(children: "list[subprocess.Popen[bytes]]") -> int:
    """Ctrl-C in a terminal goes to all of them by itself; SIGTERM is passed on."""

    def passed_on(number: int, frame: object) -> None:
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(number)

    signal.signal(signal.SIGTERM, passed_on)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    codes = [child.wait() for child in children]
    return next((code for code in codes if code), 0)
