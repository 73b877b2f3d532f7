"""The files of a run."""

import os
import re
from collections.abc import AsyncIterator, Callable
from typing import Annotated
from urllib.parse import quote

import msgspec
from starlette.concurrency import run_in_threadpool

from holter.errors import NoRun, Refused
from holter.model.media_records import FOLDER
from holter.server.api.runs import AskedRun
from holter.server.query.run_files import RunFile, checked_name, list_files, media_of, open_file
from holter.server.transport.routing import Reply, Route, Visit

CHUNK_BYTES = 256 << 10
# What a program or a colleague put there is shown, but does nothing: no script, no request, no origin.
SANDBOX = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; media-src 'self'"
# A page or figure that was logged may have scripts, alone in a frame: no origin, no network, nothing around it.
FRAMED = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline';"
    " img-src data: blob:; font-src data:; media-src data: blob:; form-action 'none'; base-uri 'none'"
)
MEDIUM = re.compile(rf"{FOLDER}/[0-9a-f]{{64}}\.[a-z0-9.]{{1,25}}")
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
Read = Callable[[int, int], bytes]


class RunFiles(msgspec.Struct, frozen=True):
    """By path."""

    files: list[RunFile]


class AskedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file; with `download` the browser saves it instead of showing it."""

    run: str
    path: Annotated[str, msgspec.Meta(max_length=1024)]
    download: bool = False


class Content(msgspec.Struct, frozen=True):
    """Bytes to send: how many there are, a name for this state of them, and how to read some."""

    size: int
    tag: str
    read: Read


def list_run_files(visit: Visit, asked: AskedRun) -> RunFiles:
    """The files of a run but its journals"""
    directory = visit.services.verdicts.files(asked.run)
    if not os.path.isdir(directory):
        raise NoRun(f"there is no run {asked.run!r}")
    return RunFiles(list_files(visit.services.storage, asked.run, directory=directory))


def read_run_file(visit: Visit, asked: AskedFile) -> Reply:
    """A file of a run, or a range of it"""
    content = find_content(visit, asked.run, path=checked_name(asked.path))
    media = media_of(asked.path)
    is_shown = not asked.download and media != "application/octet-stream"
    name = asked.path.rpartition("/")[2]
    is_medium = MEDIUM.fullmatch(asked.path) is not None
    headers = {
        "content-security-policy": FRAMED if is_medium and media == "text/html" else SANDBOX,
        "content-disposition": f"{'inline' if is_shown else 'attachment'}; filename*=UTF-8''{quote(name, safe='')}",
        "accept-ranges": "bytes",
        # What is named by its digest stays what it is.
        "cache-control": "private, max-age=31536000, immutable" if is_medium else "private, no-cache",
        "cross-origin-resource-policy": "same-origin",
        "etag": content.tag,
    }
    if visit.headers.get("if-none-match") == content.tag:
        return Reply(status=304, headers=headers, media="")
    start, stop = 0, content.size
    status = 200
    if asked_range := _range(visit, content):
        start, stop = asked_range
        status = 206
        headers["content-range"] = f"bytes {start}-{stop - 1}/{content.size}"
    headers["content-length"] = str(stop - start)
    media = f"{media}; charset=utf-8" if media.startswith("text/") else media
    return Reply(stream=_chunks(content.read, start, stop), status=status, headers=headers, media=media)


def find_content(visit: Visit, run: str, *, path: str) -> Content:
    """A file of a run, from its directory or from what was uploaded. Raises NoRun, UsageError, OSError."""
    try:
        file = open_file(visit.services.verdicts.files(run), path)
    except NoRun:
        blobs = visit.services.storage.blobs
        digest = blobs.attached(run).get(path)
        size = blobs.size(digest) if digest is not None else None
        if digest is None or size is None:
            raise
        return Content(size, f'"{digest[:32]}"', lambda start, count: blobs.read(digest, start=start, count=count))
    status = os.fstat(file.fileno())
    tag = f'"{status.st_size:x}-{status.st_mtime_ns:x}"'
    return Content(status.st_size, tag, lambda start, count: os.pread(file.fileno(), count, start))


def _range(visit: Visit, content: Content) -> tuple[int, int] | None:
    """The range that was asked for; None for all of it. Raises Refused."""
    match = _RANGE.fullmatch(visit.headers.get("range", "").strip())
    if match is None or visit.headers.get("if-range", content.tag) != content.tag or match[0] == "bytes=-":
        return None
    if not match[1]:
        start, stop = max(0, content.size - int(match[2])), content.size
    else:
        start, stop = int(match[1]), min(content.size, int(match[2]) + 1 if match[2] else content.size)
    if start >= stop:
        raise Refused(416, f"the file has {content.size:,} bytes: there is nothing in that range")
    return start, stop


async def _chunks(read: Read, start: int, stop: int) -> AsyncIterator[bytes]:
    while start < stop:
        data = await run_in_threadpool(read, start, min(CHUNK_BYTES, stop - start))
        if not data:  # it became shorter: the reader sees that bytes are missing
            return
        yield data
        start += len(data)


ROUTES = [
    Route(
        method="GET", path="/runs/{run}/files", touches="run", answer=list_run_files, asked=AskedRun, result=RunFiles
    ),
    Route(
        method="GET",
        path="/runs/{run}/files/{path:path}",
        touches="run",
        act="exported",
        answer=read_run_file,
        asked=AskedFile,
        result=bytes,
        media="*/*",
    ),
]
