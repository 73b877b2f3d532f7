"""Files as training programs write them, made without the libraries that would."""

import json
import os
import random
import struct
import zipfile
from pathlib import Path

import zstandard

from holter.artifacts.sealing import seal
from holter.artifacts.store import Store
from holter.artifacts.wishes import Source, Wanted


def write_safetensors(path: Path, tensors: dict[str, bytes]) -> None:
    header, at = {}, 0
    for name, data in tensors.items():
        header[name] = {"dtype": "U8", "shape": [len(data)], "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(tensors.values()))


def write_torch_zip(path: Path, storages: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("archive/data.pkl", repr(sorted(storages)).encode())
        for name, data in storages.items():
            archive.writestr(f"archive/data/{name}", data)


def write_ocdbt(
    folder: Path, files: list[str], *, levels: int = 1, above: str = "", kind: int = 0, is_packed: bool = False
) -> None:
    """A database whose newest version has a byte of each of these files.

    Args:
        levels: of its tree.
        above: that folder of it in which the nodes lie; names of files begin there.
        kind: that of the manifest, 0 for one that has all versions.
    """

    def kept(magic: bytes, body: bytes) -> bytes:
        body = zstandard.compress(body) if is_packed else body
        return struct.pack("<4sQBB", magic, len(body) + 18, 0, is_packed) + body + bytes(4)

    def table(names: list[str], above: str = "") -> bytes:
        sizes = bytes(len(name) for name in names)
        heads = bytes([len(names)]) + bytes(len(names[1:])) + sizes + bytes(len(above) for _ in names)
        return heads + "".join(names).encode()

    magic, many, nodes = b"\x0c\xdb\x20\xde", len(files), b""
    keys = bytes([many]) + bytes(len(files[1:])) + b"\1" * many + b"abcdefgh"[:many]
    body = b"\0" + table(files) + keys + b"\1" * many * 2 + bytes(range(many)) + bytes(many)
    for height in range(1, levels):
        at, nodes = len(nodes), nodes + kept(magic, body)
        # One child: its key, where it lies, and what it counts.
        child = bytes([1, 1, 0]) + b"a" + bytes([0, at, len(nodes) - at, many, 0, 0])
        body = bytes([height]) + table(["d/node"]) + child
    at, nodes = len(nodes), nodes + kept(magic, body)
    (folder / above / "d").mkdir(parents=True, exist_ok=True)
    (folder / above / "d" / "node").write_bytes(nodes)
    version = bytes([1, 1, levels - 1, 0, at, len(nodes) - at, many, 0, 0]) + bytes(8)
    about = bytes(16) + bytes([kind, 0, 0]) + b"\4\0"
    manifest = about + (table([f"{above}d/node"], above) + version + b"\0" if kind == 0 else b"")
    (folder / "manifest.ocdbt").write_bytes(kept(b"\x0c\xdb\x3a\x2a", manifest))


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def sources(folder: Path) -> list[Source]:
    found = (Path(above) / name for above, _, names in os.walk(folder) for name in names)
    return [Source(str(path.relative_to(folder)), str(path)) for path in found]


def keep(store: Store, folder: Path, name: str = "model", *, at_ns: int = 1, **wanted: object) -> str:
    """Seal a folder; returns its version."""
    asked = Wanted(project="p", name=name, type="model", at_ns=at_ns, **wanted)  # type: ignore[arg-type]  # the test's
    return seal(store, sources(folder), asked).name
