"""All that answers need, put together for one data directory: storage, ingest, live changes, verdicts, keys."""

import os
import time
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from holter.catalog.change.deletions import Deletions
from holter.catalog.read.machines import Machines
from holter.errors import StorageDamaged, StorageFailing, StorageFull
from holter.journal.rundir import make_private
from holter.model.clock import Clock
from holter.model.state import Lateness, read_lateness
from holter.server.domain.arrivals import Arrivals
from holter.server.domain.visible import KnownRuns
from holter.server.ingest.index_place import index_directory
from holter.server.ingest.ingest import Ingest
from holter.server.ingest.pacing import Pacer
from holter.server.ingest.quota import FILES, Unpacking
from holter.server.ingest.uploads import name_all
from holter.server.live.changes import Changes
from holter.server.live.follower import Follower
from holter.server.live.verdicts import Verdicts
from holter.server.process.access_log import AccessLog
from holter.server.process.complaints import Complaints
from holter.server.process.crowd import Crowd
from holter.server.process.descriptors import share_out
from holter.server.process.reserve import Reserve
from holter.server.process.tally import Tally
from holter.server.security.access import Access
from holter.server.security.keyring import SECRETS, open_audit, open_registers
from holter.server.security.limits import FAILURES, REQUESTS, Limiter, Rate
from holter.server.security.oidc import Provider, read_oidc
from holter.server.security.private_files import read_secret
from holter.server.security.proxies import Proxies
from holter.storage.opening import Storage, load_engine, open_storage
from holter.storage.runs import RunQuery

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
    url: str = ""
    """Of the storage; empty for the index of the data directory."""


class Services:
    """Owns everything that is open. Thread-safe but for `open` and `close`."""

    def __init__(self, settings: ServerSettings, environ: Mapping[str, str]) -> None:
        self.settings = settings
        self.data = settings.data
        self.clock = Clock()
        lateness = read_lateness(environ)
        index = index_directory(self.data, environ)
        self.url = settings.url or f"sqlite:{index}"
        self.reserve = Reserve(index)
        make_private(self.data)
        self.complaints = Complaints()
        self.proxies = Proxies(settings.proxies)
        self.tally = Tally()
        self.access_log = AccessLog(settings.access_log, self.complaints.say) if settings.access_log else None
        self.crowd = Crowd(share_out().connections, is_proxy=self.proxies.has)
        self.requests, self.failures = Limiter(REQUESTS), Limiter(FAILURES)
        self.logins = Limiter(LOGINS)
        oidc = read_oidc(environ) if settings.kind == "server" else None
        self.oidc = Provider(oidc) if oidc is not None else None
        """Who else can say who somebody is; None where keys alone do."""
        self.pacer, self.unpacking = Pacer(), Unpacking()
        self.unpacking_files = Unpacking(FILES)
        self.deletions = Deletions(self.data)
        secrets = os.path.join(self.data, SECRETS)
        self.audit = open_audit(self.data)
        self.access = Access(
            open_registers(self.data),
            read_secret(os.path.join(secrets, "secret")),
            token=settings.token,
            user=settings.user,
            now=time.time,
        )
        self.arrivals = Arrivals(self.data, self.access, deletions=self.deletions, is_shared=settings.kind == "server")
        self.full_projects: frozenset[str] = frozenset()
        """Those that take no new runs at the moment."""
        self.was_damaged = ""
        """What was wrong with the index, where it had to be begun anew."""
        storage, self.runs = self._open_storage()
        self.storage: Storage = msgspec.structs.replace(storage, runs=self.runs)
        self.changes = Changes(time.time_ns() // 1_000_000)
        machines = Machines()
        self.verdicts = Verdicts(
            self.data,
            storage=self.storage,
            lateness=lambda: self.lateness,
            changes=self.changes,
            machines=machines,
            asks_again=settings.kind == "ui",
        )
        self.ingest = Ingest(self.data, self.storage, clock=self.clock, lateness=lateness, machines=machines)
        self.follower = Follower(
            self.ingest,
            self.storage,
            changes=self.changes,
            verdicts=self.verdicts,
            complain=self.complaints.say,
        )

    @property
    def lateness(self) -> Lateness:
        """When silence means something, now."""
        return self.ingest.lateness

    def open(self) -> None:
        """Begin to follow what is written."""
        self.follower.start()

    def close(self) -> None:
        """Leave everything durable. Idempotent."""
        self.changes.close()
        self.follower.close()
        self.verdicts.close()
        try:
            self.ingest.close()
        finally:
            self.storage.close()
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

    def _open_storage(self) -> tuple[Storage, KnownRuns]:
        """Whatever is wrong with the index, the runs' directories have it all: a damaged one is begun anew."""
        try:
            found = self._looked_into(self._open_with_reserve())
        except StorageDamaged as error:
            self.was_damaged = str(error)
            load_engine(self.url).discard_index(self.url)
            found = self._looked_into(open_storage(self.url))
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
            return open_storage(self.url)
        except (StorageFull, StorageFailing):
            if not self.reserve.release():
                raise
            return open_storage(self.url)

    def keep_reserve(self) -> None:
        """Set room aside with which the index can be opened on a full disk. Idempotent, and cheap."""
        if not self.settings.url:
            self.reserve.keep()


def ui_token(data: str) -> str:
    """The token of `holter ui` for a data directory: it stays the same, so that open pages survive a restart."""
    path = os.path.join(data, SECRETS, "ui")
    return read_secret(path).hex()
