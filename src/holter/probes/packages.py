"""The packages that an interpreter can import."""

import os
import re
import sys
import time
from collections.abc import Iterator

TIMEOUT_S = 2.0
# The folder's name has both; reading and parsing each package's metadata takes a hundred times as long.
INFO_NAME = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(-py\d.*)?\.(dist|egg)-info")


def installed_packages(executable: str) -> list[str]:
    """Return `name==version` of each package, sorted; those found so far when two seconds have passed.

    Args:
        executable: the interpreter in question; of another than this process's own nothing can be told.
    """
    if os.path.realpath(executable) != os.path.realpath(sys.executable):
        return []
    deadline = time.monotonic() + TIMEOUT_S
    found: dict[str, str] = {}
    for directory in sys.path:
        if time.monotonic() > deadline:
            break
        for name, version in _packages_in(directory or "."):
            # The first on the path is the one that is imported.
            found.setdefault(name, version)
    return sorted(f"{name}=={version}" for name, version in found.items())


def _packages_in(directory: str) -> Iterator[tuple[str, str]]:
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for entry in names:
        if match := INFO_NAME.fullmatch(entry):
            yield re.sub(r"[-_.]+", "-", match["name"]).lower(), match["version"]
