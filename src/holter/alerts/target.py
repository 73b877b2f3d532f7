"""Whom to tell, and of what."""

import msgspec

from holter.alerts.message import ALERT, DEATH, FINISH, KINDS, WARNING, Message
from holter.errors import UsageError

DEFAULT_ON = (ALERT, WARNING, DEATH, FINISH)


class Target(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One place. Its addresses and passwords are secrets: `label` is what may be said of it."""

    kind: str
    name: str = ""
    on: tuple[str, ...] = DEFAULT_ON
    projects: tuple[str, ...] = ()
    """Those whose runs are told of; empty for all."""
    at_most_per_hour: int = 30
    url: str = ""
    token: str = ""
    """For ntfy: what it wants as a bearer."""
    command: tuple[str, ...] = ()
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""
    sender: str = ""
    to: tuple[str, ...] = ()
    security: str = "starttls"
    """Of mail: `starttls`, `tls`, or `none` for a server on this machine."""

    @property
    def label(self) -> str:
        """For people, without anything secret."""
        return self.name or self.kind

    def wants(self, message: Message) -> bool:
        """Whether it is for this place."""
        is_of_interest = message.kind in self.on or message.kind not in KINDS
        return is_of_interest and (not self.projects or message.project in self.projects)


def need_url(target: Target) -> None:
    """For channels over HTTP. Raises UsageError."""
    from urllib.parse import urlsplit

    parts = urlsplit(target.url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise UsageError(
            f"{target.label}: url must be the address that {target.kind} gave you, with https:// before it"
        )
