"""The packages that an interpreter can import."""

import os
import sys
import time
from collections.abc import Iterable, Iterator

TIMEOUT_S = 2.0


def installed_packages(executable: str) -> list[str]:
    """Return `name==version` of each package, sorted; those found so far when two seconds have passed.

    Args:
        executable: the interpreter in question; of another than this process's own nothing can be told.
    """
    if os.path.realpath(executable) != os.path.realpath(sys.executable):
        return []
    return _packages(directory or "." for directory in sys.path)


def packages_beside(executable: str) -> list[str]:
    """Return the same for the environment that a path such as `/home/ada/env/bin/python` belongs to."""
    prefix = os.path.dirname(os.path.dirname(executable))
    # An environment's folder, and on Debian the system's own.
    roots = [os.path.join(prefix, "lib"), os.path.join(prefix, "local", "lib")]
    found = [os.path.join(root, name) for root in roots for name in _names_in(root) if name.startswith("python3")]
    return _packages(os.path.join(place, kind) for place in found for kind in ("site-packages", "dist-packages"))


def _packages(directories: Iterable[str]) -> list[str]:
    deadline = time.monotonic() + TIMEOUT_S
    found: dict[str, str] = {}
    for directory in directories:
        if time.monotonic() > deadline:
            break
        for name, version in _packages_in(directory):
            # The first on the path is the one that is imported.
            found.setdefault(name, version)
    return sorted(f"{name}=={version}" for name, version in found.items())


def _packages_in(directory: str) -> Iterator[tuple[str, str]]:
    for entry in _names_in(directory):
        if entry.endswith((".dist-info", ".egg-info")):
            # The folder's name has both; reading and parsing each package's metadata takes a hundred times as long.
            name, _, rest = entry.rpartition(".")[0].partition("-")
            version, _, python = rest.partition("-")
            if name and version and (not python or (python.startswith("py") and python[2:3].isdigit())):
                yield _normalized(name), version


def _normalized(name: str) -> str:
    """As package indexes write it."""
    name = name.lower().replace("_", "-").replace(".", "-")
    while "--" in name:
        name = name.replace("--", "-")
    return name


def _names_in(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []
