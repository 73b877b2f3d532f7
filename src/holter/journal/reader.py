"""Finds the whole records of a segment, also in one that is torn, damaged or still being written."""

import os
import zlib
from typing import NamedTuple

import msgspec

from holter.errors import JournalError, NewerJournal
from holter.journal.frame import (
    HEAD,
    HEADER_SIZE,
    LARGEST_RECORD,
    OVERHEAD,
    RESIDUE,
    SYNC,
    SYNC_BYTES,
    Header,
    decode_header,
)
from holter.model.records import FIRST_PACKED


class Frame(NamedTuple):
    """Where a record lies in its segment: its head begins at `at`, its payload ends at `stop`."""

    kind: int
    at: int
    stop: int


class Stretch(NamedTuple):
    """So many packed rows, all of one kind and size, one behind another from `at` on."""

    at: int
    size: int
    rows: int


class Skipped(msgspec.Struct, frozen=True):
    """Bytes that are not whole records. A `torn` tail of a living journal only means: not yet."""

    start: int
    stop: int
    torn: bool


class Scan(msgspec.Struct, frozen=True):
    """A segment's frames in order. `end` is where the next record would go; a damaged header is None."""

    header: Header | None
    frames: list[Frame]
    end: int
    skipped: list[Skipped]


def scan(data: bytes) -> Scan:
    """All whole records of a segment, whatever happened to it.

    Raises JournalError where there is neither a header nor any whole record, NewerJournal where we are too old.
    """
    try:
        header = decode_header(data)
    except NewerJournal:
        raise
    except JournalError:
        frames, end, skipped = _crawl(data, 0)
        if not frames:
            raise
        return Scan(None, frames, end, skipped)
    frames, end = hop(data, HEADER_SIZE)
    if is_sound(data, end):
        return Scan(header, frames, end, [])
    frames, end, skipped = _crawl(data, HEADER_SIZE)
    return Scan(header, frames, end, skipped)


def hop(data: bytes, at: int) -> tuple[list[Frame], int]:
    """Follow the heads from `at` on without looking at checksums; returns the frames and where they stop."""
    frames: list[Frame] = []
    size = len(data)
    unpack, append = HEAD.unpack_from, frames.append
    while at + OVERHEAD <= size:
        sync, kind, length = unpack(data, at)
        following = at + OVERHEAD + length
        if sync != SYNC or following > size:
            break
        append(Frame(kind, at, following - 4))
        at = following
    return frames, at


def hop_over(data: bytes) -> tuple[list[Frame], list[Stretch], int]:
    """The same from the beginning on; of rows of one kind in a row only the last has a frame, to read them faster."""
    frames: list[Frame] = []
    stretches: list[Stretch] = []
    at, size = 0, len(data)
    while at + OVERHEAD <= size:
        sync, kind, length = HEAD.unpack_from(data, at)
        whole = OVERHEAD + length
        if sync != SYNC or at + whole > size:
            break
        if kind >= FIRST_PACKED:
            first, head, last = at, data[at : at + HEAD.size], size - whole
            while (following := at + whole) <= last and data.startswith(head, following):
                at = following
            if at > first:
                stretches.append(Stretch(first, whole, (at - first) // whole))
        frames.append(Frame(kind, at, at + whole - 4))
        at += whole
    return frames, stretches, at


def is_sound(data: bytes, end: int) -> bool:
    """Whether everything up to `end` verifies, and nothing was ever written behind it: one checksum over all."""
    return zlib.crc32(memoryview(data)[:end], RESIDUE) == RESIDUE and is_blank(data, end)


def is_blank(data: bytes, start: int) -> bool:
    """Whether nothing was ever written behind `start` (reserved space reads as zeros)."""
    return data.count(0, start) == len(data) - start


def is_whole(data: bytes, at: int) -> int:
    """Where the record that begins at `at` ends, or 0 if there is no whole one."""
    if at + OVERHEAD > len(data):
        return 0
    sync, _, length = HEAD.unpack_from(data, at)
    following = int(at + OVERHEAD + length)
    if sync != SYNC or following > len(data):
        return 0
    return following if zlib.crc32(memoryview(data)[at:following], RESIDUE) == RESIDUE else 0


def read_records(fd: int, at: int, count: int, /) -> bytes:
    """So many bytes from a place on, or as many as the record there has. Raises OSError."""
    data = os.pread(fd, count, at)
    if len(data) >= HEAD.size:
        sync, _, length = HEAD.unpack_from(data)
        if sync == SYNC and len(data) < OVERHEAD + length <= LARGEST_RECORD:
            return os.pread(fd, OVERHEAD + length, at)
    return data


def _crawl(data: bytes, at: int) -> tuple[list[Frame], int, list[Skipped]]:
    """Check every record from `at` on; behind damage, go on with the next place where a whole record begins."""
    frames: list[Frame] = []
    skipped: list[Skipped] = []
    while at < len(data):
        if following := is_whole(data, at):
            frames.append(Frame(HEAD.unpack_from(data, at)[1], at, following - 4))
            at = following
            continue
        found = next_whole(data, at + 1)
        if found < 0:
            break
        skipped.append(Skipped(at, found, torn=False))
        at = found
    if not is_blank(data, at):
        skipped.append(Skipped(at, len(data.rstrip(b"\0")), torn=True))
    return frames, at, skipped


def next_whole(data: bytes, start: int) -> int:
    """Where the next whole record begins, from `start` on; -1 where there is none."""
    while (start := data.find(SYNC_BYTES, start)) >= 0:
        if is_whole(data, start):
            return start
        start += 1
    return -1
