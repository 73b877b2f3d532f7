"""What somebody sets in a run after the fact."""

from typing import Any

from holter.model.record import Record


class Amended(Record, frozen=True, kw_only=True):
    """Values of the configuration and the summary that hold over what the program said."""

    by: str
    values: dict[str, Any]
    """`config` and `summary`, each with names and values."""


KINDS: dict[int, type[Record]] = {66: Amended}
