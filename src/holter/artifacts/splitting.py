"""Where a file is divided into pieces, so that what did not change between two versions is kept once.

A tensor of safetensors or of torch's zip is a piece of its own. Whatever lies between, headers included, is kept too:
put together again the parts are the file, bit for bit, whatever is in it.
"""

import json
import struct
import zipfile
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, BinaryIO

SMALL_BYTES = 64 << 10
"""What is smaller shares a piece with others."""
LARGEST_BYTES = 16 << 20
"""What is larger is divided: so much is sent at once, and held in memory."""
_MOST_HEADER = 100 << 20
_LOCAL_HEADER = struct.Struct("<26sHH")
ODD = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    struct.error,
    zipfile.BadZipFile,
)
"""What a header raises that is not as it should be, however deep or large what it says is."""
_ZIP = b"PK\x03\x04"


def parts_of(file: BinaryIO, size: int) -> list[int]:
    """The lengths of a file's parts, in order; together they are its size. Raises OSError."""
    cuts = {0, size}
    if size > SMALL_BYTES:
        for start, end in tensors_of(file, size):
            if end - start >= SMALL_BYTES:
                cuts |= {start, end}
    ordered = sorted(cuts)
    return [part for start, end in pairwise(ordered) for part in _divided(end - start)]


def _divided(length: int) -> Iterator[int]:
    while length > LARGEST_BYTES:
        yield LARGEST_BYTES
        length -= LARGEST_BYTES
    if length:
        yield length


def tensors_of(file: BinaryIO, size: int) -> list[tuple[int, int]]:
    """Where tensors begin and end, if it is a file that has some and says so in an order that can be."""
    head = file.read(16)
    file.seek(0)
    try:
        found = list(_zip_members(file) if head.startswith(_ZIP) else _safetensors(file, head, size))
    except ODD:
        return []
    finally:
        file.seek(0)
    found.sort()
    end = 0
    for start, stop in found:
        if not end <= start <= stop <= size:
            return []
        end = stop
    return found


def read_header(file: BinaryIO, size: int) -> dict[str, dict[str, Any]]:
    """Names, shapes and dtypes of a safetensors file, empty where it is none. Raises ValueError."""
    head = file.read(8)
    length = struct.unpack("<Q", head)[0] if len(head) == 8 else 0
    if not 2 <= length <= min(size - 8, _MOST_HEADER):
        return {}
    header = json.loads(file.read(length))
    return header if isinstance(header, dict) else {}


def _safetensors(file: BinaryIO, head: bytes, size: int) -> Iterator[tuple[int, int]]:
    length = struct.unpack_from("<Q", head)[0]
    if not 2 <= length <= min(size - 8, _MOST_HEADER) or head[8:9] != b"{":
        return
    for name, tensor in read_header(file, size).items():
        if name != "__metadata__":
            start, end = _offsets(tensor)
            yield 8 + length + start, 8 + length + end


def _offsets(tensor: dict[str, Any]) -> tuple[int, int]:
    start, end = tensor["data_offsets"]  # whatever else it is raises what the caller knows
    return int(start), int(end)


def _zip_members(file: BinaryIO) -> Iterator[tuple[int, int]]:
    """The members that are stored as they are: torch compresses nothing."""
    with zipfile.ZipFile(file) as archive:
        members: Iterable[zipfile.ZipInfo] = archive.infolist()
    for member in members:
        if member.compress_type == zipfile.ZIP_STORED and member.file_size >= SMALL_BYTES:
            file.seek(member.header_offset)
            _, name, extra = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
            start = member.header_offset + _LOCAL_HEADER.size + name + extra
            yield start, start + member.file_size
