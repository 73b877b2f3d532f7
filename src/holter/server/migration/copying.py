"""Copies what a run has from one storage to another; whatever is there already is left, so it may be done again."""

import functools
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping

from holter.errors import JournalError, StorageError, UsageError
from holter.journal.reader import scan
from holter.journal.rundir import list_segments, make_private, run_directory
from holter.server.ingest.copies import part_of
from holter.server.migration.digests import PIECE_BYTES
from holter.server.query.run_files import list_files, open_file
from holter.storage.blobs import BlobStore
from holter.storage.journals import JournalStore, is_transcript_file
from holter.storage.opening import Storage
from holter.storage.settings import SettingStore
from holter.storage.sweeps import Lines, SweepStore


def whole_sizes(data: str, journals: JournalStore, run: str, /) -> dict[str, int]:
    """How much there is of a run's journals and texts in a data directory, without room reserved behind them."""
    held = journals.held(run)
    found = {name: min(size, _written(data, run, name, size)) for name, size in held.journals.items()}
    return {name: size for name, size in (found | held.texts).items() if size}


def _written(data: str, run: str, journal: str, size: int, /) -> int:
    with open(list_segments(run_directory(data, run))[journal][-1], "rb") as file:
        segment = file.read()
    try:
        found = scan(segment)
    except JournalError:
        return size
    if found.header is None or segment[found.end :].strip(b"\0"):
        return size
    return found.header.base + found.end


def copy_journals(source: JournalStore, target: JournalStore, run: str, sizes: Mapping[str, int], /) -> dict[str, str]:
    """Bring the journals and texts of a run there; returns those that are refused as damaged, with the reason.

    Raises StorageError, OSError.
    """
    held, refused = target.held(run), {}
    for name, size in sizes.items():
        have = held.journals.get(name, held.texts.get(name, 0))
        while have < size:
            data = source.read(run, name, start=have, stop=min(size, have + PIECE_BYTES))
            [answer] = target.accept_all([part_of(run, name, have, data)])
            if isinstance(answer, UsageError | JournalError):
                refused[name] = str(answer)
                break
            if not isinstance(answer, int):
                raise answer
            if answer <= have:
                raise StorageError(f"{name} of run {run} is not taken from {have:,} on: run it again")
            have = answer
    return refused


def copy_blob(source: BlobStore, target: BlobStore, digest: str, /) -> None:
    """Bring a blob there. Raises NoBlob, DigestMismatch, StorageError, OSError."""
    if target.size(digest) is None:
        at = 0
        while piece := source.read(digest, start=at, count=PIECE_BYTES):
            at = _staged(target, digest, piece, at)
        if not at:
            target.stage(digest, b"", offset=0)
        target.seal(digest)


def loose_files(storage: Storage, data: str, run: str, /) -> Iterator[str]:
    """The paths of files that lie in a run's directory, and neither were sent nor are texts of its console."""
    for file in list_files(storage, run, directory=run_directory(data, run)):
        if not file.is_upload and not is_transcript_file(file.path):
            yield file.path


def copy_loose_file(data: str, target: BlobStore, run: str, path: str, /) -> str:
    """Make a blob of a file in a run's directory; returns its digest. Raises NoRun, StorageError, OSError."""
    with open_file(run_directory(data, run), path) as file:
        found = hashlib.sha256()
        while piece := file.read(PIECE_BYTES):
            found.update(piece)
        digest = found.hexdigest()
        if target.size(digest) is None:
            at = file.seek(0)
            while piece := file.read(PIECE_BYTES):
                at = _staged(target, digest, piece, at)
                file.seek(at)
            if not at:
                target.stage(digest, b"", offset=0)
            target.seal(digest)
    return digest


def _staged(target: BlobStore, digest: str, piece: bytes, at: int, /) -> int:
    have = target.stage(digest, piece, offset=at)
    if have <= at:
        raise StorageError(f"the blob {digest} is not taken from {at:,} on: run it again")
    return have


def copy_settings(source: SettingStore, target: SettingStore) -> int:
    """Bring all that people set there, in the place of what is there; returns how many sets there are.

    Raises StorageError.
    """
    count = 0
    for project, owner in source.owners():
        sets = source.get(project, owner)
        gone: dict[str, None] = dict.fromkeys(target.get(project, owner).keys() - sets.keys())
        if target.get(project, owner) != sets:
            target.merge(project, owner, changes={**dict.fromkeys(sets), **gone})
            target.merge(project, owner, changes=sets)
        if target.get(project, owner) != sets:
            raise StorageError(f"the settings of {owner!r} in {project!r} are not what was written: run it again")
        count += len(sets)
    return count


def copy_sweeps(source: SweepStore, target: SweepStore) -> int:
    """Bring the books of sweeps there, and what is new in those that are there; returns how many there are. Agents say
    by themselves that they are alive.

    Raises StorageError, JournalError, OSError.
    """
    there = set(target.names())
    for name in source.names():
        lines = source.open(name).read(0).lines
        if name not in there:
            target.begin(name, lines)
        found = target.open(name)
        have = found.read(0)
        found.append(have.stop, functools.partial(_following, lines[len(have.lines) :]))
        if found.read(0).lines != lines:
            raise StorageError(f"the sweep {name} has other lines there: empty the places and begin anew")
    return len(source.names())


def _following(rest: list[bytes], before: Lines) -> list[bytes]:
    return rest if not before.lines else []


def copy_files(source: str, target: str, *, leave: frozenset[str]) -> None:
    """Bring the other files of a data directory to a new one, and look whether they are the same. Raises OSError."""
    for path, name in _files(source, leave):
        place = os.path.join(target, name)
        make_private(os.path.dirname(place))
        shutil.copy2(path, place, follow_symlinks=False)
        if os.path.isfile(path) and not os.path.islink(path) and _file_digest(path) != _file_digest(place):
            raise StorageError(f"{place} is not what {path} is: look at the disk, and run it again")


def _files(source: str, leave: frozenset[str]) -> Iterator[tuple[str, str]]:
    for folder, folders, names in os.walk(source):
        folders[:] = [each for each in folders if os.path.relpath(os.path.join(folder, each), source) not in leave]
        for each in names:
            path = os.path.join(folder, each)
            name = os.path.relpath(path, source)
            if name not in leave and not each.endswith(".lock"):
                yield path, name


def _file_digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
