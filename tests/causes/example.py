"""The shape of an example."""

import msgspec

from holter.model.evidence import Evidence


class Example(msgspec.Struct, frozen=True):
    """Evidence with what a rule must make of it: `fires` a verdict, or any other answer."""

    evidence: Evidence
    fires: bool
