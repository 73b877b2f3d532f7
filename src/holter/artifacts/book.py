"""The versions of one name: which there are, what they are called, and which may go. Pure."""

import re
from typing import Any

import msgspec

from holter.errors import AliasMoved, NoArtifact, UsageError

TRASH_NS = 7 * 86_400 * 1_000_000_000
"""How long a deleted version can be brought back."""
LATEST = "latest"
BEST = "best"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_VERSION = re.compile(r"v\d+")
_MOST_ABSENT = 20


class Version(msgspec.Struct, omit_defaults=True):
    """A sealed version. Its number is never given to another content."""

    number: int
    digest: str
    """Of its manifest."""
    bytes: int
    files: int
    made_ns: int
    run: str = ""
    new_bytes: int = 0
    """What it added to the store when it was made."""
    description: str = ""
    metadata: dict[str, Any] = {}
    expires_ns: int = 0
    trashed_ns: int = 0
    ask: str = ""
    """The wish that made it."""
    used_by: list[str] = []
    """Runs that took it as their input."""

    @property
    def name(self) -> str:
        """As people write it."""
        return f"v{self.number}"


class Alias(msgspec.Struct, frozen=True):
    """Where an alias points, and when somebody decided that."""

    number: int
    at_ns: int


class Absent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A version that was wanted and is not there: never half."""

    ask: str
    at_ns: int
    why: str
    run: str = ""


class Keep(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which versions stay by themselves; the others go when a newer one comes."""

    last: int = 0
    """So many of the newest; 0: all."""
    best: str = ""
    """The metric in their metadata by which the best one stays, too."""
    mode: str = "min"
    """Whether less of it is better, or more: min or max."""


