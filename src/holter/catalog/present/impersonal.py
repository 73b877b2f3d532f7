"""Evidence that may leave the house: what it proves stays, who and where it was does not. Pure."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from holter.model.evidence import Evidence, Memory
from holter.model.secrets import mask

LINES_KEPT = 200
"""Of the console: what is said before that decides nothing."""
FACTS_KEPT = (
    "cgroup_memory_limit_bytes",
    "container",
    "cpu_count",
    "cuda",
    "gpu_driver",
    "limits",
    "memory_total_bytes",
    "overcommit_mode",
    "python",
    "shared_memory_bytes",
    "torch",
)
HOME, PERSON, PLACE = "/home/ann", "ann", "/stage"
_HOME = re.compile(r"/(?:home|Users)/([^/\s\"'\\:,]+)|/root(?=[/\"\s\\:])")
# Shorter or plainer names of machines are also words that mean something else.
_TELLING = re.compile(r"(?=.*[\d.-]).{5,}")


def impersonal(evidence: Evidence, names: Iterable[tuple[str, str]] = ()) -> Evidence:
    """The same without secrets, names of people and machines, and settings that are no numbers.

    Args:
        names: more that must not leave, each with what stands in its place; the first is replaced first.
    """
    evidence = msgspec.structs.replace(
        evidence,
        said=evidence.said[-LINES_KEPT:],
        memory=_without_neighbours(evidence.memory),
        memory_of={pid: _without_neighbours(memory) for pid, memory in evidence.memory_of.items()},
        config=_numbers(evidence.config),
        facts=_facts(evidence.facts),
    )
    text = msgspec.json.encode(_masked(msgspec.to_builtins(evidence))).decode()
    for real, public in names:
        text = text.replace(_quoted(real), _quoted(public))
    people = {found for found in _HOME.findall(text) if found} | set(_people(evidence))
    text = _HOME.sub(HOME, text)
    for person in people:
        name = re.escape(_quoted(person))
        text = re.sub(rf'(?<=["/]){name}(?=["/])|\b{name}(?=@)', PERSON, text)
    for number, host in enumerate(_hosts(evidence), 1):
        name = re.escape(_quoted(host))
        text = re.sub(rf"\b{name}\b" if _TELLING.fullmatch(host) else f'(?<="){name}(?=")', f"node-{number}", text)
    return msgspec.json.decode(text, type=Evidence)


def _without_neighbours(memory: Memory) -> Memory:
    """Who else was on the machine is told by sizes alone."""
    if memory.holders is None:
        return memory
    holders = [each if each.is_ours else msgspec.structs.replace(each, name="neighbour") for each in memory.holders]
    return msgspec.structs.replace(memory, holders=tuple(holders))


def _numbers(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings that advice is made of; texts name data sets, paths and people."""
    found: dict[str, object] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found[str(name)] = _numbers(value)
        elif isinstance(value, int | float) and math.isfinite(value):
            found[str(name)] = value
    return found


def _facts(facts: Mapping[str, object]) -> dict[str, object]:
    kept = {name: facts[name] for name in FACTS_KEPT if name in facts}
    if isinstance(schedulers := facts.get("schedulers"), Mapping):
        kept["schedulers"] = {str(name): {} for name in schedulers}
    if isinstance(release := facts.get("kernel"), str):
        kept["kernel"] = release.partition("-")[0]
    return kept


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {name: _masked(each) for name, each in value.items()}
    return [_masked(each) for each in value] if isinstance(value, list | tuple) else value


def _people(evidence: Evidence) -> Iterable[str]:
    yield from (sender.user for sender in evidence.senders if sender.user not in ("", "root"))
    if evidence.job is not None and evidence.job.by not in ("", "root"):
        yield evidence.job.by


def _hosts(evidence: Evidence) -> list[str]:
    ends = (evidence.subject, *evidence.ranks, *evidence.children)
    return list(dict.fromkeys(end.host for end in ends if end.host))


def _quoted(text: str) -> str:
    """As it stands in JSON."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
