"""Send recorded runs to a server: what was recorded offline, or could not be sent.

RUN may be given several times, and may be the path of a run's directory, also of one that was copied here from another
machine, or of a directory with many. A run that is still being recorded is sent as far as it has got. What the server
has already is not sent again, so a repeat does no harm, and an interrupted one continues where it stopped. A run that
was deleted on the server stays deleted; --restore sends it anyway.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from holter.cli.choice import open_catalog
from holter.cli.figures import plural, size
from holter.errors import HolterError, NoRun, Refused, Unreachable, UsageError
from holter.journal.digest import read_opened
from holter.journal.rundir import list_segments, run_directory
from holter.journal.server_ids import write_server_id
from holter.recording.login import find_upload, is_open_to_listeners
from holter.recording.settings import read_settings
from holter.wire.batches import GONE
from holter.wire.way_back import Upload

GROUP = "keep"

T = TypeVar("T")
TRIES = 5
WAIT_S = 1.0


class Found(msgspec.Struct, frozen=True):
    """A run and where it lies."""

    run: str
    directory: str


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "runs", metavar="RUN", nargs="*", help="id, beginning of one, name or path; else the newest run"
    )
    parser.add_argument("--all", action="store_true", help="all runs of this machine")
    parser.add_argument("--restore", action="store_true", help="also send what was deleted on the server")
    parser.add_argument("--url", metavar="URL", help="the server; left out, HOLTER_URL or that of `holter login`")


def run(args: argparse.Namespace) -> int:
    """Send them one after the other; one that can't be sent does not keep the others from it."""
    upload = _server(args.url)
    found = _find(args.runs, is_all=args.all)
    failed = deleted = 0
    for each in found:
        try:
            _sync(each, upload, is_restored=args.restore)
        except (Refused, Unreachable) as error:
            _say_why(each, upload, error)
            if args.all and isinstance(error, Refused) and error.status == GONE:
                deleted += 1
                continue
            failed += 1
            if isinstance(error, Unreachable) or error.status in (401, 403):
                break  # it would be the same with the others
        except (HolterError, OSError) as error:
            print(f"holter: {each.run} can't be sent: {error}", file=sys.stderr)
            failed += 1
    failed += _send_artifacts(upload)
    if len(found) > 1 and not failed:
        print(f"{plural(len(found) - deleted, 'run')} on {upload.url}.")
    return 1 if failed else 0


def _send_artifacts(upload: Upload) -> int:
    """Versions that wait for this server; 1 where some still do."""
    from holter.artifacts.uploading import list_waiting, upload_all
    from holter.artifacts.working_off import work_off
    from holter.wire.connection import Connection, parse_address

    data = open_catalog().data
    work_off(data)
    waiting = [each for _, each in list_waiting(data) if each.url == upload.url]
    if not waiting:
        return 0
    connection = Connection(parse_address(upload.url), upload.key, timeout_s=60)
    refused: list[str] = []
    try:
        upload_all(
            data,
            lambda url: connection.ask if url == upload.url else None,
            tell=lambda each, why: refused.append(f"{each.wanted.name} v{each.number}: {why}"),
        )
    finally:
        connection.close()
    left = [each for _, each in list_waiting(data) if each.url == upload.url]
    for text in refused:
        print(f"holter: {text}", file=sys.stderr)
    if left:
        print(
            f"holter: {plural(len(left), 'version')} of artifacts wait: {upload.url} does not answer", file=sys.stderr
        )
    print(f"{plural(len(waiting) - len(left) - len(refused), 'version')} of artifacts sent")
    return int(bool(left or refused))


def _server(url: str | None) -> Upload:
    settings = read_settings({"url": url}, os.environ)
    upload = find_upload(msgspec.structs.replace(settings, mode="online"))
    if upload is None:
        raise UsageError("to which server? `holter login URL` sets it, or HOLTER_URL and HOLTER_API_KEY, or --url")
    if is_open_to_listeners(upload.url):
        print(f"holter: the key for {upload.url} goes over the network unencrypted", file=sys.stderr)
    return upload


