"""What people say anew of a version that is there. Pure."""

from typing import Any

import msgspec

from holter.artifacts.book import LATEST, Book, Version, check_alias
from holter.errors import NoArtifact, UsageError


class Edit(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What somebody says anew of a version; None for what stays as it is. Its content never changes."""

    aliases: list[str] | None = None
    """All that it has, beside `latest`: those that are not here go."""
    description: str | None = None
    metadata: dict[str, Any] | None = None
    ttl_s: float | None = None
    """From when it was made; 0 keeps it."""


def edit_version(book: Book, number: int, edit: Edit, /, *, at_ns: int) -> None:
    """Say anew what a version is called, and what is known of it. Raises NoArtifact, UsageError."""
    version = book.of_number(number)
    if edit.aliases is not None:
        have, wanted = {*book.aliases_of(number)} - {LATEST}, {*edit.aliases} - {LATEST}
        if held := sorted((have - wanted) & {*book.protected}):
            raise UsageError(f"the alias {held[0]!r} of {book.name}:v{number} is protected: unprotect it first")
        for alias in sorted(have - wanted):
            book.move(alias, None, at_ns=at_ns)
        for alias in sorted(wanted - have):
            book.move(check_alias(alias), number, at_ns=at_ns)
    if edit.description is not None:
        version.description = edit.description
    if edit.metadata is not None:
        version.metadata = edit.metadata
    if edit.ttl_s is not None:
        version.expires_ns = version.made_ns + int(edit.ttl_s * 1e9) if edit.ttl_s else 0


def protect(book: Book, alias: str, *, is_on: bool) -> None:
    """Have an alias hold its version, or no more. Raises NoArtifact where nobody has it."""
    if alias not in book.aliases:
        raise NoArtifact(f"{book.name} has no alias {alias!r}: `holter artifact ls {book.name}` lists them")
    book.protected = [name for name in book.protected if name != alias] + [alias] * is_on


def merge(there: Book, book: Book) -> None:
    """Add the versions of a book to another one of the same name, or to a new one, where their numbers stay."""
    if not there.next_number:
        for field in Book.__struct_fields__:
            setattr(there, field, getattr(book, field))
        return
    for version in book.live():
        there.add(version, aliases=tuple(alias for alias in book.aliases_of(version.number) if alias != LATEST))


def version_of_content(book: Book, digest: str) -> Version:
    """The version of this digest. Raises NoArtifact."""
    for version in book.versions:
        if version.digest == digest:
            return version
    raise NoArtifact(f"{book.name} has no version with the content {digest[:12]}")


def note_use(version: Version, run: str) -> None:
    """A run takes it as its input. Idempotent."""
    if run not in version.used_by:
        version.used_by.append(run)
