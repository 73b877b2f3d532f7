"""Finds the whole records of a segment, also in one that is torn, damaged or still being written."""

import zlib
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from holter.errors import JournalError, NewerJournal
from holter.journal.frame import (
    HEAD,
    HEADER_SIZE,
    OVERHEAD,
    RESIDUE,
    SYNC,
    SYNC_BYTES,
    TAIL,
    Header,
    decode_header,
)

# How many heads are compared at once at first.
_AHEAD = 32


class Frame(NamedTuple):
    """Where a record lies in its segment: its head begins at `at`, its payload ends at `stop`."""

    kind: int
    at: int
    stop: int


class Stretch(NamedTuple):
    """Frames of one kind and size that lie side by side from `at` on; `size` is that of one with its checksum."""

    kind: int
    at: int
    size: int
    repeats: int

    def frames(self) -> Iterator[Frame]:
        """Each of them."""
        length = self.size - TAIL.size
        return (
            Frame(self.kind, at, at + length) for at in range(self.at, self.at + self.repeats * self.size, self.size)
        )


class Skipped(msgspec.Struct, frozen=True):
    """Bytes that are not whole records. A `torn` tail of a living journal only means: not yet."""

    start: int
    stop: int
    torn: bool


class Scan(msgspec.Struct, frozen=True):
    """What a segment holds, in order. `end` is where the next record would go; a damaged header is None."""

    header: Header | None
    stretches: list[Stretch]
    end: int
    skipped: list[Skipped]

    @property
    def frames(self) -> list[Frame]:
        """Each record by itself."""
        return [frame for stretch in self.stretches for frame in stretch.frames()]


def scan(data: bytes) -> Scan:
    """All whole records of a segment, whatever happened to it.

    Raises JournalError where there is neither a header nor any whole record, NewerJournal where we are too old.
    """
    try:
        header = decode_header(data)
    except NewerJournal:
        raise
    except JournalError:
        stretches, end, skipped = crawl(data, 0)
        if not stretches:
            raise
        return Scan(None, stretches, end, skipped)
    stretches, end = hop(data, HEADER_SIZE)
    if is_sound(data, end):
        return Scan(header, stretches, end, [])
    return Scan(header, *crawl(data, HEADER_SIZE))


def hop(data: bytes, at: int) -> tuple[list[Stretch], int]:
    """Follow the heads from `at` on without looking at checksums, many equal ones at a time; also where they stop."""
    stretches: list[Stretch] = []
    unpack, append, total = HEAD.unpack_from, stretches.append, len(data)
    while at + OVERHEAD <= total:
        sync, kind, length = unpack(data, at)
        size = OVERHEAD + length
        following = at + size
        if sync != SYNC or following > total:
            break
        repeats = 1
        if data[at : at + HEAD.size] == data[following : following + HEAD.size]:
            repeats = _count_equal(data, at, size)
        append(Stretch(kind, at, size, repeats))
        at += repeats * size
    return stretches, at


def _count_equal(data: bytes, at: int, size: int) -> int:
    """How many frames from `at` on have the same head.

    Each byte of many heads at once: a slice with a stride costs a nanosecond for each. It looks twice as far ahead each
    time, so that it stays linear.
    """
    most, count, ahead = (len(data) - at) // size, 1, _AHEAD
    while count < most:
        start, looked = at + count * size, min(ahead, most - count)
        stop, equal = start + looked * size, looked
        for byte in range(HEAD.size):
            here, same = data[start + byte : stop : size], data[at + byte : at + byte + 1]
            if here != same * looked:
                equal = min(equal, looked - len(here.lstrip(same)))
        count += equal
        if equal < looked:
            break
        ahead *= 2
    return count


def whole(data: bytes) -> tuple[list[Stretch], int]:
    """The whole records with which bytes begin, and where they end: one checksum over all, if all is well."""
    stretches, end = hop(data, 0)
    if zlib.crc32(memoryview(data)[:end], RESIDUE) == RESIDUE:
        return stretches, end
    return walk(data, 0)


def walk(data: bytes, at: int) -> tuple[list[Stretch], int]:
    """The same from a place on, one checksum for each."""
    stretches = []
    while following := is_whole(data, at):
        stretches.append(Stretch(HEAD.unpack_from(data, at)[1], at, following - at, 1))
        at = following
    return stretches, at


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


def crawl(data: bytes, at: int) -> tuple[list[Stretch], int, list[Skipped]]:
    """Check every record from `at` on; behind damage, go on with the next place where a whole record begins."""
    stretches: list[Stretch] = []
    skipped: list[Skipped] = []
    while True:
        found, at = walk(data, at)
        stretches += found
        following = next_whole(data, at + 1)
        if following < 0:
            break
        skipped.append(Skipped(at, following, torn=False))
        at = following
    if not is_blank(data, at):
        skipped.append(Skipped(at, len(data.rstrip(b"\0")), torn=True))
    return stretches, at, skipped


def next_whole(data: bytes, start: int) -> int:
    """Where the next whole record begins, from `start` on; -1 where there is none."""
    while (start := data.find(SYNC_BYTES, start)) >= 0:
        if is_whole(data, start):
            return start
        start += 1
    return -1
