"""What all engines make of lines and events. Pure."""

import hashlib

import msgspec

from holter.console.screen import without_colours
from holter.storage.console import ConsoleLine, ConsoleRange, Event
from holter.storage.matching import ascii_lower

_encode = msgspec.msgpack.Encoder().encode
decode_fields = msgspec.msgpack.Decoder(dict[str, object]).decode
"""The fields of an event."""


def encode_event(event: Event) -> tuple[bytes, bytes]:
    """A digest, which is the same for what is the same event of a run, and its fields."""
    fields = _encode(event.fields)
    return hashlib.blake2b(event.journal.encode() + event.kind.encode() + fields, digest_size=16).digest(), fields


def fits(line: ConsoleLine, wanted: ConsoleRange) -> bool:
    """Whether it has the text that is looked for."""
    return not wanted.text or ascii_lower(wanted.text) in ascii_lower(without_colours(line.text))
