"""Where the keys of a data directory lie, and the people they belong to."""

import os

import msgspec

from holter.server.security import audit
from holter.server.security.accounts import Accounts
from holter.server.security.audit import Audit
from holter.server.security.keys import KeyRing
from holter.server.security.last_use import NAME, LastUse
from holter.server.security.sessions import EndedSessions

SECRETS = "access"
"""The folder of a data directory with keys, people and the secret that signs cookies."""


class Registers(msgspec.Struct, frozen=True, eq=False):
    """All that is written down about who may come in."""

    keys: KeyRing
    accounts: Accounts
    last_use: LastUse
    ended: EndedSessions


def open_registers(data: str) -> Registers:
    """Those of a data directory."""
    folder = os.path.join(data, SECRETS)
    return Registers(
        open_keys(data),
        open_accounts(data),
        LastUse(os.path.join(folder, NAME)),
        EndedSessions(os.path.join(folder, "ended-sessions")),
    )


def open_keys(data: str) -> KeyRing:
    """The keys of a data directory."""
    return KeyRing(os.path.join(data, SECRETS, "keys.json"))


def open_accounts(data: str) -> Accounts:
    """The users of a data directory, and what was decided about its projects."""
    return Accounts(os.path.join(data, SECRETS, "people.json"))


def open_audit(data: str) -> Audit:
    """What people did in a data directory."""
    return Audit(os.path.join(data, SECRETS, audit.NAME))
