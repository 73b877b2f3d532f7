"""Moves a server's data: each run is copied, read again where it is now, and compared by its digest."""

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import msgspec

from holter.artifacts.moving import copy
from holter.artifacts.store import FOLDER as ARTIFACTS
from holter.artifacts.store import Store
from holter.errors import DigestMismatch, NoBlob, NoRun, StorageError, UsageError
from holter.journal.kept_files import replace_file
from holter.journal.rundir import is_run_id, run_directory
from holter.model.clock import Clock
from holter.model.state import Lateness
from holter.server.domain.artifacts import open_artifacts
from holter.server.ingest.copies import ADOPTED, READ, bring_all
from holter.server.ingest.followed_run import stamp_of
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.uploads import NAME as UPLOADS
from holter.server.ingest.uploads import name_upload
from holter.server.migration import logbook
from holter.server.migration.copying import (
    copy_blob,
    copy_files,
    copy_journals,
    copy_loose_file,
    copy_settings,
    copy_sweeps,
    loose_files,
    whole_sizes,
)
from holter.server.migration.digests import blob_digest, index_digests, journals_digest
from holter.server.migration.logbook import Aim, Done, Logbook
from holter.server.process.instance import NAME as INSTANCE
from holter.server.process.shared_papers import KNOWN, SharedPapers
from holter.server.security.keyring import SECRETS
from holter.server.security.owners import Owners
from holter.storage.journals import JournalStore
from holter.storage.opening import Storage, open_journals, open_papers, open_storage, open_sweeps
from holter.storage.places import FILE, NAMES, Places, without_password, write_places

T = TypeVar("T")
AT_ONCE = 4
"""Runs whose journals and files are on their way together."""
LEFT = frozenset(
    {"runs", "index", "sweeps", ARTIFACTS, FILE, ADOPTED, READ, KNOWN, INSTANCE, logbook.NAME, logbook.DONE}
)
"""Of a data directory: what is moved in another way, or belongs to it alone."""
INDEX = ("runs", "series", "console", "media")
Tell = Callable[[str, int, int], None]
"""Gets what is being done, how many runs are done, and how many there are."""


class ServerData(msgspec.Struct, frozen=True):
    """The data directory of a server, and where it keeps what it keeps."""

    directory: str
    places: Places
    default: str
    """The place in the directory itself."""

    @property
    def shown(self) -> dict[str, str]:
        """The places, without passwords."""
        return {name: without_password(getattr(self.places, name)) for name in NAMES}


class Migrated(msgspec.Struct, frozen=True, kw_only=True):
    """What was moved. `digest` stands for all journals and texts, where they were moved: both sides have the same."""

    runs: int
    journal_bytes: int
    files: int
    settings: int
    sweeps: int
    artifacts: int
    digest: str
    left: dict[str, str]
    """What is damaged in the source and stays there, with the reason."""


