"""Which data files an OCDBT database needs, and how much of each: TensorStore's format, read without it.

A value whose data file is missing is read as an empty one, and nobody is told: an array is restored with zeros.
https://google.github.io/tensorstore/kvstore/ocdbt/index.html#storage-format
"""

import os
import struct

import msgspec

_HEAD = struct.Struct("<4sQBB")
_MANIFEST, _NODE = b"\x0c\xdb\x3a\x2a", b"\x0c\xdb\x20\xde"
_NOWHERE = (1 << 64) - 1


class _File(msgspec.Struct, frozen=True):
    path: str
    folder: str
    """That to which names in the nodes of this file are relative."""


class _Reader:
    """Walks over what lies behind a header. Raises ValueError where it ends too soon."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            raise ValueError("it ends too soon")
        return self._data[self._at - count : self._at]

    def number(self) -> int:
        value = shift = 0
        while True:
            [byte] = self.take(1)
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def numbers(self, count: int) -> list[int]:
        return [self.number() for _ in range(count)]

    def files(self, folder: str) -> list[_File]:
        """Each name begins with so much of the one before, and with so much that is a folder."""
        count = self.number()
        shared = [0, *self.numbers(count - 1)] if count else []
        own, folders = self.numbers(count), self.numbers(count)
        found, last = list[_File](), b""
        for same, more, above in zip(shared, own, folders, strict=True):
            last = last[:same] + self.take(more)
            path, above_it = os.fsdecode(last), os.fsdecode(last[:above])
            found.append(_File(os.path.join(folder, path), os.path.join(folder, above_it)))
        return found


def needed_files(folder: str) -> dict[str, int]:
    """Each data file that the newest version of a database needs, with the bytes that it must have at least.

    Empty where a TensorStore wrote it that is newer than this. Raises ValueError, LookupError, struct.error and OSError
    where the manifest, or a node that is there, is damaged.
    """
    with open(os.path.join(folder, "manifest.ocdbt"), "rb") as opened:
        manifest = _opened(opened.read(), _MANIFEST)
    root = _root(manifest, folder) if manifest is not None else None
    found: dict[str, int] = {}
    pending = [root] if root is not None else []
    while pending:
        file, start, length, height = pending.pop()
        found[file.path] = max(found.get(file.path, 0), start + length)
        if not os.path.isfile(file.path) or os.stat(file.path).st_size < start + length:
            continue  # whoever asked finds that by itself
        with open(file.path, "rb") as opened:
            opened.seek(start)
            node = _opened(opened.read(length), _NODE)
        if node is None:
            return {}
        if node.take(1) != bytes([height]):
            raise ValueError("a node is not where it should be")
        files = node.files(file.folder)
        for number, at, size in _places(node, is_leaf=not height):
            if height:
                pending.append((files[number], at, size, height - 1))
            else:
                found[files[number].path] = max(found.get(files[number].path, 0), at + size)
    return found


def _root(manifest: _Reader, folder: str) -> tuple[_File, int, int, int] | None:
    """File, offset, length and height of the newest version's; None where it has no values, or others know of it."""
    manifest.take(16)
    kind, _, _ = manifest.numbers(3)
    manifest.take(1)
    if manifest.number():
        manifest.take(4)
    if kind:  # the versions lie in files of their own
        return None
    files, versions = manifest.files(folder), manifest.number()
    manifest.numbers(versions)
    heights = manifest.take(versions)
    ids, starts, lengths = (manifest.numbers(versions) for _ in range(3))
    return None if starts[-1] == _NOWHERE else (files[ids[-1]], starts[-1], lengths[-1], heights[-1])


def _places(node: _Reader, *, is_leaf: bool) -> list[tuple[int, int, int]]:
    """Number of the file, offset and length: of the nodes below, or of the values that are not in the node itself."""
    count = node.number()
    node.numbers(count - 1)
    keys = sum(node.numbers(count))
    if not is_leaf:
        node.numbers(count)
    node.take(keys)
    if not is_leaf:
        return list(zip(*(node.numbers(count) for _ in range(3)), strict=True))
    sizes, kinds = node.numbers(count), node.take(count)
    outside = [size for size, kind in zip(sizes, kinds, strict=True) if kind]
    numbers, starts = node.numbers(len(outside)), node.numbers(len(outside))
    return list(zip(numbers, starts, outside, strict=True))


def _opened(data: bytes, magic: bytes) -> _Reader | None:
    """What lies behind the header; None where a newer TensorStore wrote it."""
    found, length, version, compression = _HEAD.unpack_from(data)
    if found != magic or length != len(data):
        raise ValueError("it is not whole")
    if version or compression > 1:
        return None
    body = data[_HEAD.size : -4]
    if not compression:
        return _Reader(body)
    import zstandard

    try:
        return _Reader(zstandard.ZstdDecompressor().decompressobj().decompress(body))
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
