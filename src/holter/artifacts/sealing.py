"""From files to a version: read once, divided, kept where it is new, and published when all of it is on the disk."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from holter.artifacts.book import Version
from holter.artifacts.manifest import Entry, Manifest, Span, is_inside
from holter.artifacts.pieces import Draft
from holter.artifacts.splitting import LARGEST_BYTES, SMALL_BYTES, parts_of
from holter.artifacts.store import Store
from holter.artifacts.wishes import Source, Wanted, state_of
from holter.errors import ArtifactDamaged, NotSealed, PiecesMissing

_PACK_BYTES = 4 << 20


def seal(store: Store, sources: Iterable[Source], wanted: Wanted, /) -> Version:
    """Make a version of files. Raises NotSealed, and then nothing of it is to be seen."""
    sources = sorted(sources, key=lambda source: source.path)
    _check_names(sources)
    try:
        return _seal(store, sources, wanted, _base(store, wanted))
    except PiecesMissing:
        # What was there when we looked went with the last version that named it. Now nothing goes until we are done.
        with store.shared():
            return _seal(store, sources, wanted, {})


def _seal(
    store: Store, sources: list[Source], wanted: Wanted, base: dict[str, tuple[tuple[str, int], Span]]
) -> Version:
    with store.draft() as draft:
        with contextlib.closing(_Building(draft, base)) as building:
            manifest = building.build(sources)
        draft.place()
        return store.publish(manifest, wanted, new_bytes=draft.new_bytes)


def _check_names(sources: list[Source]) -> None:
    last = ""
    for source in sources:
        if not is_inside(source.path):
            raise NotSealed(f"{source.path[:200]!r} can't be the name of a file in an artifact")
        if source.path == last:
            raise NotSealed(
                f"two files would be {last!r} in {len(sources)} files of one artifact: name one differently"
            )
        last = source.path


def _base(store: Store, wanted: Wanted) -> dict[str, tuple[tuple[str, int], Span]]:
    """Where small contents of the newest version lie, by digest: they need no second place."""
    book = store.look(wanted.project, wanted.name)
    if book is None or not (live := book.live()):
        return {}
    try:
        manifest = store.manifest(live[-1].digest)
    except ArtifactDamaged:
        return {}
    small = (entry for entry in manifest.entries if len(entry.spans) == 1 and entry.bytes < SMALL_BYTES)
    return {entry.digest: (manifest.pieces[entry.spans[0].piece], entry.spans[0]) for entry in small}


class _Building:
    """One manifest while it is made."""

    def __init__(self, draft: Draft, base: dict[str, tuple[tuple[str, int], Span]]) -> None:
        self._draft = draft
        self._base = base
        self._pieces: list[tuple[str, int]] = []
        self._places: dict[str, int] = {}
        self._pack = bytearray()
        self._pack_place = -1
        self._packed: dict[str, Span] = {}
        self._buffer = bytearray()
        self._bundle: BinaryIO | None = None

    def build(self, sources: Iterable[Source]) -> Manifest:
        entries = tuple(self._entry(source) for source in sources)
        self._close_pack()
        return Manifest(entries=entries, pieces=tuple(self._pieces))

    def _entry(self, source: Source) -> Entry:
        if source.reference:
            return Entry(source.path, source.bytes, source.digest, reference=source.reference)
        if source.offset >= 0:
            return self._bundled(source)
        with _reading(source):
            # Unbuffered: parts are read whole. What was a file may be a pipe now, and must not be waited for.
            fd = os.open(source.at, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with open(fd, "rb", buffering=0) as file:
            with _reading(source):
                status = os.fstat(fd)
                self._check(source, status)
                if source.state is None and source.bytes and status.st_size != source.bytes:
                    # A machine that lost power may have kept the wish, and only the beginning of the copy.
                    raise NotSealed(_cut_off(source))
                lengths = parts_of(file, status.st_size)
            spans, digest = self._read(file.readinto, lengths, source)
            with _reading(source):
                # Its times, and whether the name still means this file.
                self._check(source, os.stat(source.at), os.fstat(fd))
                if state_of(os.stat(source.at)) != state_of(status):
                    raise NotSealed(_changed(source))
        return Entry(source.path, status.st_size, digest, spans)

    def _bundled(self, source: Source) -> Entry:
        with _reading(source):
            if self._bundle is None or self._bundle.name != source.at:
                self.close()
                self._bundle = open(source.at, "rb", buffering=1 << 20)  # noqa: SIM115  closed by `close`
            self._bundle.seek(source.offset)
            data = memoryview(self._bundle.read(source.bytes))
        if len(data) != source.bytes:
            raise NotSealed(_cut_off(source))
        digest, span = self._keep(data) if data else (hashlib.sha256().hexdigest(), None)
        return Entry(source.path, source.bytes, f"sha256:{digest}", (span,) if span else ())

    def close(self) -> None:
        """Idempotent."""
        if self._bundle is not None:
            self._bundle.close()

    @staticmethod
    def _check(source: Source, *now: os.stat_result) -> None:
        for status in now:
            if not stat.S_ISREG(status.st_mode):
                raise NotSealed(f"{source.path} is no regular file: {source.at}")
            if source.state is not None and state_of(status) != tuple(source.state):
                raise NotSealed(_changed(source))

    def _read(self, readinto: object, lengths: list[int], source: Source) -> tuple[tuple[Span, ...], str]:
        spans, digests = [], []
        for length in lengths:
            data = self._take(readinto, length, source)
            digest, span = self._keep(data)
            data.release()
            digests.append(digest)
            spans.append(span)
        if not digests:
            return (), "sha256:" + hashlib.sha256().hexdigest()
        if len(digests) == 1:
            return tuple(spans), f"sha256:{digests[0]}"
        return tuple(spans), "tree:" + hashlib.sha256("".join(digests).encode()).hexdigest()

    def _take(self, readinto: object, length: int, source: Source) -> memoryview:
        if len(self._buffer) < length:
            self._buffer = bytearray(min(LARGEST_BYTES, max(length, 1 << 20)))
        view, filled = memoryview(self._buffer)[:length], 0
        while filled < length:
            with _reading(source):
                count = readinto(view[filled:])  # type: ignore[operator]  # of a raw file
            if not count:
                raise NotSealed(_changed(source))
            filled += count
        return view

    def _keep(self, data: memoryview) -> tuple[str, Span]:
        size = len(data)
        if size >= SMALL_BYTES:
            digest = self._draft.add(data)
            return digest, Span(self._place(digest, size), 0, size)
        digest = hashlib.sha256(data).hexdigest()
        if span := self._packed.get(digest):
            return digest, span
        if old := self._base.get(f"sha256:{digest}"):
            (piece, whole), before = old
            span = Span(self._place(piece, whole), before.offset, before.length)
        else:
            span = self._add_to_pack(data)
        self._packed[digest] = span
        return digest, span

    def _add_to_pack(self, data: memoryview) -> Span:
        if len(self._pack) + len(data) > _PACK_BYTES:
            self._close_pack()
        if self._pack_place < 0:
            self._pack_place = len(self._pieces)
            self._pieces.append(("", 0))
        offset = len(self._pack)
        self._pack += data
        return Span(self._pack_place, offset, len(data))

    def _close_pack(self) -> None:
        if self._pack_place >= 0:
            self._pieces[self._pack_place] = self._draft.add(bytes(self._pack)), len(self._pack)
        self._pack, self._pack_place = bytearray(), -1

    def _place(self, digest: str, size: int) -> int:
        if digest not in self._places:
            self._places[digest] = len(self._pieces)
            self._pieces.append((digest, size))
        return self._places[digest]


@contextlib.contextmanager
def _reading(source: Source) -> Iterator[None]:
    """What can't be read makes no version; what can't be written, where pieces are kept, may be tried again."""
    try:
        yield
    except OSError as error:
        raise NotSealed(f"{source.path} can't be read: {error.strerror} ({source.at})") from error


def _cut_off(source: Source) -> str:
    return f"the copy of {source.path} is not whole ({source.at})"


def _changed(source: Source) -> str:
    return (
        f"{source.path} changed while it was kept ({source.at}): write to another file, or log it with policy='mutable'"
    )
