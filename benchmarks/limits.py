"""The physical limit: what a `log()` that survives the death of its process cannot be cheaper than."""

import mmap
import os
import struct
import zlib
from importlib import import_module
from pathlib import Path

CHUNK_BYTES = 8 << 20
HEAD = struct.Struct("<II")  # length, checksum


class MappedLimit:
    """Encodes a row with msgpack and copies it into a reserved mapped file; no schema, no lock, no steps, no reader."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "limit"

    def load(self) -> None:
        self._encode = import_module("msgspec").msgpack.Encoder().encode

    def open(self) -> None:
        self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
        self._base = self._end = 0
        self._map()

    def log(self, row: dict[str, float], step: int) -> None:
        body = self._encode((step, row))
        start, size = self._end, len(body)
        if start + HEAD.size + size > CHUNK_BYTES:
            self._base += start & ~4095
            start &= 4095
            self._map()
        mapped = self._mapped
        mapped[start + HEAD.size : start + HEAD.size + size] = body
        HEAD.pack_into(mapped, start, size, zlib.crc32(body))
        self._end = start + HEAD.size + size

    def finish(self) -> None:
        self._mapped.close()
        os.ftruncate(self._fd, self._base + self._end)
        os.close(self._fd)

    def _map(self) -> None:
        os.posix_fallocate(self._fd, self._base, CHUNK_BYTES)
        self._mapped = mmap.mmap(self._fd, CHUNK_BYTES, offset=self._base)
