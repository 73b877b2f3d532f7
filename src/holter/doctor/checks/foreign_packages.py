"""`PYTHONPATH` leads to the packages of another Python."""

import re
from collections.abc import Iterator

from holter.doctor.machine import Machine

_VERSION = re.compile(r"/python(3\.\d+)/(?:site|dist)-packages")


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Of another version: what is compiled in them can't be loaded."""
    own = ".".join(machine.environment.python.split(".")[:2])
    for path in machine.environment.variables.get("PYTHONPATH", "").split(":"):
        match = _VERSION.search(path)
        if match and own and match[1] != own:
            why = (
                "packages of it are imported first, and what is compiled in them does not load: «No"
                " module named numpy.core._multiarray_umath»"
            )
            yield (
                f"PYTHONPATH leads to packages of Python {match[1]}, and this is {own}: {path}",
                why,
                "unset PYTHONPATH",
            )
