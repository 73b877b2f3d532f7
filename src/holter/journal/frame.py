"""The bytes of a segment: its header, and the frame around every record.

A frame is `sync, kind, length, payload, checksum`. Each checksum is a CRC-32 started at RESIDUE instead of zero.
The CRC-32 of anything followed by its own CRC-32 is always that same number, so the checksum of *any* sequence
of whole frames, header included, is RESIDUE again: a reader proves a whole segment with one call, also one that
is still being written, and no seal has to be computed when a segment is closed.
"""

import struct
import zlib

import msgspec

from holter.errors import JournalError, NewerJournal
from holter.model.record import Record
from holter.model.records import NUMBERS

RESIDUE = 0x2144DF1C
MAGIC = b"HOLTERJ\n"
VERSION = 1
SYNC = 0xF148
SYNC_BYTES = struct.pack("<H", SYNC)

HEAD = struct.Struct("<HHI")  # sync, kind, payload length
TAIL = struct.Struct("<I")  # checksum
ROW = struct.Struct("<HHIqQ")  # a packed row: head, step, time in ns; then the values
OVERHEAD = HEAD.size + TAIL.size
LARGEST_RECORD = 64 << 20
"""No frame has more bytes: a length that says so is damaged."""

_HEADER = struct.Struct("<8sHHI16sQQ12x")
HEADER_SIZE = _HEADER.size + TAIL.size

_encode = msgspec.msgpack.Encoder().encode


class Header(msgspec.Struct, frozen=True):
    """The start of a segment. `base` is the journal offset of its first byte."""

    journal: bytes
    segment: int
    base: int
    created_ns: int
    version: int = VERSION


def encode_header(header: Header) -> bytes:
    """The 64 bytes with which a segment begins, checksum included."""
    body = _HEADER.pack(
        MAGIC, header.version, HEADER_SIZE, header.segment, header.journal, header.base, header.created_ns
    )
    return sealed(body)


def decode_header(data: bytes) -> Header:
    """Raises JournalError where `data` does not begin with a whole header, NewerJournal where we are too old."""
    if len(data) < HEADER_SIZE or data[: len(MAGIC)] != MAGIC:
        raise JournalError("not a journal segment: it does not begin with the mark of one")
    # The checksum comes first: a flipped bit of the version is damage and not a newer holter.
    if zlib.crc32(data[:HEADER_SIZE], RESIDUE) != RESIDUE:
        raise JournalError("the segment's header is damaged")
    _, version, _, segment, journal, base, created_ns = _HEADER.unpack_from(data)
    if version > VERSION:
        raise NewerJournal(
            f"the journal has format {version}, this holter reads up to {VERSION}: "
            "a newer holter wrote it, upgrade with `pip install -U holter` to read it"
        )
    return Header(journal, segment, base, created_ns, version)


def sealed(body: bytes) -> bytes:
    """`body` with its checksum behind it."""
    return body + zlib.crc32(body, RESIDUE).to_bytes(4, "little")


def encode_record(record: Record) -> bytes:
    """The frame of a record, without its checksum (the writer adds that)."""
    return encode_body(NUMBERS[type(record)], _encode(record))


def encode_body(kind: int, payload: bytes) -> bytes:
    """A frame of that kind, without its checksum."""
    return HEAD.pack(SYNC, kind, len(payload)) + payload
