"""What a version consists of: its files, and the pieces in which their bytes lie."""

import hashlib
from collections.abc import Iterable

import msgspec

from holter.artifacts.packing import pack, unpack
from holter.errors import ArtifactDamaged

FORMAT = 1


class Span(msgspec.Struct, frozen=True, array_like=True):
    """A part of a file: where in which piece it lies."""

    piece: int
    """The place of the piece in its manifest."""
    offset: int
    length: int


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One file, or a reference to something that lies elsewhere."""

    path: str
    bytes: int
    digest: str
    """`sha256:…` of its bytes; `tree:…` of the digests of its parts where it has several; of a reference what is
    known of its content."""
    spans: tuple[Span, ...] = ()
    """In this order they are the file."""
    reference: str = ""
    """The address where it lies; such an entry has no spans."""


class Manifest(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """All of a version's files, by path. Never changed once it is sealed."""

    format: int = FORMAT
    entries: tuple[Entry, ...]
    pieces: tuple[tuple[str, int], ...] = ()
    """Digest and size of each piece that the spans name."""

    @property
    def bytes(self) -> int:
        """What its files have together, those included that are only referred to."""
        return sum(entry.bytes for entry in self.entries)

    def entry(self, path: str) -> Entry | None:
        """The file of this name."""
        return next((entry for entry in self.entries if entry.path == path), None)


def content_digest(entries: Iterable[Entry]) -> str:
    """What makes a version the same as another: names and contents of its files, however they are stored."""
    digest = hashlib.sha256()
    for entry in sorted(entries, key=lambda entry: entry.path):
        digest.update(f"{entry.path}\0{entry.digest}\0{entry.bytes}\0{entry.reference}\n".encode())
    return digest.hexdigest()


def encode(manifest: Manifest) -> bytes:
    """As it is stored and sent."""
    return pack(msgspec.json.encode(manifest))


def decode(data: bytes, digest: str, *, most_bytes: int = 1 << 30) -> Manifest:
    """The manifest of this digest. Raises ArtifactDamaged for bytes that are none, or of another."""
    try:
        manifest = msgspec.json.decode(unpack(data, most_bytes=most_bytes), type=Manifest)
    except (msgspec.DecodeError, ValueError) as error:
        raise ArtifactDamaged(f"the manifest {digest[:12]} can't be read: {error}") from error
    if content_digest(manifest.entries) != digest:
        raise ArtifactDamaged(f"the manifest {digest[:12]} has another content than its name says")
    look_through(manifest)
    return manifest


def look_through(manifest: Manifest) -> None:
    """Make sure that its spans are inside of its pieces, and its names inside of a folder. Raises ArtifactDamaged."""
    for piece, _ in manifest.pieces:
        if not is_digest(piece):
            raise ArtifactDamaged(f"{piece[:70]!r} is no digest of a piece")
    seen = set()
    for entry in manifest.entries:
        if not is_inside(entry.path) or entry.path in seen:
            raise ArtifactDamaged(f"{entry.path[:200]!r} can't be the name of a file in an artifact")
        seen.add(entry.path)
        if not entry.reference and sum(span.length for span in entry.spans) != entry.bytes:
            raise ArtifactDamaged(f"the parts of {entry.path!r} do not make its {entry.bytes:,} bytes")
        for span in entry.spans:
            whole = manifest.pieces[span.piece][1] if 0 <= span.piece < len(manifest.pieces) else -1
            if span.offset < 0 or span.length < 0 or span.offset + span.length > whole:
                raise ArtifactDamaged(f"a part of {entry.path!r} lies outside of its piece")


def is_inside(path: str) -> bool:
    """Whether it names something below a folder and nothing else, on any system."""
    parts = path.split("/")
    bad = "\0" in path or "\\" in path or len(path.encode(errors="replace")) > 1024
    return not bad and all(part not in ("", ".", "..") and len(part) <= 255 for part in parts)


def is_digest(text: str) -> bool:
    """Whether it is a SHA-256 as we write it, and so a safe name of a file."""
    return len(text) == 64 and frozenset("0123456789abcdef").issuperset(text)
