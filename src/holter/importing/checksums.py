"""Compares the checksums of many events of TensorBoard at once: those of one size side by side."""

from collections.abc import Sequence

import numpy as np

from holter.formats.event_files import LARGEST_CHECKED, Frame, crc_tables, damaged_of

FEWEST = 16
"""Of fewer events of one size each is checked by itself."""
MOST_CELLS = 1 << 22


def damaged_among(data: bytes, frames: Sequence[Frame]) -> set[int]:
    """The same as `damaged_of`, for a tenth of the time."""
    if not frames:
        return set()
    starts, sizes = np.array(frames, dtype=np.int64).T
    found: set[int] = set()
    for size in np.unique(sizes[sizes <= LARGEST_CHECKED]).tolist():
        places = np.flatnonzero(sizes == size)
        for part in np.array_split(places, -(-len(places) * (size + 4) // MOST_CELLS)):
            if len(part) < FEWEST:
                several = part.tolist()
                found |= {several[place] for place in damaged_of(data, [frames[place] for place in several])}
            else:
                found |= set(part[_differ(data, starts[part], size)].tolist())
    return found


def _differ(
    data: bytes, starts: "np.ndarray[tuple[int], np.dtype[np.int64]]", size: int
) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    one, two = (np.array(table, dtype=np.uint32) for table in crc_tables())
    rows = np.frombuffer(data, dtype=np.uint8)[starts[:, None] + np.arange(size + 4)]
    crc = np.full(len(starts), 0xFFFFFFFF, dtype=np.uint32)
    columns = np.ascontiguousarray(rows.T)
    for at in range(0, size - 1, 2):
        pair = columns[at].astype(np.uint32) | columns[at + 1].astype(np.uint32) << np.uint32(8)
        crc = two[(crc ^ pair) & 0xFFFF] ^ crc >> np.uint32(16)
    if size % 2:
        crc = one[(crc ^ columns[size - 1]) & 0xFF] ^ crc >> np.uint32(8)
    crc ^= np.uint32(0xFFFFFFFF)
    masked = (crc >> np.uint32(15) | crc << np.uint32(17)) + np.uint32(0xA282EAD8)
    kept = np.ascontiguousarray(columns[size:].T).view("<u4").ravel()
    return np.asarray(masked != kept)
