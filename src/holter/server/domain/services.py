"""All that answers need, put together for one data directory: storage, ingest, live changes, verdicts, keys."""

import contextlib
import os
import time
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import msgspec

from holter.catalog.change.deletions import Deletions
from holter.catalog.change.trash import Trash
from holter.catalog.read.machines import Machines
from holter.errors import StorageDamaged, StorageError, StorageFailing, StorageFull
from holter.journal.rundir import make_private
from holter.model.clock import Clock
from holter.model.state import Lateness, read_lateness
from holter.server.domain.arrivals import Arrivals
from holter.server.domain.artifacts import open_artifacts
from holter.server.domain.emptying import empty_later
from holter.server.domain.sweeps import Sweeps
from holter.server.domain.visible import KnownRuns
from holter.server.ingest.copies import CopiedRuns, open_received
from holter.server.ingest.copying import Copying
from holter.server.ingest.index_place import index_directory
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.leases import Leasing, SharedLeases
from holter.server.ingest.pacing import Pacer
from holter.server.ingest.quota import FILES, Unpacking
from holter.server.ingest.uploads import name_all
from holter.server.ingest.viewing import ViewedSeries
from holter.server.live.alerting import Alerting
from holter.server.live.changes import Changes
from holter.server.live.follower import Follower
from holter.server.live.shared_changes import SharedChanges, Telling
from holter.server.live.verdicts import Verdicts
from holter.server.process.access_log import AccessLog
from holter.server.process.complaints import Complaints
from holter.server.process.crowd import Crowd
from holter.server.process.descriptors import share_out
from holter.server.process.reserve import Reserve
from holter.server.process.shared_papers import SharedPapers, Sharing
from holter.server.process.tally import Tally
from holter.server.security.access import Access
from holter.server.security.keyring import SECRETS, open_audit, open_registers
from holter.server.security.limits import FAILURES, REQUESTS, Limiter, Rate
from holter.server.security.oidc import Provider, read_oidc
from holter.server.security.private_files import locked, read_secret
from holter.server.security.proxies import Proxies
from holter.server.security.shared_audit import SharedAudit
from holter.storage.changes import Change
from holter.storage.forking import ForkedSeries
from holter.storage.journals import JournalStore
from holter.storage.opening import (
    Storage,
    discard_index,
    open_changes,
    open_leases,
    open_papers,
    open_series_views,
    open_storage,
)
from holter.storage.places import Places, places_in
from holter.storage.runs import RunQuery
from holter.storage.series import SeriesStore

LOGINS = Rate(5, 100)
"""Questions to the login server that strangers may cause."""
Kind = Literal["ui", "server"]


class ServerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What a server is started with."""

    data: str
    kind: Kind = "ui"
    token: str = ""
    """What `holter ui` has in its URL."""
    user: str = ""
    """Who uses that token."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the server may be asked, beside loopback and plain addresses."""
    proxies: tuple[str, ...] = ()
    """Addresses and networks of those who are believed when they say for whom they ask."""
    access_log: str = ""
    """The file for a line about each request; empty for none."""
    address: str = ""
    """Where clients reach it."""
    places: Places | None = None
    """Where each port keeps what it keeps; None for the index of the data directory."""