def _find(wanted: list[str], *, is_all: bool) -> list[Found]:
    catalog = open_catalog()
    if is_all:
        if wanted:
            raise UsageError("--all sends every run: name none beside it")
        return list(_below(os.path.join(catalog.data, "runs")))
    found: list[Found] = []
    for word in wanted or [""]:
        if word and os.path.isdir(word):
            lying = list(_at(os.path.abspath(word)))
            if not lying:
                raise NoRun(f"there is no run in {word}: a run's directory has files that end in .seg")
            found += lying
        else:
            run = catalog.find(word)
            found.append(Found(run, run_directory(catalog.data, run)))
    return list(dict.fromkeys(found))


def _at(directory: str) -> Iterator[Found]:
    """The run that lies in a directory, or the runs below it."""
    if (run := _run_of(directory)) is not None:
        yield Found(run, directory)
        return
    runs = os.path.join(directory, "runs")
    yield from _below(runs if os.path.isdir(runs) else directory)


def _below(directory: str) -> Iterator[Found]:
    try:
        names = sorted(os.listdir(directory))
    except FileNotFoundError:
        return
    for name in names:
        full = os.path.join(directory, name)
        if not name.startswith(".") and os.path.isdir(full) and (run := _run_of(full)) is not None:
            yield Found(run, full)


def _run_of(directory: str) -> str | None:
    """The id that the journals of a directory name: a copy may be called anything."""
    for paths in list_segments(directory).values():
        opened = read_opened(paths[0])
        if opened is not None:
            return opened.run
    return None


def _sync(found: Found, upload: Upload, *, is_restored: bool) -> None:
    from holter.sidecar.file_sending import FileSender
    from holter.sidecar.sending import RunSender
    from holter.wire.connection import Connection, parse_address, quoted

    connection = Connection(parse_address(upload.url), upload.key, timeout_s=60)
    sender = RunSender(found.directory, found.run, connection=connection)
    files = FileSender(found.directory, connection=connection)
    progress = _Progress(found.run)
    try:
        if is_restored:
            _patiently(lambda: connection.ask("POST", f"/ingest/{quoted(found.run)}/restore"))
        while True:
            sent = _patiently(lambda: sender.send(is_final=True))
            progress.add(sent.bytes)
            if sent.is_all:
                break
        _patiently(lambda: progress.add_all(files.send(sender.there, sender.files, is_final=True)))
        write_server_id(found.directory, upload.url, run=found.run, there=sender.there)
    finally:
        connection.close()
        progress.close()
    for name, because in {**sender.refused, **files.refused}.items():
        print(f"holter: {found.run}: {name} is not taken: {because}", file=sys.stderr)
    what = f"{size(progress.bytes)} sent" if progress.bytes else "it was all there already"
    print(f"{found.run}: {what}{f', as {sender.there}' if sender.there != found.run else ''}")


def _patiently(work: Callable[[], T]) -> T:
    """Try again for a while where the network or the server fails. Raises Refused, Unreachable."""
    for attempt in range(TRIES - 1):
        try:
            return work()
        except (Refused, Unreachable) as error:
            if isinstance(error, Refused) and error.retry_s is None and error.status < 500:
                raise
            time.sleep(float(error.retry_s or WAIT_S * 2.0**attempt))
    return work()


class _Progress:
    """A line in the terminal that grows, where there is one."""

    def __init__(self, run: str) -> None:
        self.bytes = 0
        self._run = run
        self._is_shown = sys.stderr is not None and sys.stderr.isatty()
        self._shown_at = 0.0

    def add(self, count: int) -> None:
        self.bytes += count
        if self._is_shown and time.monotonic() - self._shown_at > 0.2:
            self._shown_at = time.monotonic()
            print(f"\r{self._run}: {size(self.bytes)}", end="\x1b[K", file=sys.stderr, flush=True)

    def add_all(self, counts: Iterator[int]) -> None:
        for count in counts:
            self.add(count)

    def close(self) -> None:
        if self._is_shown and self._shown_at:
            print("\r", end="\x1b[K", file=sys.stderr, flush=True)


def _say_why(found: Found, upload: Upload, error: Refused | Unreachable) -> None:
    if isinstance(error, Unreachable):
        text = f"{upload.url} can't be reached ({error}); what arrived stays there, the same command sends the rest"
    else:
        text = "; ".join(filter(None, (f"{upload.url}: {error}", error.why, error.do)))
    print(f"holter: {found.run} is not sent: {text}", file=sys.stderr)
