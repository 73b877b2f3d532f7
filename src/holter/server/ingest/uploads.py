"""The names of a run's uploaded files, written down in its directory: the index has them from here."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from holter.errors import NoBlob
from holter.journal.line_files import append_line
from holter.journal.rundir import is_run_id, run_directory

if TYPE_CHECKING:
    from holter.storage.blobs import BlobStore

NAME = ".uploads.jsonl"
"""Hidden: it is no file for people, and senders leave such out."""


class Named(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a run and the digest of its bytes; a later line for the same path holds."""

    path: str
    sha256: str


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Named).decode


def name_upload(directory: str, path: str, *, digest: str) -> None:
    """Write down a name, on disk when this returns; the blob must be sealed before. Raises OSError."""
    append_line(os.path.join(directory, NAME), _encode(Named(path=path, sha256=digest)))


def lines_of(names: Mapping[str, str]) -> bytes:
    """The file, with all of these. Pure."""
    return b"".join(b"%b\n" % _encode(Named(path=path, sha256=digest)) for path, digest in names.items())


def read_uploads(directory: str) -> dict[str, str]:
    """Digests by path; what can't be read of it is left out."""
    try:
        with open(os.path.join(directory, NAME), "rb") as file:
            lines = file.read().split(b"\n")
    except OSError:
        return {}
    found = {}
    for line in filter(None, lines):
        try:
            named = _decode(line)
        except msgspec.MsgspecError:
            continue
        found[named.path] = named.sha256
    return found


def name_all(data: str, blobs: "BlobStore") -> int:
    """Give all uploaded files of a data directory their names in the index again; returns how many."""
    try:
        runs = [name for name in os.listdir(os.path.join(data, "runs")) if is_run_id(name)]
    except FileNotFoundError:
        return 0
    count = 0
    for run in runs:
        known = blobs.attached(run)
        for path, digest in read_uploads(run_directory(data, run)).items():
            if known.get(path) != digest:
                try:
                    blobs.attach(run, {path: digest})
                except NoBlob:  # its bytes are lost: the sender has to come again
                    continue
            count += 1
    return count