class Migration:
    """One attempt at it. Nobody may serve either side meanwhile."""

    def __init__(self, source: ServerData, target: ServerData, *, lateness: Lateness, tell: Tell) -> None:
        self._source = source
        self._target = target
        self._lateness = lateness
        self._tell = tell
        self._left: dict[str, str] = {}
        self._bytes = self._files = 0

    def run_all(self) -> Migrated:
        """Everything, or what an earlier attempt left to do. Raises UsageError, StorageError, OSError."""
        source, target = self._source, self._target
        log, aim = Logbook(target.directory), Aim(source=source.directory, places=target.shown)
        with contextlib.ExitStack() as opened:
            there = opened.enter_context(contextlib.closing(open_storage(target.places)))
            received = opened.enter_context(contextlib.closing(open_journals(target.directory, target.places)))
            there.blobs.size("0" * 64)  # an object store that does not answer says so now
            if not log.is_open(aim):
                self._expect_empty(there, received)
                log.open(aim)
            here = opened.enter_context(contextlib.closing(open_storage(source.places)))
            bring_all(source.directory, source.places)
            runs = _runs(source.directory)
            digest = self._move_journals(runs, received, log)
            self._move_files(runs, here, there)
            settings = copy_settings(here.settings, there.settings)
            sweeps, artifacts = self._move_sweeps(), self._move_artifacts()
            self._take_in(runs, here, there)
            self._compare(runs, here, there, log=log)
            _forget_others(set(runs), there, received)
        if source.directory != target.directory:
            copy_files(source.directory, target.directory, leave=LEFT)
        _share_papers(target)
        if target.places.journals:
            replace_file(os.path.join(target.directory, ADOPTED), b"")
        write_places(target.directory, target.places, default=target.default)
        log.close()
        return Migrated(
            runs=len(runs),
            journal_bytes=self._bytes,
            files=self._files,
            settings=settings,
            sweeps=sweeps,
            artifacts=artifacts,
            digest=digest,
            left=self._left,
        )

    def _expect_empty(self, there: Storage, received: JournalStore) -> None:
        """Raises UsageError where somebody has something where all is to go."""
        target, is_new = self._target, self._target.directory != self._source.directory
        if is_new and os.path.isdir(target.directory) and set(os.listdir(target.directory)) - {"index"}:
            raise UsageError(f"{target.directory} has something in it: name a directory that is empty or not there")
        found = []
        if self._is_moved("runs") and there.runs.seen():
            found.append("runs")
        if self._is_moved("journals") and received.grown().runs:
            found.append("journals")
        if self._is_moved("journals") and _has_papers(target.places):
            found.append("keys")
        if found:
            places = ", ".join(dict.fromkeys(filter(None, target.shown.values())))
            raise UsageError(
                f"there are {' and '.join(found)} already in {places}: name places where there is nothing, "
                "or go on where that migration was begun"
            )

    def _move_journals(self, runs: list[str], received: JournalStore, log: Logbook) -> str:
        """Returns one digest for all of them."""
        if not self._is_moved("journals"):
            return ""
        with contextlib.closing(open_journals(self._source.directory)) as source:

            def move(run: str) -> str:
                stamp_ns = stamp_of(run_directory(self._source.directory, run))
                sizes = whole_sizes(self._source.directory, source, run)
                self._bytes += sum(sizes.values())
                if (done := log.find(run, "journals", stamp_ns=stamp_ns)) is not None:
                    return done.digest
                refused = copy_journals(source, received, run, sizes)
                self._left |= {f"{name} of run {run}": why for name, why in refused.items()}
                received.seal(run)
                kept = {name: size for name, size in sizes.items() if name not in refused}
                digest = journals_digest(source, run, kept)
                if digest != journals_digest(received, run, kept):
                    raise StorageError(f"the journals of run {run} are not what was sent there: run it again")
                log.note(Done(run=run, part="journals", stamp_ns=stamp_ns, digest=digest))
                return digest

            return _digest_of_all(self._each("journals", runs, move))

    def _move_files(self, runs: list[str], here: Storage, there: Storage, /) -> None:
        is_loose = self._is_moved("journals")
        if not self._is_moved("blobs") and not is_loose:
            return

        def move(run: str) -> None:
            names = {}
            for path, digest in here.blobs.attached(run).items():
                try:
                    copy_blob(here.blobs, there.blobs, digest)
                except (NoBlob, DigestMismatch) as error:
                    self._left[f"{path} of run {run}"] = str(error)
                else:
                    names[path] = digest
            for path in loose_files(here, self._source.directory, run) if is_loose else ():
                with contextlib.suppress(NoRun):  # it is none that people could see
                    names[path] = copy_loose_file(self._source.directory, there.blobs, run, path)
            self._check_files(run, names, there)

        self._each("files", runs, move)

    def _check_files(self, run: str, names: Mapping[str, str], there: Storage) -> None:
        for path, digest in names.items():
            if blob_digest(there.blobs, digest) != digest:
                raise StorageError(f"{path} of run {run} is not what was sent there: run it again")
        if names:
            there.blobs.attach(run, names)
        if sorted(there.blobs.attached(run).values()) != sorted(names.values()):
            raise StorageError(f"the files of run {run} have other names there: empty the places and begin anew")
        directory = run_directory(self._target.directory, run)
        if not self._target.places.journals and not os.path.exists(os.path.join(directory, UPLOADS)):
            for path, digest in names.items():
                name_upload(directory, path, digest=digest)
        self._files += len(names)

    def _move_sweeps(self) -> int:
        sides = (self._source, self._target)
        opened = [contextlib.closing(open_sweeps(each.directory, each.places)) for each in sides]
        with opened[0] as source, opened[1] as target:
            return copy_sweeps(source, target)

    def _move_artifacts(self) -> int:
        sides = (self._source, self._target)
        opened = [contextlib.closing(open_artifacts(each.directory, each.places)) for each in sides]
        with opened[0] as source, opened[1] as target:
            if not isinstance(source, Store) or not isinstance(target, Store) or source.root != target.root:
                self._left |= {f"artifact {name}": why for name, why in copy(source, target).items()}
            return len(target.all_books())

    def _take_in(self, runs: list[str], here: Storage, there: Storage) -> None:
        """Bring both indexes up to date with the journals; that of the source may lack what came last."""
        if not any(map(self._is_moved, INDEX)):
            return
        for storage in (here, there):
            ingest = Ingest(self._source.directory, storage, clock=Clock(), lateness=self._lateness)
            self._tell("index", 0, len(runs))
            ingest.catch_up(lambda waiting: self._tell("index", max(0, len(runs) - waiting), len(runs)))
            ingest.close()

    def _compare(self, runs: list[str], here: Storage, there: Storage, *, log: Logbook) -> None:
        if not any(map(self._is_moved, INDEX)):
            return

        def compare(run: str) -> None:
            stamp_ns = stamp_of(run_directory(self._source.directory, run))
            if log.find(run, "index", stamp_ns=stamp_ns) is not None:
                return
            one, other = index_digests(here, run), index_digests(there, run)
            if wrong := [port for port in one if one[port] != other[port]]:
                raise StorageError(
                    f"the index of run {run} differs in {', '.join(wrong)}: `holter server rebuild --data "
                    f"{self._source.directory}` makes the old one again from the journals, then run this again"
                )
            log.note(Done(run=run, part="index", stamp_ns=stamp_ns))

        self._each("comparing", runs, compare)

    def _each(self, part: str, runs: list[str], work: Callable[[str], T]) -> list[T]:
        found: list[T] = []
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            self._tell(part, 0, len(runs))
            for each in pool.map(work, runs):
                found.append(each)
                self._tell(part, len(found), len(runs))
        finally:
            pool.shutdown(cancel_futures=True)
        return found

    def _is_moved(self, port: str) -> bool:
        """Whether it will lie elsewhere."""
        one, other = getattr(self._source.places, port), getattr(self._target.places, port)
        is_same_directory = self._source.directory == self._target.directory
        return bool(one != other or (not one and not is_same_directory))


def _runs(data: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(os.path.join(data, "runs")) if is_run_id(name))
    except FileNotFoundError:
        return []


def _digest_of_all(digests: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _has_papers(places: Places) -> bool:
    papers = open_papers(places)
    if papers is None:
        return False
    with contextlib.closing(papers):
        return bool(papers.changed()[0])


def _forget_others(runs: set[str], there: Storage, received: JournalStore) -> None:
    """What was deleted since an earlier attempt."""
    for run in {*received.grown().runs, *there.runs.seen()} - runs:
        for port in (received, there.runs, there.series, there.console, there.media, there.blobs):
            port.delete(run)


def _share_papers(target: ServerData) -> None:
    """Keys, people, whose a run is, what was deleted: as the first server would, before it is asked."""
    store = open_papers(target.places)
    if store is None:
        return
    with contextlib.closing(SharedPapers(target.directory, store)) as papers:
        papers.look()
        path = os.path.join(target.directory, SECRETS, "owners.jsonl")
        Owners(path, journals=lambda run: (), is_taken=lambda run: False, book=papers).share()
