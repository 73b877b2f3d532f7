"""Versions that do not work together, by the table in `known.toml`."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from holter.doctor.machine import Machine
from holter.doctor.versions import compare, holds, named, parse

TABLE = Path(__file__).parents[1] / "known.toml"

Said = Iterator[tuple[str, str, str]]


def check(machine: Machine) -> Said:
    """Each combination of the table that is here."""
    versions = versions_of(machine)
    table = read_table()
    for each in table["conflict"]:
        if all(holds(condition, versions) for condition in each["when"]):
            names = [named(condition)[0] for condition in each["when"]]
            what = ", ".join(f"{name} {versions[name]}" for name in dict.fromkeys(names))
            yield f"{what} do not work together", f"{each['why']} ({each['source']})", each["fix"]
    yield from _pairs(table["pair"], versions)
    for each in table["not_newer"]:
        one, other = versions.get(each["package"], ""), versions.get(each["than"], "")
        if one and other and compare(parse(one), parse(other)) > 0:
            what = f"{each['package']} {one} is newer than {each['than']} {other}"
            yield what, f"{each['why']} ({each['source']})", f"pip install '{each['package']}=={other}'"


def _pairs(pairs: list[dict[str, Any]], versions: dict[str, str]) -> Said:
    for each in pairs:
        one, other = versions.get(each["package"], ""), versions.get(each["of"], "")
        wanted = each["versions"].get(".".join(map(str, parse(other)[:2])))
        if one and wanted and parse(one)[:2] != parse(wanted):
            what = f"{each['package']} {one} is not the one for {each['of']} {other}"
            yield what, f"{each['why']} ({each['source']})", f"pip install '{each['package']}=={wanted}.*'"


def versions_of(machine: Machine) -> dict[str, str]:
    """All that a condition may name."""
    environment = machine.environment
    found = {each.name: each.version for each in reversed(environment.packages)}
    found |= {"python": environment.python, "linux": machine.host.linux, "glibc": machine.host.glibc}
    found |= {"nvidia-driver": machine.gpus.driver, "torch-cuda": environment.torch_cuda or ""}
    able = sorted(each.capability for each in machine.gpus.devices if each.capability)
    if able:
        found |= {"gpu-lowest": "{}.{}".format(*able[0]), "gpu-highest": "{}.{}".format(*able[-1])}
    return {name: version for name, version in found.items() if version}


@cache
def read_table() -> dict[str, Any]:
    """The table as it is written."""
    return tomllib.loads(TABLE.read_text())
