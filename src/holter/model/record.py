"""What each sentence of a journal has. Those of one feature may have a module of their own: `records` gathers them."""

from typing import Any

import msgspec

from holter.model.bounds import Instant

Row = dict[str, Any]


class Record(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A sentence with the time at which it was said."""

    at_ns: Instant
