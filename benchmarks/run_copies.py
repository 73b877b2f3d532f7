"""Makes many run directories out of a real one, each a run of its own."""

import os
from pathlib import Path

import msgspec

from holter.journal.decoding import Decoder
from holter.journal.frame import TAIL, encode_record, sealed
from holter.journal.reader import scan
from holter.model.records import Described, Opened


def copy_run(original: Path, number: int) -> Path:
    """The same records under another id, name and start, in a new directory beside the original."""
    target = original.with_name(f"c{number:07d}")
    target.mkdir(mode=0o700)
    for path in original.iterdir():
        data = path.read_bytes()
        copied = renamed(data, target.name, number) if path.suffix == ".seg" else data
        fd = os.open(target / path.name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with open(fd, "wb") as file:
            file.write(copied)
    return target


def renamed(segment: bytes, run: str, number: int) -> bytes:
    """The segment of another run: what names the run is written anew, every other byte stays."""
    parts, done, decoder = [], 0, Decoder()
    for frame in scan(segment).frames:
        match decoder.decode(segment, frame):
            case Opened() as opened:
                changed = encode_record(msgspec.structs.replace(opened, run=run))
            case Described() as described:
                # A second apart, as runs are.
                started_ns = described.started_ns - number * 1_000_000_000
                changed = encode_record(msgspec.structs.replace(described, name=f"run-{number}", started_ns=started_ns))
            case _:
                continue
        parts += [segment[done : frame.at], sealed(changed)]
        done = frame.stop + TAIL.size
    return b"".join([*parts, segment[done:]])
