"""Where the keys of a data directory lie, and the people they belong to."""

import os

import msgspec

from holter.server.security import audit
from holter.server.security.accounts import Accounts
from holter.server.security.audit import Audit
from holter.server.security.keys import KeyRing
from holter.server.security.last_use import NAME, LastUse
from holter.server.security.private_files import Alone, locked
from holter.server.security.sessions import EndedSessions
from holter.server.security.shared_audit import SharedAudit
from holter.storage.opening import open_acts
from holter.storage.places import Places

SECRETS = "access"
"""The folder of a data directory with keys, people and the secret that signs cookies."""


class Registers(msgspec.Struct, frozen=True, eq=False):
    """All that is written down about who may come in."""

    keys: KeyRing
    accounts: Accounts
    last_use: LastUse
    ended: EndedSessions


def open_registers(data: str, alone: Alone = locked) -> Registers:
    """Those of a data directory; within `alone` nobody else changes a file of it."""
    folder = os.path.join(data, SECRETS)
    return Registers(
        open_keys(data, alone),
        open_accounts(data, alone),
        LastUse(os.path.join(folder, NAME)),
        EndedSessions(os.path.join(folder, "ended-sessions")),
    )


def open_keys(data: str, alone: Alone = locked) -> KeyRing:
    """The keys of a data directory."""
    return KeyRing(os.path.join(data, SECRETS, "keys.json"), alone=alone)


def open_accounts(data: str, alone: Alone = locked) -> Accounts:
    """The users of a data directory, and what was decided about its projects."""
    return Accounts(os.path.join(data, SECRETS, "people.json"), alone=alone)


def open_audit(data: str, places: Places | None = None) -> Audit:
    """What people did in a data directory, or on all servers that have the same places. Raises StorageError."""
    path = os.path.join(data, SECRETS, audit.NAME)
    store = open_acts(places) if places is not None else None
    return Audit(path) if store is None else SharedAudit(path, store)
