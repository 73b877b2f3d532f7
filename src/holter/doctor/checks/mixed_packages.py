"""Packages that were installed twice: by conda and pip, by pip over the rest of itself, or for all environments."""

from collections import defaultdict
from collections.abc import Iterator

from holter.doctor.machine import Environment, Machine, Package

WHY_TWICE = "files of two versions lie in one folder: which half is imported is chance"
NATIVE = ("numpy", "scipy", "pandas", "torch", "tensorflow", "jax", "jaxlib", "protobuf", "pyarrow", "scikit-learn")


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """One line for each kind of mixture."""
    environment = machine.environment
    yield from _twice(environment)
    yield from _conda_and_pip(environment)
    yield from _shadowed_by_user(environment)


def _twice(environment: Environment) -> Iterator[tuple[str, str, str]]:
    places: dict[tuple[str, str], set[str]] = defaultdict(set)
    for each in environment.packages:
        places[each.name, each.folder].add(each.version)
    for (name, folder), versions in sorted(places.items()):
        if len(versions) > 1:
            what = f"{name} is in {folder} in {len(versions)} versions: {', '.join(sorted(versions))}"
            yield (
                what,
                WHY_TWICE,
                f"pip install --force-reinstall {name}; if that leaves both, remove the older .dist-info",
            )


def _conda_and_pip(environment: Environment) -> Iterator[tuple[str, str, str]]:
    for each in environment.packages:
        of_conda = environment.conda.get(each.name)
        if of_conda and each.installer == "pip" and of_conda != each.version and _is_first(each, environment):
            what = f"conda installed {each.name} {of_conda}, and pip {each.version} over it"
            yield what, WHY_TWICE, f"pip uninstall {each.name}, then conda install {each.name}"


def _shadowed_by_user(environment: Environment) -> Iterator[tuple[str, str, str]]:
    for each in environment.packages:
        if each.folder != environment.user_folder or each.name not in NATIVE or not _is_first(each, environment):
            continue
        for other in environment.packages:
            if other.name == each.name and other.folder != each.folder and other.version != each.version:
                what = (
                    f"{each.name} {each.version} in {each.folder} is imported, and not the environment's"
                    f" own {other.version}"
                )
                why = "what else is in the environment was built and tested with its own version"
                yield what, why, f"export PYTHONNOUSERSITE=1, or pip uninstall {each.name} outside of the environment"


def _is_first(package: Package, environment: Environment) -> bool:
    return next(each for each in environment.packages if each.name == package.name) is package
