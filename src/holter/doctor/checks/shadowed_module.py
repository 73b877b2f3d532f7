"""A file of the user's has the name of a library, and is imported in its place."""

from collections.abc import Iterator

from holter.doctor.machine import Machine


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """Beside the script: Python looks there first."""
    for path in machine.environment.shadows:
        name = path.rpartition("/")[2].removesuffix(".py")
        why = (
            f"each `import {name}`, also those inside of libraries, gets this file: «partially"
            " initialized module», missing names"
        )
        yield (
            f"{path} is imported in place of the library {name}",
            why,
            f"mv {path} my_{name}.py, and remove __pycache__",
        )
