"""The files of a run: those in its directory and those that were uploaded; names from outside never leave it."""

import errno
import mimetypes
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from holter.errors import NoRun, UsageError
from holter.journal.kept_files import PARTIAL
from holter.journal.spool import FOLDER as SPOOL
from holter.journal.stop_request import NAME as STOP_REQUEST
from holter.storage.opening import Storage

MOST_FILES = 10_000
MOST_NAME = 1024
_HIDDEN = (".seg", ".idx", ".lock", PARTIAL)
_TEXT = frozenset(
    ".cfg .conf .csv .diff .ini .ipynb .json .jsonl .log .md .patch .py .rst .sh .toml .tsv .txt .yaml .yml".split()
)
_SHOWN_AS_THEY_ARE = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/avif")


class RunFile(msgspec.Struct, frozen=True):
    """A file of a run. `kind` says how to show it: text, image, audio, video, html or other."""

    path: str
    size: int
    changed_at: float | None
    kind: str
    is_upload: bool = False


def list_files(storage: Storage, run: str, *, directory: str) -> list[RunFile]:
    """All files of a run but its journals, by path."""
    found = {each.path: each for each in _in_directory(directory)}
    for path, digest in storage.blobs.attached(run).items():
        size = storage.blobs.size(digest)
        if path not in found and size is not None:
            found[path] = RunFile(path, size, None, kind_of(path), is_upload=True)
    return sorted(found.values(), key=lambda each: each.path)[:MOST_FILES]


def open_file(directory: str, path: str) -> BinaryIO:
    """A regular file below a run's directory, whatever its name says: no step leads out of it, through no link.

    Raises UsageError for a name that can't be one, NoRun where there is no such file, OSError where nobody can look.
    """
    *folders, name = checked_name(path).split("/")
    try:
        fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for folder in folders:
            fd = _step(fd, folder, os.O_DIRECTORY)
        # What is a pipe must not make us wait.
        file = os.fdopen(_step(fd, name, os.O_NONBLOCK), "rb", buffering=0)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise
        raise NoRun(f"there is no file {path[:200]!r} in this run") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) or is_hidden(name):
        file.close()
        raise NoRun(f"there is no file {path[:200]!r} in this run")
    return file


def checked_name(path: str) -> str:
    """A relative path without steps upwards. Raises UsageError."""
    parts = path.split("/")
    if len(path) > MOST_NAME or "\0" in path or "\\" in path or any(part in ("", ".", "..") for part in parts):
        raise UsageError(f"{path[:200]!r} can't be the name of a file: it must be relative, with no '.' or '..' in it")
    return path


def is_hidden(name: str) -> bool:
    """Whether a file is none for accounts: journals, indexes, what is half written."""
    return name.endswith(_HIDDEN) or name.startswith(".") or name == STOP_REQUEST


def kind_of(path: str) -> str:
    """How to show a file, by its name."""
    media = media_of(path)
    if media in ("text/html", "image/svg+xml"):
        return "html"
    for kind in ("text", "image", "audio", "video"):
        if media.startswith(f"{kind}/"):
            return kind
    return "other"


def media_of(path: str) -> str:
    """The type under which a file is sent: text that browsers might take for something else is plain text."""
    ending = os.path.splitext(path)[1].lower()
    if ending in _TEXT:
        return "text/plain"
    media = mimetypes.guess_type(path)[0] or "application/octet-stream"
    if media in ("text/html", "image/svg+xml", *_SHOWN_AS_THEY_ARE) or media.startswith(("audio/", "video/")):
        return media
    return "text/plain" if media.startswith("text/") else "application/octet-stream"


def _in_directory(directory: str) -> Iterator[RunFile]:
    count = 0
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and (folder, name) != (directory, SPOOL)
        )
        for name in sorted(names):
            full = os.path.join(folder, name)
            try:
                status = os.lstat(full)
            except OSError:  # removed meanwhile
                continue
            if not stat.S_ISREG(status.st_mode) or is_hidden(name):
                continue
            path = os.path.relpath(full, directory).replace(os.sep, "/")
            yield RunFile(_shown(path), status.st_size, status.st_mtime, kind_of(path))
            count += 1
            if count >= MOST_FILES:
                return


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _step(fd: int, name: str, flags: int) -> int:
    """Open what is below an open directory, which is closed, and never through a link."""
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=fd)
    finally:
        os.close(fd)