class Services:
    """Owns everything that is open. Thread-safe but for `open` and `close`."""

    def __init__(self, settings: ServerSettings, environ: Mapping[str, str]) -> None:
        self.settings = settings
        self.data = settings.data
        self.clock = Clock()
        lateness = read_lateness(environ)
        index = index_directory(self.data, environ)
        self.places = settings.places or places_in(index)
        self._is_local = msgspec.structs.replace(self.places, journals="", sweeps="") == places_in(index)
        self.reserve = Reserve(index)
        make_private(self.data)
        self.complaints = Complaints()
        self.proxies = Proxies(settings.proxies)
        self.tally = Tally()
        self.access_log = AccessLog(settings.access_log, self.complaints.say) if settings.access_log else None
        self.crowd = Crowd(share_out().connections, is_proxy=self.proxies.has)
        self.requests, self.failures = Limiter(REQUESTS), Limiter(FAILURES)
        self.logins = Limiter(LOGINS)
        self.oidc = _provider(settings, environ)
        """Who else can say who somebody is; None where keys alone do."""
        self.pacer, self.unpacking = Pacer(), Unpacking()
        self.unpacking_files = Unpacking(FILES)
        self.deletions = Deletions(self.data)
        self.audit = open_audit(self.data, self.places)
        self.papers = self._open_papers()
        self.access = self._open_access()
        self.arrivals = Arrivals(
            self.data, self.access, deletions=self.deletions, is_shared=settings.kind == "server", papers=self.papers
        )
        self.full_projects: frozenset[str] = frozenset()
        """Those that take no new runs at the moment."""
        self.was_damaged = ""
        """What was wrong with the index, where it had to be begun anew."""
        storage, self.runs = self._open_storage()
        self.storage: Storage = msgspec.structs.replace(storage, runs=self.runs)
        self.received = self._open_received()
        self.leases = self._open_leases()
        self.storage = msgspec.structs.replace(storage, runs=self.runs, series=self._viewed())
        self.changes = self._open_changes()
        machines = Machines()
        self.verdicts = Verdicts(
            self.data,
            storage=self.storage,
            lateness=lambda: self.lateness,
            changes=self.changes,
            machines=machines,
            asks_again=settings.kind == "ui",
        )
        self.artifacts = open_artifacts(self.data, self.places)
        self.ingest = self._open_ingest(machines, lateness)
        self.sweeps = Sweeps(self.data, self.places, bring=self.ingest.bring)
        self.follower = Follower(
            self.ingest,
            self.storage,
            changes=self.changes,
            verdicts=self.verdicts,
            complain=self.complaints.say,
        )
        self.alerting = self._open_alerting()
        self.copying = self._copying()
        self._threads = self._threads_of_several()

    @property
    def lateness(self) -> Lateness:
        """When silence means something, now."""
        return self.ingest.lateness

    def open(self) -> None:
        """Begin to follow what is written."""
        self.follower.start()
        for thread in self._threads:
            thread.start()
        if not Trash(self.data).is_empty:
            empty_later(self.data)

    def close(self) -> None:
        """Leave everything durable. Idempotent."""
        self.changes.close()
        for thread in self._threads:
            thread.close()
        self.follower.close()
        self.verdicts.close()
        if self.alerting is not None:
            self.alerting.close()
        try:
            self.ingest.close()
            self._leave_to_others()
        finally:
            self.storage.close()
            self.sweeps.close()
            self.artifacts.close()
            if self.papers is not None:
                self.papers.close()
            if isinstance(self.audit, SharedAudit):
                self.audit.close()
            self.keep_reserve()
            if self.access_log is not None:
                self.access_log.close()

    def is_somebody(self, name: str) -> bool:
        """Whether a name stands for whoever has a key of that name, or has sent a run under it."""
        return self.arrivals.has_owner(name) or any(key.owner == name for key in self.access.keys.all())

    def question(self, **known: Any) -> RunQuery:
        """A question about runs as they are now."""
        return RunQuery(now_ns=self.clock.now_ns(), lateness=self.lateness, **known)

    def now(self) -> float:
        """Seconds since 1970."""
        return self.clock.now_ns() / 1e9

    def _open_alerting(self) -> Alerting | None:
        """The runs of `holter ui` are told of by this user's own sidecars."""
        if self.settings.kind == "ui":
            return None
        address, complain = self.settings.address, self.complaints.say
        alerting = Alerting(self.data, storage=self.storage, address=address, complain=complain, changes=self.changes)
        self.follower.look, self.verdicts.tell = alerting.look, alerting.ended
        return alerting

    def _open_access(self) -> Access:
        alone = self.papers.alone if self.papers is not None else locked
        secret = read_secret(os.path.join(self.data, SECRETS, "secret"), alone)
        token, user = self.settings.token, self.settings.user
        registers = open_registers(self.data, alone)
        if self.papers is not None:
            registers.keys.newest = partial(self.papers.newest, registers.keys.path)
        return Access(registers, secret, token=token, user=user, now=time.time)

    def _open_papers(self) -> SharedPapers | None:
        """None where no other server can have the same."""
        store = open_papers(self.places)
        if store is None:
            return None
        papers = SharedPapers(self.data, store)
        papers.look()
        return papers

    def share(self, path: str) -> None:
        """A small file of the data directory was changed: other servers have it now. Raises StorageError, OSError."""
        if self.papers is not None:
            self.papers.tell(path)

    def _open_ingest(self, machines: Machines, lateness: Lateness, /) -> Ingest:
        ingest = Ingest(
            self.data,
            self.storage,
            clock=self.clock,
            lateness=lateness,
            machines=machines,
            received=self.received,
        )
        self.verdicts.bring = ingest.bring
        return ingest

    def _open_changes(self) -> Changes:
        store = open_changes(self.places)
        if store is None:
            return Changes(time.time_ns() // 1_000_000)

        def learn(change: Change) -> None:
            if change.kind == "rows" and self.leases is not None:
                self.leases.hear(change.run)
            if change.kind in ("run", "removed"):
                self.runs.learn(change.run, change.project if change.kind == "run" else None)

        return SharedChanges(store, learn=learn)

    def _open_leases(self) -> SharedLeases | None:
        """None where this server digests all runs."""
        store = open_leases(self.places)
        if store is None or not isinstance(self.received, CopiedRuns):
            return None
        self.received.leases = leases = SharedLeases(store)
        return leases

    def _viewed(self) -> SeriesStore:
        """The series, with the newest points of runs that others digest."""
        views = open_series_views(self.places)
        series = self.storage.series
        if views is not None and isinstance(self.received, CopiedRuns):
            series = ViewedSeries(series, views, copies=self.received, storage=self.storage, data=self.data)
        return ForkedSeries(series, self.runs.get)

    def _threads_of_several(self) -> list[Copying | Sharing | Leasing | Telling]:
        """What a server does because there may be others."""
        found: list[Copying | Sharing | Leasing | Telling] = []
        say = self.complaints.say
        if self.copying is not None:
            found.append(self.copying)
        if self.papers is not None:
            audits = [self.audit.look] if isinstance(self.audit, SharedAudit) else []
            alerts = [self.alerting.look_after] if self.alerting is not None else []
            found.append(Sharing([self.papers.look, *audits, *alerts], say))
        if self.leases is not None and self.copying is not None:
            found.append(Leasing(self.leases, begin=self.copying.begin, complain=say))
        if isinstance(self.changes, SharedChanges) and self.copying is not None:
            self.follower.call_others = self.changes.call
            found.append(Telling(self.changes, wake=self.copying.call, complain=say))
        return found

    def _leave_to_others(self) -> None:
        """What is not said here others say."""
        for each in (self.leases, self.changes):
            with contextlib.suppress(StorageError):
                if isinstance(each, SharedLeases | SharedChanges):
                    each.leave()

    def _open_received(self) -> JournalStore:
        seen = self.storage.runs.seen()
        try:
            return open_received(self.data, self.places, is_settled=lambda run: run in seen and seen[run][0] > 0)
        except BaseException:
            self.storage.close()
            raise

    def _copying(self) -> Copying | None:
        """None where nobody else is sent anything."""
        if not isinstance(self.received, CopiedRuns):
            return None

        def tell(runs: list[str]) -> None:
            for run in runs:
                self.ingest.announce(run)
            if runs:
                self.follower.nudge()

        return Copying(self.received, tell=tell, complain=self.complaints.say)

    def _open_storage(self) -> tuple[Storage, KnownRuns]:
        """The runs' directories have all of it: a damaged index of this machine is begun anew."""
        try:
            found = self._looked_into(self._open_with_reserve())
        except StorageDamaged as error:
            if not self._is_local:  # other servers may use it
                raise
            self.was_damaged = str(error)
            discard_index(self.places)
            found = self._looked_into(open_storage(self.places))
        self.keep_reserve()
        return found

    def _looked_into(self, storage: Storage) -> tuple[Storage, KnownRuns]:
        try:
            if not storage.runs.seen():
                name_all(self.data, storage.blobs)
            return storage, KnownRuns(storage.runs, placed=self.arrivals.placed)
        except BaseException:
            storage.close()
            raise

    def _open_with_reserve(self) -> Storage:
        try:
            return open_storage(self.places)
        except (StorageFull, StorageFailing):
            if not self.reserve.release():
                raise
            return open_storage(self.places)

    def keep_reserve(self) -> None:
        """Set room aside with which the index can be opened on a full disk. Idempotent, and cheap."""
        if self._is_local:
            self.reserve.keep()


def _provider(settings: ServerSettings, environ: Mapping[str, str]) -> Provider | None:
    oidc = read_oidc(environ) if settings.kind == "server" else None
    return Provider(oidc) if oidc is not None else None


def ui_token(data: str) -> str:
    """The token of `holter ui` for a data directory: it stays the same, so that open pages survive a restart."""
    path = os.path.join(data, SECRETS, "ui")
    return read_secret(path).hex()
