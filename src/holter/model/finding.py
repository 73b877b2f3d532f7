"""What a source answers when it is asked about a death, and what several answers come to. Pure."""

from collections.abc import Sequence
from typing import Any, Self

import msgspec


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one source said. Kept in a journal as `Looked`, under the name of its source."""

    @classmethod
    def together(cls, found: Sequence[Self]) -> Self:
        """What several answers come to, of which there is at least one: the last."""
        return found[-1]


class Account(Finding, frozen=True, kw_only=True):
    """What a source says more of as time goes on."""

    @classmethod
    def together(cls, found: Sequence[Self]) -> Self:
        """Field by field the last word that says anything."""
        said: dict[str, Any] = msgspec.structs.asdict(found[0])
        for each in found:
            said |= {name: value for name, value in msgspec.structs.asdict(each).items() if value not in (None, "", ())}
        return cls(**said)
