"""What a sidecar sends to a server: ranges of the files of one run, many in one message.

A message is a little-endian u32, the length of a JSON head; the head; then the bytes of the ranges, one behind the
other. On its way it is packed with zstd, whose checksum proves that it arrived as it was sent.
"""

import struct
from collections.abc import Sequence
from typing import Literal

import msgspec

from holter.errors import UsageError
from holter.journal.stop_request import StopRequest

MEDIA_TYPE = "application/zstd"
MOST_RANGES = 256
MOST_CLAIMED = 1000
"""So many journals a sender names at most: one that the server knows is enough."""
GONE = 410
"""The status for a run that was deleted on the server: whoever sends it should stop."""
_LENGTH = struct.Struct("<I")
Kind = Literal["journal", "text"]


class Range(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Bytes of a journal (by its uuid) or of a text that only grows (by its file's name), from an offset on."""

    kind: Kind
    name: str
    offset: int
    count: int


class Head(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first part of a message. The answer repeats `id`: an answer to another message is none to this one."""

    id: str
    ranges: list[Range]


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer: by name how much the server has, all of it on disk; less than was sent where something is missing."""

    id: str
    offsets: dict[str, int]
    refused: dict[str, str] = {}
    """What can't be taken at all, and why."""
    stop: StopRequest | None = None
    """Who wants the run to stop."""
    pace_s: float = 1.0
    """So long the sender should wait before its next message, so that a server with many runs is not overrun."""


class Claim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a sender says first: the project of its run, where it knows that, and the journals that lie with it."""

    project: str | None = None
    journals: list[str] = []


class Holdings(msgspec.Struct, frozen=True, kw_only=True):
    """What a server has of a run when a sender begins: offsets of journals and texts, and the files that are whole."""

    journals: dict[str, int]
    transcripts: dict[str, int]
    files: dict[str, "HeldFile"]
    stop: StopRequest | None = None
    run: str = ""
    """The run's id on the server: another than its own where somebody else has a run with that. Empty from servers that
    keep no owners."""


class HeldFile(msgspec.Struct, frozen=True):
    """A file that is whole."""

    size: int
    sha256: str


_decode_head = msgspec.json.Decoder(Head).decode


def encode_batch(head: Head, parts: Sequence[bytes]) -> bytes:
    """The message; the parts have the lengths that the head says."""
    text = msgspec.json.encode(head)
    return b"".join([_LENGTH.pack(len(text)), text, *parts])


def decode_batch(data: bytes) -> tuple[Head, list[bytes]]:
    """The head and the bytes of each range. Raises UsageError for what is no message, or not all of one."""
    try:
        [length] = _LENGTH.unpack_from(data)
        head = _decode_head(data[_LENGTH.size : _LENGTH.size + length])
    except (struct.error, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"the batch can't be read: {error}") from error
    parts, at = [], _LENGTH.size + length
    for each in head.ranges:
        if each.offset < 0 or each.count < 0:
            raise UsageError(f"the range of {each.name[:100]!r} has an offset or length below zero")
        parts.append(data[at : at + each.count])
        at += each.count
    if at != len(data):
        raise UsageError(f"the batch has {len(data):,} bytes, and its head speaks of {at:,}")
    return head, parts