class Book(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What is known of one name of a project."""

    project: str
    name: str
    type: str = ""
    description: str = ""
    next_number: int = 0
    versions: list[Version] = []
    aliases: dict[str, Alias] = {}
    protected: list[str] = []
    """Aliases whose version can't be deleted, and which move only where somebody says so."""
    keep: Keep = Keep()
    absent: list[Absent] = []

    def live(self) -> list[Version]:
        """The versions that are not in the trash, oldest first."""
        live = (version for version in self.versions if not version.trashed_ns)
        return sorted(live, key=lambda version: (version.made_ns, version.number))

    def of_number(self, number: int) -> Version:
        """Raises NoArtifact."""
        for version in self.versions:
            if version.number == number:
                return version
        raise NoArtifact(f"{self.name} has no v{number}: {self._there()}")

    def find(self, alias: str) -> Version:
        """The version of this alias or number. Raises NoArtifact."""
        if _VERSION.fullmatch(alias):
            found = self.of_number(int(alias[1:]))
        elif alias in self.aliases:
            found = self.of_number(self.aliases[alias].number)
        else:
            raise NoArtifact(f"{self.name} has no version {alias!r}: {self._there()}")
        if found.trashed_ns:
            raise NoArtifact(f"{self.name}:{alias} is in the trash: `holter artifact restore` brings it back")
        return found

    def aliases_of(self, number: int) -> list[str]:
        """What the version is called."""
        return sorted(name for name, alias in self.aliases.items() if alias.number == number)

    def add(self, version: Version, *, aliases: tuple[str, ...] = ()) -> Version:
        """Add a sealed version, or give back the one that has this content; then its aliases move to it.

        The same content deleted before is brought back under its number.
        """
        found = next((known for known in self.versions if known.digest == version.digest), None)
        if found is None:
            version.number = self.next_number
            self.next_number += 1
            self.versions.append(version)
            found = version
        else:
            found.trashed_ns = 0
            # Whoever asks for it last may want it for longer, never for less long than somebody before.
            is_kept = not (found.expires_ns and version.expires_ns)
            found.expires_ns = 0 if is_kept else max(found.expires_ns, version.expires_ns)
        self.absent = [absent for absent in self.absent if absent.ask != version.ask]
        for alias in (LATEST, *aliases):
            self.follow(alias, found.number, at_ns=version.made_ns)
        return found

    def follow(self, alias: str, number: int, *, at_ns: int) -> bool:
        """Move an alias as a run asked at that time; one that was moved later, or is protected, stays."""
        there = self.aliases.get(check_alias(alias))
        if there is not None and there.number != number and (there.at_ns > at_ns or alias in self.protected):
            return False
        self.aliases[alias] = Alias(number, at_ns)
        return True

    def move(self, alias: str, number: int | None, *, expected: int | str | None = "", at_ns: int) -> None:
        """Move an alias, or remove it for None. Raises AliasMoved where it is not at `expected`, if that is given."""
        have = self.aliases[alias].number if alias in self.aliases else None
        if expected != "" and have != expected:
            there = "nobody has it" if have is None else f"v{have} has it now"
            raise AliasMoved(f"{self.name}:{alias} was not moved: {there}, somebody else was quicker", have)
        if number is None:
            self.aliases.pop(alias, None)
            self.protected = [name for name in self.protected if name != alias]
            return
        if self.of_number(number).trashed_ns:
            raise NoArtifact(f"{self.name}:v{number} is in the trash: it can have no alias")
        self.aliases[check_alias(alias)] = Alias(number, at_ns)

    def trash(self, number: int, *, at_ns: int) -> list[str]:
        """Delete a version; it can be brought back for seven days. Its aliases go; they are given back.

        Raises UsageError where a protected alias holds it.
        """
        version, called = self.of_number(number), self.aliases_of(number)
        if held := [name for name in called if name in self.protected]:
            raise UsageError(f"{self.name}:v{number} has the protected alias {held[0]!r}: move or unprotect it first")
        version.trashed_ns = version.trashed_ns or at_ns
        for alias in called:
            del self.aliases[alias]
        if LATEST in called and (left := self.live()):
            self.aliases[LATEST] = Alias(left[-1].number, at_ns)
        return called

    def restore(self, number: int) -> None:
        """Bring a deleted version back. Raises NoArtifact."""
        version = self.of_number(number)
        if version.trashed_ns and version.trashed_ns == version.expires_ns:
            version.expires_ns = 0  # it had expired: it would be gone again at once
        version.trashed_ns = 0
        if LATEST not in self.aliases:  # it was the last one, and went with it
            newest = self.live()[-1]
            self.aliases[LATEST] = Alias(newest.number, newest.made_ns)

    def retire(self) -> list[Version]:
        """Call the best one so, and take out what the rule does not keep: never one with an alias."""
        # The alias and what it holds are decided in one step: nothing can go between the two.
        if (best := self.best) is not None:
            self.aliases[BEST] = Alias(best.number, max(version.made_ns for version in self.versions))
        if self.keep.last <= 0:
            return []
        live = self.live()
        stays = {version.number for version in live[-self.keep.last :]} | {a.number for a in self.aliases.values()}
        gone = [version for version in live if version.number not in stays]
        self.versions = [version for version in self.versions if version not in gone]
        return gone

    @property
    def best(self) -> Version | None:
        """The version with the best value of the rule's metric; None where no version has a number there."""
        found = [(value, v) for v in self.live() if (value := _number(v.metadata, self.keep.best)) is not None]
        if not self.keep.best or not found:
            return None
        choose = max if self.keep.mode == "max" else min
        return choose(found, key=lambda pair: pair[0])[1]

    def purge(self, *, now_ns: int) -> list[Version]:
        """Expire what has lived its time and has no alias; take out for good what was in the trash for seven days."""
        held = {alias.number for name, alias in self.aliases.items() if name != LATEST or name in self.protected}
        for version in self.live():
            if 0 < version.expires_ns <= now_ns and version.number not in held:
                self.trash(version.number, at_ns=version.expires_ns)
        gone = [version for version in self.versions if 0 < version.trashed_ns <= now_ns - TRASH_NS]
        self.versions = [version for version in self.versions if version not in gone]
        return gone

    def miss(self, absent: Absent) -> None:
        """Say that a version did not come to be."""
        self.absent = [*(known for known in self.absent if known.ask != absent.ask), absent][-_MOST_ABSENT:]

    def _there(self) -> str:
        if not (live := self.live()):
            return "it has no versions"
        names = [*sorted(self.aliases), *(version.name for version in reversed(live))]
        return f"there are {', '.join(names[:8])}{' …' if len(names) > 8 else ''}"


def check_name(name: object) -> str:
    """A name that can be a file's. Raises UsageError."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(
            f"{str(name)[:140]!r} can't be the name of an artifact: use 1 to 128 of A-Z a-z 0-9 . _ -,"
            " a letter or digit first"
        )
    return name


def check_alias(alias: object) -> str:
    """A name of a version that is no number. Raises UsageError."""
    if not isinstance(alias, str) or not _NAME.fullmatch(alias) or _VERSION.fullmatch(alias):
        raise UsageError(
            f"{str(alias)[:140]!r} can't be an alias: use 1 to 128 of A-Z a-z 0-9 . _ -, and not a version such as v3"
        )
    return alias


def check_keep(keep: Keep) -> Keep:
    """A rule that can be. Raises UsageError."""
    if keep.last < 0 or keep.mode not in ("min", "max"):
        raise UsageError(f"a rule keeps the last 0 (all) or more, and the best by min or max; got {keep}")
    return keep


def _number(metadata: dict[str, Any], key: str) -> float | None:
    value = metadata.get(key)
    if value is None and isinstance(metadata.get("metrics"), dict):
        value = metadata["metrics"].get(key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return float(value) if is_number and value is not None else None
