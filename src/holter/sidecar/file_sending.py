"""Sends the files of a run that are no journals and no texts that grow: whole or not at all, and once."""

import hashlib
import os
import stat
from collections.abc import Generator, Iterable, Iterator, Mapping

import msgspec

from holter.errors import Refused
from holter.journal.kept_files import PARTIAL
from holter.journal.spool import FOLDER as SPOOL
from holter.journal.stop_request import NAME as STOP_REQUEST
from holter.model.media_records import FOLDER
from holter.sidecar.sending import TEXT
from holter.wire.batches import MEDIA_TYPE, HeldFile
from holter.wire.connection import Connection, quoted

PART_BYTES = 4 << 20
LEVEL = 1
MOST_NAME = 1024
MEDIA = f"{FOLDER}/"
_HIDDEN = (".seg", ".idx", ".lock", PARTIAL)


class KeptFile(msgspec.Struct, frozen=True):
    """How much of a file the server has."""

    offset: int
    is_complete: bool


class FileSender:
    """Sends each file when it has come to rest, and again when it changed. Used by one thread."""

    def __init__(self, directory: str, *, connection: Connection) -> None:
        self.refused: dict[str, str] = {}
        """What the server does not take, and why."""
        self._directory = directory
        self._connection = connection
        self._seen: dict[str, tuple[int, int]] = {}
        self._sent: dict[str, tuple[int, int]] = {}

    def send(self, run: str, held: Mapping[str, HeldFile], *, is_final: bool = False) -> Iterator[int]:
        """Send what has not changed since the last call, or all of it; yields the bytes of each part that is sent.

        Raises Refused, Unreachable, OSError.

        Args:
            run: its id on the server.
            held: what the server has, as far as it said.
            is_final: nobody changes the files any more.
        """
        for name, state in _in_order(_files(self._directory)):
            # Media are whole as soon as they have their name.
            is_at_rest = is_final or name.startswith(MEDIA) or self._seen.get(name) == state
            self._seen[name] = state
            if not is_at_rest or self._sent.get(name) == state or name in self.refused:
                continue
            try:
                if (yield from self._send(run, name, held.get(name))):
                    self._sent[name] = state
            except FileNotFoundError:  # removed meanwhile
                continue
            except Refused as error:
                if error.status in (400, 405, 413, 414):  # of this one; others may be taken
                    self.refused[name] = str(error)
                elif error.status != 422:  # it changed while it was read: another time
                    raise

    def _send(self, run: str, name: str, held: HeldFile | None, /) -> Generator[int, None, bool]:
        """Returns whether the server has all of it."""
        import zstandard

        packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        with open(os.path.join(self._directory, name), "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            total = file.tell()
            if held is not None and held.sha256 == digest:
                return True
            path = f"/ingest/{quoted(run)}/files/{'/'.join(map(quoted, name.split('/')))}"

            def put(offset: int, data: bytes) -> KeptFile:
                query = {"offset": offset, "total": total, "sha256": digest}
                answer = self._connection.ask("PUT", path, query=query, data=packer.compress(data), media=MEDIA_TYPE)
                kept: KeptFile = answer.json(KeptFile)
                return kept

            # Of a large one the server may have a part already, from before one of us died.
            have = put(0, b"") if total > PART_BYTES else KeptFile(0, is_complete=False)
            while not have.is_complete:
                data = os.pread(file.fileno(), min(PART_BYTES, total - have.offset), have.offset)
                before, have = have.offset, put(have.offset, data)
                if have.offset <= before and not have.is_complete and data:
                    return False  # somebody else sends it, or nothing arrives: another time
                yield max(0, have.offset - before)
        return True


def _in_order(files: Iterable[tuple[str, tuple[int, int]]]) -> list[tuple[str, tuple[int, int]]]:
    """Media last, and of those the newest first: what somebody looks at now."""
    found = list(files)
    media = sorted((each for each in found if each[0].startswith(MEDIA)), key=lambda each: each[1][1], reverse=True)
    return [each for each in found if not each[0].startswith(MEDIA)] + media


def _files(directory: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Regular files by their names below the directory, each with its size and time."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not _is_spool(folder, directory, name)
        )
        for name in sorted(names):
            full = os.path.join(folder, name)
            path = os.path.relpath(full, directory)
            if _is_ours(path, name):
                continue
            try:
                status = os.lstat(full)
                path.encode()
            except (OSError, UnicodeEncodeError):  # removed meanwhile; or a name that no URL can have
                continue
            if stat.S_ISREG(status.st_mode):
                yield path, (status.st_size, status.st_mtime_ns)


def _is_spool(folder: str, directory: str, name: str) -> bool:
    """What waits there is sent when it is made."""
    return folder == directory and name == SPOOL


def _is_ours(path: str, name: str) -> bool:
    is_text = path == name and TEXT.fullmatch(name) is not None
    is_hidden = name.endswith(_HIDDEN) or name.startswith(".") or name == STOP_REQUEST
    return is_text or is_hidden or len(path) > MOST_NAME or "\\" in path
