"""Guards what `pip install holter` brings along."""

from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PACKAGES_BESIDE_NUMPY = 12


def required_packages(distribution: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """Name everything that installs with the distribution when no extra is asked for."""
    for text in metadata.requires(distribution) or []:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        if name in seen or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        seen = required_packages(name, seen | {name})
    return seen


def test_installing_holter_stays_light() -> None:
    required = required_packages("holter")
    assert "msgspec" in required
    assert len(required - {"numpy"}) <= PACKAGES_BESIDE_NUMPY, sorted(required)
