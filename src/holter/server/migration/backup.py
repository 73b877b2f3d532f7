"""Copies all of a server while it is used: the copy is a data directory like any other, wherever the parts lie."""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from holter.alerts.file import FILE as ALERTS
from holter.artifacts.moving import copy as copy_artifacts
from holter.artifacts.store import FOLDER as ARTIFACTS
from holter.artifacts.store import Store
from holter.catalog.change.deletions import FOLDER as DELETIONS
from holter.errors import NoBlob, UsageError
from holter.journal.rundir import is_run_id
from holter.server.domain.artifacts import open_artifacts
from holter.server.ingest.copies import all_copies
from holter.server.ingest.index_place import index_directory
from holter.server.ingest.uploads import NAME as UPLOADS
from holter.server.ingest.uploads import lines_of
from holter.server.migration.backup_places import PIECE_BYTES, Copy, copy_at, is_bucket, keep_file, keep_tree
from holter.server.migration.copying import copy_settings, copy_sweeps
from holter.server.security.keyring import SECRETS
from holter.storage.blobs import BlobStore
from holter.storage.opening import Storage, open_storage, open_sweeps
from holter.storage.places import Places, places_in


def make_backup(
    data: str,
    target: str,
    *,
    environ: Mapping[str, str],
    places: Places | None = None,
    complain: Callable[[str], None] = lambda text: None,
) -> int:
    """Copy all of a server to a new directory or to `s3://…`; returns how many bytes.

    Any prefix of a journal and of a sweep's book is readable, so nobody has to stop writing. The rest of the index is
    left out: the first server that opens the copy makes it again. The copy has its name only when it is complete.
    `complain` hears of what is damaged and therefore left out.
    Raises UsageError, StorageError, OSError.
    """
    if not os.path.isdir(data):
        raise UsageError(f"there is no data directory {data} to copy")
    index = index_directory(data, environ)
    local = places_in(index)
    places = places or local
    with copy_at(target) as copy, all_copies(data, places):
        keep_tree(copy, os.path.join(data, "runs"), "runs", leave=UPLOADS if places.blobs != local.blobs else "")
        for folder in (DELETIONS, SECRETS):
            keep_tree(copy, os.path.join(data, folder), folder)
        with contextlib.suppress(FileNotFoundError):
            keep_file(copy, os.path.join(data, ALERTS), ALERTS)
        with _beside(target) as folder:
            _keep_sweeps(copy, data, places, folder)
            _keep_artifacts(copy, data, places, folder=folder, complain=complain)
            # Behind the runs: a blob that a run has a name for was there before its name.
            for port, keep in (("blobs", _keep_blobs), ("settings", _keep_settings)):
                if getattr(places, port) == getattr(local, port):
                    keep_tree(copy, os.path.join(index, port), os.path.join("index", port))
                else:
                    with contextlib.closing(open_storage(places)) as storage:
                        keep(copy, storage, data=data, folder=folder)
    return copy.copied_bytes


def _beside(target: str) -> tempfile.TemporaryDirectory[str]:
    """A place for what lies elsewhere: on the disk that is to have it."""
    above = None if is_bucket(target) else os.path.dirname(os.path.abspath(target))
    return tempfile.TemporaryDirectory(prefix=".holter-backup-", dir=above)


def _keep_sweeps(copy: Copy, data: str, places: Places, folder: str, /) -> None:
    """Those of one server are in its directory; others are written down as if they were."""
    near, far = open_sweeps(data), open_sweeps(data, places)
    with contextlib.closing(near), contextlib.closing(far):
        if type(near) is type(far):
            keep_tree(copy, os.path.join(data, "sweeps"), "sweeps")
            return
        with contextlib.closing(open_sweeps(folder)) as copied:
            copy_sweeps(far, copied)
    keep_tree(copy, os.path.join(folder, "sweeps"), "sweeps")
    copy.finish()


def _keep_artifacts(copy: Copy, data: str, places: Places, /, *, folder: str, complain: Callable[[str], None]) -> None:
    with contextlib.closing(open_artifacts(data, places)) as artifacts:
        near = artifacts if isinstance(artifacts, Store) else Store(folder)
        if near is not artifacts:
            for name, why in copy_artifacts(artifacts, near).items():
                complain(f"the artifact {name} is not in the backup: {why}")
        with near.shared():  # nothing that the copied books name goes meanwhile
            for part in ("books", "manifests", "pieces"):
                keep_tree(copy, os.path.join(near.root, part), os.path.join(ARTIFACTS, part))
            copy.finish()


def _keep_blobs(copy: Copy, storage: Storage, *, data: str, folder: str) -> None:
    """Files of an object store, with the names that runs have for them in the runs' directories."""
    kept: set[str] = set()
    for run in filter(is_run_id, os.listdir(os.path.join(data, "runs"))):
        names = storage.blobs.attached(run)
        if names:
            copy.keep(f"runs/{run}/{UPLOADS}", partial(_lines, names), changed_ns=time.time_ns())
        for digest in {*names.values()} - kept:
            copy.keep(
                f"index/blobs/{digest[:2]}/{digest[2:]}",
                partial(_pieces, storage.blobs, digest),
                changed_ns=time.time_ns(),
            )
        kept.update(names.values())
    copy.finish()


def _keep_settings(copy: Copy, storage: Storage, *, data: str, folder: str) -> None:
    with contextlib.closing(open_storage(places_in(os.path.join(folder, "index")))) as copied:
        copy_settings(storage.settings, copied.settings)
    keep_tree(copy, os.path.join(folder, "index", "settings"), os.path.join("index", "settings"))
    copy.finish()


def _lines(names: Mapping[str, str]) -> list[bytes]:
    return [lines_of(names)]


def _pieces(blobs: BlobStore, digest: str) -> Iterator[bytes]:
    at = 0
    try:
        while piece := blobs.read(digest, start=at, count=PIECE_BYTES):
            yield piece
            at += len(piece)
    except NoBlob as error:  # it has a name, and nobody sent it, or its run is deleted meanwhile
        raise FileNotFoundError(str(error)) from error
