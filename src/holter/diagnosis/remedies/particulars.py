"""What remedies need to know of a run: its settings, its packages, its limits, its scheduler."""

import shlex
from collections.abc import Iterator, Mapping

from holter.diagnosis import words
from holter.diagnosis.advice import Remedy
from holter.model.evidence import End, Evidence

BATCH = ("batch_size", "per_device_train_batch_size", "train_batch_size", "bs", "batch")
WORKERS = ("num_workers", "dataloader_num_workers", "workers", "n_workers")


def find_number(evidence: Evidence, names: tuple[str, ...]) -> tuple[str, int | None]:
    """The first whole number of the configuration under one of these names, with the name that it has."""
    for name, value in _settings(evidence.config):
        if name in names and isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return name, value
    return "", None


def find_float(evidence: Evidence, names: tuple[str, ...]) -> tuple[str, float | None]:
    """The first number of the configuration under one of these names, with the name that it has."""
    for name, value in _settings(evidence.config):
        if name in names and isinstance(value, int | float) and not isinstance(value, bool):
            return name, float(value)
    return "", None


def _settings(config: Mapping[str, object], depth: int = 0) -> Iterator[tuple[str, object]]:
    for name, value in config.items():
        yield str(name), value
        if isinstance(value, Mapping) and depth < 4:
            yield from _settings(value, depth + 1)


def uses(evidence: Evidence, package: str) -> bool:
    """Whether this package is part of the program."""
    packages = evidence.facts.get("packages")
    if isinstance(packages, Mapping) and package in packages:
        return True
    raised = evidence.subject.raised
    return raised is not None and (package in raised.type or f"/{package}/" in raised.traceback)


def where_used(text: str, *packages: str) -> Remedy:
    """A sentence for programs that one of these packages is part of."""
    return lambda evidence: text if any(uses(evidence, package) for package in packages) else ""


def in_notebooks(text: str) -> Remedy:
    """A sentence for notebooks."""
    return lambda evidence: text if evidence.is_notebook else ""


def stating(limit: str, text: str) -> Remedy:
    """A sentence with ` (now …)` in the place of `{now}`, where that limit of the surroundings is known."""

    def say(evidence: Evidence) -> str:
        found = getattr(evidence.surroundings, limit, None)
        known = words.size(found) if found is not None and limit.endswith("_bytes") else f"{found or 0:,}"
        return text.replace("{now}", f" (now {known})" if found is not None else "")

    return say


def scheduler(evidence: Evidence) -> str:
    """The scheduler's name; empty where there is none."""
    schedulers = evidence.facts.get("schedulers")
    if evidence.job is not None:
        return evidence.job.scheduler
    return str(next(iter(schedulers), "")) if isinstance(schedulers, Mapping) else ""


def python_of(kernel: End) -> str:
    """The Python that a kernel was started with, for a command line."""
    return shlex.quote(kernel.name.partition(" -m ipykernel_launcher")[0] or "python")
