"""From a version back to files: each whole, or not there."""

import contextlib
import errno
import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator

from holter.artifacts.manifest import Entry, Manifest
from holter.errors import ArtifactDamaged, NoArtifact
from holter.journal.kept_files import PARTIAL

ReadPiece = Callable[[str], bytes]
"""The bytes of a piece by its digest, checked. Raises ArtifactDamaged."""
_HELD_PACKS = 4
_HELD_BELOW = 8 << 20


class Reading:
    """The files of one version. Reads each piece about once where files are asked for in order.

    Args:
        read: gives pieces, of a store here or on a server.
    """

    def __init__(self, manifest: Manifest, read: ReadPiece) -> None:
        self._manifest = manifest
        self._read = read
        self._held: OrderedDict[str, bytes] = OrderedDict()

    def parts(self, entry: Entry) -> Iterator[bytes | memoryview]:
        """The bytes of a file, in order. Raises ArtifactDamaged."""
        for span in entry.spans:
            data = self._piece(self._manifest.pieces[span.piece][0])
            if len(data) < span.offset + span.length:
                raise ArtifactDamaged(f"a part of {entry.path} is not in its piece")
            yield memoryview(data)[span.offset : span.offset + span.length]

    def _piece(self, digest: str) -> bytes:
        if digest in self._held:
            self._held.move_to_end(digest)
            return self._held[digest]
        data = self._read(digest)
        if len(data) <= _HELD_BELOW:
            self._held[digest] = data
            if len(self._held) > _HELD_PACKS:
                self._held.popitem(last=False)
        return data


def download(manifest: Manifest, read: ReadPiece, folder: str, /, *, only: Iterable[str] | None = None) -> list[str]:
    """Write a version's files below a folder; returns their paths. Raises OSError, ArtifactDamaged, NoArtifact.

    A folder that is not there yet appears whole; in one that is, each file does. References are left to the caller.
    """
    wanted = _wanted(manifest, only)
    reading = Reading(manifest, read)
    if only is None and not os.path.lexists(folder):
        try:
            return _download_folder(reading, wanted, folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
            # Another rank was quicker: the folder is whole, or somebody else's.
            wanted = [entry for entry in wanted if _differs(entry, folder)]
    return [_replace(reading, entry, os.path.join(folder, entry.path)) for entry in wanted]


def _wanted(manifest: Manifest, only: Iterable[str] | None) -> list[Entry]:
    entries = [entry for entry in manifest.entries if not entry.reference]
    if only is None:
        return entries
    names = set(only)
    if missing := names - {entry.path for entry in manifest.entries}:
        raise NoArtifact(f"there is no file {min(missing)!r} in it: `holter artifact ls --files` lists them")
    return [entry for entry in entries if entry.path in names]


def _download_folder(reading: Reading, entries: list[Entry], folder: str) -> list[str]:
    parent, name = os.path.split(os.path.abspath(folder))
    temporary = os.path.join(parent, f".{name[:200]}.{os.urandom(4).hex()}{PARTIAL}")
    os.makedirs(temporary)
    made = {temporary}
    try:
        for entry in entries:
            path = os.path.join(temporary, entry.path)
            if (above := os.path.dirname(path)) not in made:
                os.makedirs(above, exist_ok=True)
                made.add(above)
            with open(path, "xb", buffering=0) as file:
                _write(file.fileno(), reading.parts(entry))
        os.rename(temporary, folder)
    except BaseException:
        import shutil  # only failures need it

        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return [os.path.join(folder, entry.path) for entry in entries]


def _replace(reading: Reading, entry: Entry, path: str) -> str:
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
    temporary = os.path.join(folder, f".{name[:200]}.{os.urandom(4).hex()}{PARTIAL}")
    fd = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
    try:
        _write(fd, reading.parts(entry))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    finally:
        os.close(fd)
    return path


def _write(fd: int, parts: Iterable[bytes | memoryview]) -> None:
    for part in parts:
        view = memoryview(part)
        while view:
            view = view[os.write(fd, view) :]


def changed_files(manifest: Manifest, folder: str, *, only: Iterable[str] | None = None) -> list[str]:
    """Which of the files have to be written for a folder to have them as they are in the version. Raises NoArtifact."""
    return [entry.path for entry in _wanted(manifest, only) if _differs(entry, folder)]


def differences(manifest: Manifest, folder: str) -> list[str]:
    """Which files in a folder are not those of the version, in words; empty where all are. Raises OSError."""
    return [
        f"{entry.path}: {why}" for entry in manifest.entries if not entry.reference and (why := _differs(entry, folder))
    ]


def _differs(entry: Entry, folder: str) -> str:
    path = os.path.join(folder, entry.path)
    if not os.path.isfile(path):
        return "missing"
    size = os.stat(path).st_size
    if size != entry.bytes:
        return f"{size:,} bytes instead of {entry.bytes:,}"
    digests = []
    with open(path, "rb", buffering=0) as file:
        for span in entry.spans:
            data = file.read(span.length)
            digests.append(hashlib.sha256(data).hexdigest())
    if entry.digest.startswith("tree:"):
        found = "tree:" + hashlib.sha256("".join(digests).encode()).hexdigest()
    else:
        found = "sha256:" + (digests[0] if digests else hashlib.sha256().hexdigest())
    return "" if found == entry.digest else "other content"
