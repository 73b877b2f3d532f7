"""What is installed, by the folders that packages leave behind; nothing is imported."""

import os
import re
from collections.abc import Iterable, Iterator

from holter.doctor.machine import Package

_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)_")
_NEED = re.compile(r"^Requires-Dist: (nvidia-[a-z0-9-]+)\s*\(?==\s*([0-9.]+)", re.MULTILINE)
OLD_TAGS = {"manylinux2014": "2.17", "manylinux2010": "2.12", "manylinux1_": "2.5"}


def read_packages(path: Iterable[str]) -> Iterator[Package]:
    """All of each folder of a `sys.path`, in its order."""
    for folder in dict.fromkeys(os.path.abspath(each or ".") for each in path):
        for entry in sorted(_names_in(folder)):
            if entry.endswith(".dist-info") and "-" in entry:
                name, _, version = entry.removesuffix(".dist-info").partition("-")
                yield _read(_normalized(name), version, folder, os.path.join(folder, entry))


def _read(name: str, version: str, folder: str, place: str, /) -> Package:
    needs = _NEED.findall(_text(f"{place}/METADATA")) if name == "torch" else []
    return Package(
        name=name,
        version=version,
        folder=folder,
        installer=_text(f"{place}/INSTALLER").strip(),
        needs=tuple(f"{need}=={wanted}" for need, wanted in needs),
        glibc=_oldest_glibc(_text(f"{place}/WHEEL")),
    )


def _oldest_glibc(wheel: str) -> str:
    """Of several tags any one will do; one that is built on the machine itself has none."""
    tags = [line.partition(":")[2] for line in wheel.splitlines() if line.startswith("Tag:")]
    found = []
    for tag in tags:
        old = next((glibc for word, glibc in OLD_TAGS.items() if word in tag), "")
        match = _GLIBC.search(tag)
        if not old and not match:
            return ""
        found.append((int(match[1]), int(match[2])) if match else tuple(map(int, old.split("."))))
    return ".".join(map(str, min(found))) if found else ""


def read_conda(prefix: str) -> dict[str, str]:
    """What conda has written down in an environment; nothing where it did not make it."""
    found = {}
    for entry in _names_in(os.path.join(prefix, "conda-meta")):
        name, _, rest = entry.removesuffix(".json").rpartition("-")[0].rpartition("-")
        if entry.endswith(".json") and name:
            found[_normalized(name)] = rest
    return found


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
