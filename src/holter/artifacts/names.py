"""What people write for an artifact: `name`, `name:alias`, `project/name:v3`, `team/project/name:best`."""

import msgspec

from holter.artifacts.book import LATEST, check_name
from holter.errors import UsageError


class ArtifactName(msgspec.Struct, frozen=True):
    """A name, taken apart."""

    project: str
    name: str
    alias: str = LATEST

    def __str__(self) -> str:
        return f"{self.project}/{self.name}:{self.alias}"


def parse_name(text: object, *, project: str) -> ArtifactName:
    """Take a name apart; `project` holds where it has none. A team before the project is read, and means nothing here.

    Raises UsageError.
    """
    if not isinstance(text, str):
        raise UsageError(f"an artifact is named by text such as 'model:best', got {type(text).__name__}")
    path, _, alias = text.partition(":")
    *place, name = path.split("/")
    if len(place) > 2:
        raise UsageError(f"{text!r} has too many parts: an artifact is named by 'name:alias' or 'project/name:alias'")
    return ArtifactName(place[-1] if place else project, check_name(name), alias or LATEST)
