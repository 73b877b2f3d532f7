"""The keys of a server: shown once, kept as hashes, each with a scope, revocable at once."""

import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Callable
from typing import Literal

import msgspec

from holter.errors import UsageError
from holter.journal.kept_files import replace_file
from holter.server.security.private_files import Alone, locked

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "write", "admin")
"""Each may do what those before it may."""
MOST_KEYS = 1000
MOST_NAME = 100
_PREFIX = "hk"


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """A key as it is kept: `digest` is the SHA-256 of its secret half, which has 256 random bits."""

    id: str
    name: str
    scope: Scope
    made_at: float
    digest: str
    user: str = ""
    """Whose it is; empty for a key that stands for itself, whose name is its user."""
    expires_at: float | None = None

    @property
    def owner(self) -> str:
        """The name of the user who acts with it."""
        return self.user or self.name

    def has_expired(self, now: float) -> bool:
        """Whether it is worthless by now."""
        return self.expires_at is not None and now >= self.expires_at


class _File(msgspec.Struct):
    keys: list[Key] = []


_decode = msgspec.json.Decoder(_File).decode


class KeyRing:
    """The keys in one file. Thread-safe; other processes may add and revoke keys, which is seen with the next look."""

    def __init__(self, path: str, *, alone: Alone = locked) -> None:
        self.path = path
        self._alone = alone
        self.newest: Callable[[], None] = lambda: None
        """Called where a key is not known: another server may have made it a moment ago. Raises StorageError."""
        self._lock = threading.Lock()
        self._stamp = (0, 0)
        self._keys: dict[str, Key] = {}

    def all(self) -> list[Key]:
        """All keys, the oldest first. Raises OSError."""
        return list(self._read().values())

    def add(
        self, name: str, scope: Scope, *, now: float, user: str = "", expires_at: float | None = None
    ) -> tuple[Key, str]:
        """Make a key; returns it with the text that its user needs and that nobody can see again.

        Keys that have expired make room for it. Raises UsageError, OSError.
        """
        if not 1 <= len(name) <= MOST_NAME or not name.isprintable():
            raise UsageError(f"a key's name has 1 to {MOST_NAME} printable characters, not {name[:40]!r}")
        secret = secrets.token_urlsafe(32)
        key = Key(
            id=secrets.token_hex(4),
            name=name,
            scope=scope,
            made_at=now,
            digest=digest(secret),
            user=user,
            expires_at=expires_at,
        )
        self._change(lambda keys: [*(each for each in keys if not each.has_expired(now)), key])
        return key, f"{_PREFIX}_{key.id}_{secret}"

    def revoke(self, id: str) -> bool:  # noqa: A002  the word that users see
        """Take a key back; false where there is none. Raises OSError."""
        if id not in self._read():
            return False
        self._change(lambda keys: [key for key in keys if key.id != id])
        return True

    def get(self, id: str) -> Key | None:  # noqa: A002
        """The key of an id, None where it was revoked."""
        return self._read().get(id)

    def check(self, text: str) -> Key | None:
        """The key that a text is; takes the same time whatever is wrong with it."""
        prefix, _, rest = text.partition("_")
        name, _, secret = rest.partition("_")
        if (key := self._read().get(name)) is None:
            self.newest()
            key = self._read().get(name)
        expected = key.digest if key is not None else digest("")
        is_right = hmac.compare_digest(digest(secret), expected)
        return key if is_right and prefix == _PREFIX else None

    def _change(self, change: Callable[[list[Key]], list[Key]]) -> None:
        with self._alone(self.path):
            keys = change(list(self._read().values()))
            if len(keys) > MOST_KEYS:
                raise UsageError(f"there are {MOST_KEYS} keys already: revoke some that nobody uses")
            replace_file(self.path, msgspec.json.format(msgspec.json.encode(_File(keys))))

    def _read(self) -> dict[str, Key]:
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return {}
        stamp = (status.st_mtime_ns, status.st_ino)
        with self._lock:
            if stamp != self._stamp:
                with open(self.path, "rb") as file:
                    try:
                        self._keys = {key.id: key for key in _decode(file.read()).keys}
                    except msgspec.MsgspecError as error:
                        raise UsageError(f"{self.path} can't be read as keys ({error}): restore it") from error
                self._stamp = stamp
            return self._keys


def digest(secret: str) -> str:
    """What is kept of a secret: it has enough random bits that nobody finds it by trying."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
