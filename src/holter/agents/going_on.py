"""From which checkpoint a trial that is tried again goes on: one of this machine, or of its server."""

import os
import time
from collections.abc import Callable
from typing import Any

import msgspec

from holter.artifacts.artifact import Artifact, Sealed
from holter.artifacts.checkpoints import OWN, checkpoints_of, last_whole
from holter.artifacts.far import FarStore, open_far
from holter.artifacts.names import parse_name
from holter.catalog.catalog import Catalog
from holter.client.artifact_calls import find
from holter.client.checkpoints import RESUME_FROM
from holter.errors import HolterError, Unreachable
from holter.journal.rundir import run_directory
from holter.model.record import Record
from holter.sweeps.words import Lease
from holter.wire.connection import quoted
from holter.wire.way_back import Upload

TRIES = 6
"""A server that is being started again is waited for, a second longer each time: to begin anew costs more."""


class Found(msgspec.Struct, frozen=True):
    """A checkpoint at hand; an empty path where there is none."""

    path: str = ""
    step: int | None = None

    @property
    def variables(self) -> dict[str, str]:
        """By which a program finds it."""
        return {RESUME_FROM: self.path} if self.path else {}


class GoingOn:
    """Finds the checkpoint of a lease, and has its file at hand.

    Args:
        data: where runs are recorded on this machine.
        upload: the server to which they are sent; None for none.
    """

    def __init__(self, data: str, upload: Upload | None, *, pause: Callable[[float], None] = time.sleep) -> None:
        self._data = data
        self._upload = upload
        self._pause = pause

    def find(self, lease: Lease) -> Found:
        """The newest whole checkpoint of the attempts before, the last one first; none where none can be reached."""
        for run in lease.before:
            found = self._here(run, lease) or self._there(run, lease)
            if found is not None:
                return found
        return Found()

    def _here(self, run: str, lease: Lease) -> Found | None:
        try:
            loaded = Catalog(self._data).load(run, 0.0)
            found = last_whole(checkpoints_of(loaded.said(Record), loaded.row.directory))
            if found is None or found.path:
                return Found(found.path, found.step) if found is not None else None
            return self._fetched(find(self._data, found.artifact, loaded.row.project or ""), lease, found.step)
        except (HolterError, OSError):  # recorded on another machine, or gone
            return None

    def _there(self, run: str, lease: Lease) -> Found | None:
        if self._upload is None:
            return None
        for again in range(TRIES):
            try:
                far = open_far(self._upload.url, self._upload.key, data=self._data)
                return self._newest(far, run, lease)
            except Unreachable:
                self._pause(float(again))
            except (HolterError, OSError):
                return None
        return None

    def _newest(self, far: FarStore, run: str, lease: Lease) -> Found | None:
        """Of those that the run told of, the first that the server has. Raises Unreachable, Refused, OSError."""
        about = far.ask("GET", f"/runs/{quoted(run)}").json(dict[str, Any])
        told = far.ask("GET", f"/runs/{quoted(run)}/checkpoints").json(dict[str, Any])["checkpoints"]
        known = [each for each in told if each["artifact"] and not each["trouble"]]
        for each in sorted(known, key=lambda each: (each["step"] or 0, each["at"]), reverse=True):
            try:
                found = far.find(parse_name(each["artifact"], project=about["project"] or ""))
                return self._fetched(found, lease, each["step"])
            except Unreachable:
                raise
            except HolterError:  # it had not been sent yet, or its rule let it go
                continue
        return None

    def _fetched(self, found: Sealed, lease: Lease, /, step: int | None) -> Found:
        artifact = Artifact.of(found)
        # With the run, so that it goes when the run does.
        folder = os.path.join(run_directory(self._data, lease.run), OWN, f"{artifact.name}-{artifact.version}")
        files = artifact.files()
        artifact.download(folder)
        return Found(os.path.join(folder, files[0].path) if len(files) == 1 else folder, step)
