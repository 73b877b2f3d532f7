"""Files as training programs write them, made without the libraries that would."""

import json
import os
import random
import struct
import zipfile
from pathlib import Path

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


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


def sources(folder: Path) -> list[Source]:
    found = (Path(above) / name for above, _, names in os.walk(folder) for name in names)
    return [Source(str(path.relative_to(folder)), str(path)) for path in found]


def keep(store: Store, folder: Path, name: str = "model", *, at_ns: int = 1, **wanted: object) -> str:
    """Seal a folder; returns its version."""
    asked = Wanted(project="p", name=name, type="model", at_ns=at_ns, **wanted)  # type: ignore[arg-type]  # the test's
    return seal(store, sources(folder), asked).name
