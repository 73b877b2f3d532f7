"""What the facts of a run look like of which people are told: anything else under their names is left out. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict

import msgspec

Number = Annotated[float, msgspec.Meta(ge=-1e300, le=1e300)]


class _Git(TypedDict, total=False):
    commit: str | None
    branch: str | None


class _Python(TypedDict, total=False):
    version: str | None
    executable: str | None


class _Gpu(TypedDict, total=False):
    name: str | None
    memory_total_bytes: Number | None


class _Gpus(TypedDict, total=False):
    devices: list[_Gpu] | None


FORMS: dict[str, Any] = {
    "command": list[str],
    "script": dict[str, Any],
    "git": _Git,
    "python": _Python,
    "gpus": _Gpus,
    "packages": list[str],
    "schedulers": dict[str, dict[str, Any]],
    "environment": dict[str, Any],
    **dict.fromkeys(("os", "kernel", "container", "cwd"), str),
    **dict.fromkeys(
        ("cpu_count", "memory_total_bytes", "cgroup_memory_limit_bytes", "cgroup_cpu_limit", "shared_memory_bytes"),
        Number,
    ),
}


def in_form(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts that are as they should be, and those of which nobody knows how they should be."""
    return {name: value for name, value in facts.items() if name not in FORMS or _fits(value, FORMS[name])}


def _fits(value: Any, form: Any) -> bool:
    try:
        msgspec.convert(value, form | None)
    except msgspec.ValidationError:
        return False
    return True
