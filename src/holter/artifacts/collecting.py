"""Frees what no version names any more. Safe beside writers: it looks while they work, and removes alone."""

import msgspec

from holter.artifacts.versions import Versions
from holter.errors import ArtifactDamaged

GRACE_S = 3600.0
"""What was added or asked for so recently may be part of a version that is still to come."""


class Collected(msgspec.Struct):
    """What a collection did."""

    pieces: int = 0
    bytes: int = 0
    versions: int = 0
    """So many left the trash for good."""
    is_done: bool = True
    """False where somebody published at that moment: the next one does it."""
    trouble: str = ""
    """Why nothing was removed, where that is so: what is named can't be told."""


def collect(store: Versions, *, now_ns: int, grace_s: float = GRACE_S) -> Collected:
    """Take out what is due, then remove pieces and manifests that no version names. Raises OSError."""
    done = Collected()
    marked: dict[str, list[str]] = {}
    try:
        for book in store.all_books():
            if any(version.trashed_ns or version.expires_ns for version in book.versions):
                with store.change(book.project, book.name) as changed:
                    done.versions += len(changed.purge(now_ns=now_ns))
        _mark(store, marked)  # most of the work, while others write
        with store.shelf.alone() as remove:
            done.is_done = remove is not None
            if remove is not None:
                done.pieces, done.bytes = remove(_mark(store, marked), grace_s)
    except ArtifactDamaged as error:
        done.trouble = str(error)
    return done


def _mark(store: Versions, marked: dict[str, list[str]]) -> set[str]:
    """The manifests that books name, with their pieces; none is read twice. Raises ArtifactDamaged."""
    named = {version.digest for book in store.all_books() for version in book.versions}
    for digest in named - marked.keys():
        marked[digest] = [piece for piece, _ in store.manifest(digest).pieces]
    for digest in marked.keys() - named:
        del marked[digest]
    return named.union(*marked.values())
