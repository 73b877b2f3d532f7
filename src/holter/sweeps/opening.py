"""Makes sweeps and finds them: in the data directory, or on the server to which runs are sent."""

import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from holter.catalog.change.user_name import user_name
from holter.errors import StorageError
from holter.probes.identity import ProcessIdentity, is_alive
from holter.recording.identity import new_run_id
from holter.recording.login import find_upload
from holter.recording.settings import Settings, read_settings
from holter.storage.opening import open_sweeps
from holter.storage.sweeps import SweepStore
from holter.sweeps.book import begin_book
from holter.sweeps.configuration import Configuration, read_given
from holter.sweeps.desk import Bounds, Desk
from holter.sweeps.endings import outcome_of
from holter.sweeps.events import Begun
from holter.sweeps.present import SweepJson, SweepLine, line_of, show
from holter.sweeps.search import Search
from holter.sweeps.words import Answer, Asker, Outcome, Said, Word
from holter.wire.way_back import Upload


class Sweep(Protocol):
    """One sweep, here or on a server."""

    id: str

    def ask(self, asker: Asker) -> Answer:
        """A trial."""

    def say(self, word: Word) -> Said:
        """What became of it."""

    def change(self, act: str, *, by: str, what: str = "", reason: str = "", bounds: Bounds | None = None) -> None:
        """Pause, resume, stop, end, allow, quarantine, lift, bounds."""

    def add(self, params: dict[str, Any], *, value: float | None = None, run: str = "") -> int:
        """Enqueue a trial, or take one over."""

    def again(self, number: int, *, by: str) -> int:
        """Run a trial once more."""

    def show(self, *, with_importance: bool = False) -> SweepJson:
        """All of it."""

    @property
    def configuration(self) -> Configuration:
        """What it searches."""


class KeptSweep(Desk):
    """A sweep whose book this process reads and writes itself."""

    def show(self, *, with_importance: bool = False) -> SweepJson:
        """All of it."""
        return show(self, with_importance=with_importance)

    @property
    def configuration(self) -> Configuration:
        """What it searches."""
        found = self.state().configuration
        assert found is not None
        return found


def open_kept(
    store: SweepStore, sweep: str, *, data: str, bring: Callable[[str], None] = lambda run: None
) -> KeptSweep:
    """One of a store; its runs lie in a data directory, once `bring` was called with their id. Raises as `Desk`."""
    kept = KeptSweep(store, sweep, is_gone=_is_gone)
    metric = kept.configuration.metric
    name = metric.name if metric is not None else ""

    def look(run: str) -> Outcome | None:
        try:
            bring(run)
        except (StorageError, OSError):  # asked again soon
            return None
        return outcome_of(data, run, metric=name, patience_s=0.0)

    kept.look_with(look)
    return kept


def begin_kept(store: SweepStore, configuration: Configuration, *, project: str, by: str) -> str:
    """Make a sweep; returns its id. Raises UsageError, StorageError, OSError."""
    Search(configuration)  # whatever it lacks is said now
    sweep = new_run_id()
    name = configuration.name or configuration.program or sweep
    begun = Begun(
        at_ns=time.time_ns(),
        configuration=msgspec.to_builtins(configuration),
        project=project,
        name=name,
        by=by,
    )
    begin_book(store, sweep, begun=begun)
    return sweep


def open_local(data: str, sweep: str) -> KeptSweep:
    """One of a data directory. Raises NoSweep."""
    return open_kept(open_sweeps(data), sweep, data=data)


def list_local(data: str) -> list[SweepLine]:
    """Those of a data directory, the newest first."""
    found = [line_of(open_local(data, name)) for name in open_sweeps(data).names()]
    return sorted(found, key=lambda each: -each.begun_at)


def begin_local(data: str, configuration: Configuration, *, project: str, by: str) -> str:
    """Make a sweep in a data directory; returns its id. Raises UsageError, OSError."""
    return begin_kept(open_sweeps(data), configuration, project=project, by=by)


class Place:
    """The sweeps that this user's settings lead to."""

    def __init__(self, settings: Settings | None = None, upload: Upload | None = None) -> None:
        self.settings = settings or read_settings({}, os.environ)
        if settings is None:
            upload = find_upload(self.settings)
        self.upload = upload
        """The server that keeps them; None for the data directory."""
        self._remote = None
        if upload is not None:
            from holter.sweeps.remote import RemoteSweeps

            self._remote = RemoteSweeps(upload.url, upload.key)

    def begin(self, given: Mapping[str, Any] | str | os.PathLike[str], *, project: str = "") -> str:
        """Make one, of a mapping or a file; returns its id. Raises UsageError, Refused, Unreachable, OSError."""
        read = read_given(given)
        configuration = read.understood
        project = project or configuration.project or self.settings.project
        if self._remote is not None:
            return self._remote.begin(read.written, project=project)
        return begin_local(self.settings.dir, configuration, project=project, by=user_name())

    def find(self, wanted: str) -> Sweep:
        """One by its id, also as `entity/project/id`. Raises NoSweep, Unreachable."""
        sweep = wanted.rpartition("/")[2]
        return self._remote.find(sweep) if self._remote is not None else open_local(self.settings.dir, sweep)

    def all(self) -> list[SweepLine]:
        """All of them, the newest first."""
        return self._remote.all() if self._remote is not None else list_local(self.settings.dir)


def _is_gone(asker: Asker) -> bool:
    """Only where its process can be seen from here."""
    identity = ProcessIdentity(asker.host, asker.boot_id, asker.pid, asker.started, asker.pid_namespace)
    return bool(asker.pid) and is_alive(identity) is False
