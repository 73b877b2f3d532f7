"""`holter.Artifact`: files for a version, and a version with its files, in the shape that W&B's users know."""

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from holter.artifacts.asks import read_answer
from holter.artifacts.book import LATEST, Book, Version
from holter.artifacts.draft import Draft, plain_metadata
from holter.artifacts.editing import Edit, edit_version, note_use
from holter.errors import NoArtifact, NotSealed, UsageError

if TYPE_CHECKING:
    from holter.artifacts.fetching import ReadPiece
    from holter.artifacts.manifest import Entry, Manifest
    from holter.artifacts.store import Store
    from holter.artifacts.wishes import Wanted

_LOOK_S = 0.02
_AGAIN_S, _AGAIN_LATEST_S = 5.0, 60.0


class Sealed:
    """A version that is there: which one of which book, in a store of this machine."""

    where = ""
    """The server on which it lies; empty for this machine."""

    def __init__(self, store: "Store", book: Book, version: Version, /) -> None:
        self.store = store
        self.book = book
        self.version = version

    def manifest(self) -> "Manifest":
        """Its files. Raises ArtifactDamaged."""
        return self.store.manifest(self.version.digest)

    @contextlib.contextmanager
    def reading(self, only: Iterable[str] | None) -> "Iterator[ReadPiece]":
        """How its pieces are read; nothing that it has is removed meanwhile."""
        with self.store.shared():
            yield self.store.pieces.read

    def delete(self) -> None:
        """Into the trash. Raises UsageError where a protected alias holds it."""
        with self.store.change(self.book.project, self.book.name) as book:
            book.trash(self.version.number, at_ns=time.time_ns())

    def edit(self, edit: Edit) -> None:
        """Say anew what it is called and what is known of it. Raises UsageError."""
        with self.store.change(self.book.project, self.book.name) as book:
            edit_version(book, self.version.number, edit, at_ns=time.time_ns())
        self.book, self.version = book, book.of_number(self.version.number)

    def link(self, wanted: "Wanted") -> "Sealed":
        """The same content under another name, too. Raises UsageError."""
        version = self.store.publish(self.manifest(), wanted)
        return Sealed(self.store, self.store.book(wanted.project, wanted.name), version)

    def note_use(self, run: str) -> None:
        """A run takes it as its input."""
        with self.store.change(self.book.project, self.book.name) as book:
            note_use(book.of_number(self.version.number), run)
        note_use(self.version, run)


class ArtifactFile:
    """A file of a version."""

    def __init__(self, artifact: "Artifact", entry: "Entry") -> None:
        self._artifact = artifact
        self.path = self.name = entry.path
        self.size = entry.bytes
        self.digest = entry.digest
        self.ref = entry.reference

    def ref_target(self) -> str:
        """The address of a reference. Raises UsageError for a file that is kept."""
        if not self.ref:
            raise UsageError(f"{self.path} is no reference: download() gets it")
        return self.ref

    ref_url = ref_target

    def download(self, root: Any = None) -> str:
        """Get this file alone; returns where it is."""
        return os.path.join(self._artifact.download(root, only=[self.path]), self.path)

    def __repr__(self) -> str:
        return f"<{self.path}, {self.size:,} bytes>"


class Artifact(Draft):
    """Files under a name. Once logged it is a version that never changes; `wait()` waits for that."""

    def __init__(
        self,
        name: str,
        type: str,  # noqa: A002  W&B's word
        description: str | None = None,
        metadata: Any = None,
        **others: Any,
    ) -> None:
        super().__init__(name, type, description, metadata)
        self.unsupported = sorted(name for name, value in others.items() if value)
        """What else W&B's takes, and was asked for: whoever logs it says that."""
        self._aliases: list[str] | None = None
        self._sealed: Sealed | None = None
        self._asked: tuple[str, str] | None = None
        self._find: Callable[[int], Sealed] | None = None
        self._start: Callable[[], None] = lambda: None
        self.goes_nowhere = False
        """It was logged to a run that records nothing: there is nothing to wait for."""
        self.project = ""

    @property
    def ask(self) -> str:
        """The wish by which it was logged; empty for none."""
        return self._asked[1] if self._asked is not None else ""

    @classmethod
    def of(cls, sealed: Sealed) -> "Artifact":
        """One that is there."""
        book, version = sealed.book, sealed.version
        made = cls(book.name, book.type, description=version.description, metadata=version.metadata)
        made._sealed, made.project = sealed, book.project
        if version.expires_ns:
            made.ttl_s = (version.expires_ns - version.made_ns) / 1e9
        return made

    def was_asked(self, data: str, ask: str, find: Callable[[int], Sealed], /, *, start: Callable[[], None]) -> None:
        """It was logged: from now on `wait()` can tell. `start` sees to it that somebody is at it."""
        self._asked, self._find, self._start = (data, ask), find, start

    def wait(self, timeout: float | None = None) -> "Artifact":
        """Wait until the version is whole. Raises NotSealed where it can't be, or is not in time."""
        until = None if timeout is None else time.monotonic() + timeout
        again_s, again_at = _AGAIN_S, time.monotonic() + _AGAIN_S
        while self._sealed is None and not self.goes_nowhere:
            if self._asked is None or self._find is None:
                raise NotSealed(f"artifact {self.name} was not logged: run.log_artifact() does it")
            if (said := read_answer(*self._asked)) is not None:
                if said.number < 0:
                    raise NotSealed(f"artifact {self.name} was not kept: {said.why}")
                self._sealed = self._find(said.number)
            elif until is not None and time.monotonic() >= until:
                raise NotSealed(
                    f"artifact {self.name} is not kept yet after {timeout:g} s; that goes on in the background"
                )
            else:
                if time.monotonic() >= again_at:  # whoever was at it was killed, or had no room
                    self._start()
                    again_s = min(2 * again_s, _AGAIN_LATEST_S)
                    again_at = time.monotonic() + again_s
                time.sleep(_LOOK_S)
        return self

    @property
    def state(self) -> str:
        """`PENDING` before it is a version, then `COMMITTED`."""
        return "COMMITTED" if self._sealed is not None else "PENDING"

    @property
    def version(self) -> str:
        """Such as v3. Waits until it is known, as the next ones do."""
        return self._there.version.name

    @property
    def digest(self) -> str:
        """Of its content."""
        return self._there.version.digest

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return self._there.version.bytes

    @property
    def aliases(self) -> list[str]:
        """As they were when somebody looked; what is changed in the list is kept by `save()`."""
        if self._aliases is None:
            self._aliases = self._there.book.aliases_of(self._there.version.number)
        return self._aliases

    @aliases.setter
    def aliases(self, names: Iterable[str]) -> None:
        self._aliases = list(names)

    def save(self, **_: Any) -> None:
        """Have changes of `aliases`, `description`, `metadata` and `ttl` hold. Raises NotSealed, UsageError."""
        self._there.edit(
            Edit(
                aliases=self._aliases,
                description=self.description,
                metadata=plain_metadata(self.metadata),
                ttl_s=self.ttl_s,
            )
        )
        self._aliases = None

    @property
    def qualified_name(self) -> str:
        """`project/name:version`."""
        return f"{self.project}/{self.name}:{self.version}"

    @property
    def manifest(self) -> "Manifest":
        """Its files. Raises ArtifactDamaged."""
        return self._there.manifest()

    def files(self, names: Sequence[str] | None = None, **_: Any) -> list[ArtifactFile]:
        """Its files, all or those of some names. W&B's `per_page` and `start` make no difference."""
        return [ArtifactFile(self, entry) for entry in self.manifest.entries if not names or entry.path in names]

    def get_path(self, name: str) -> ArtifactFile:
        """One file. Raises NoArtifact."""
        if (entry := self.manifest.entry(name)) is None:
            raise NoArtifact(f"there is no file {name!r} in {self.qualified_name}")
        return ArtifactFile(self, entry)

    get_entry = get_path

    def download(self, root: Any = None, *, path_prefix: str = "", only: Iterable[str] | None = None, **_: Any) -> str:
        """Get the files, checked; returns the folder. What is there already is not written again.

        Args:
            root: the folder; left out, `artifacts/NAME:VERSION` of the working directory.
            path_prefix: only files whose name begins so.
        """
        from holter.artifacts.fetching import changed_files, download  # only those who fetch pay for it

        there, manifest = self._there, self.manifest
        folder = os.path.abspath(os.fsdecode(root or os.path.join("artifacts", f"{self.name}:{self.version}")))
        if path_prefix:
            only = [entry.path for entry in manifest.entries if entry.path.startswith(path_prefix)]
        if only is not None or os.path.lexists(folder):
            only = changed_files(manifest, folder, only=only)
        with there.reading(only) as read:
            download(manifest, read, folder, only=only)
        return folder

    def file(self, root: Any = None) -> str:
        """The path of its only file. Raises UsageError where it has several."""
        entries = self.manifest.entries
        if len(entries) != 1:
            raise UsageError(f"{self.qualified_name} has {len(entries)} files: get_path(name).download() gets one")
        return os.path.join(self.download(root), entries[0].path)

    def verify(self, root: Any = None) -> None:
        """Make sure that what was downloaded is what the version has. Raises ArtifactDamaged."""
        from holter.artifacts.fetching import differences
        from holter.errors import ArtifactDamaged

        folder = os.fsdecode(root or os.path.join("artifacts", f"{self.name}:{self.version}"))
        if found := differences(self.manifest, folder):
            raise ArtifactDamaged(f"{folder} is not {self.qualified_name}: {'; '.join(found[:5])}")

    def delete(self, delete_aliases: bool = False) -> None:
        """Put the version into the trash, for seven days. Raises UsageError where an alias holds it.

        Args:
            delete_aliases: also where it has aliases; a protected one always holds it.
        """
        there = self._there
        called = [alias for alias in there.book.aliases_of(there.version.number) if alias != LATEST]
        if called and not delete_aliases:
            raise UsageError(f"{self.qualified_name} has the alias {called[0]!r}: delete_aliases=True deletes both")
        there.delete()

    def logged_by(self) -> Any:
        """The recorded run that made it, as the Api gives it; None where nobody knows it."""
        return next(iter(self._runs([self._there.version.run])), None)

    def used_by(self) -> list[Any]:
        """The recorded runs that used it."""
        return self._runs(self._there.version.used_by)

    def _runs(self, ids: Sequence[str]) -> list[Any]:
        # Recorded runs live above.
        found: list[Any] = importlib.import_module("holter.api.recorded_runs").runs_of(self, ids)
        return found

    if not TYPE_CHECKING:  # where it would hide every slip of the pen

        def __getattr__(self, name: str) -> Any:
            # W&B's words live above.
            if name.startswith("_"):
                raise AttributeError(f"an artifact has no {name!r}")
            return importlib.import_module("holter.wandb_door.artifact_words").attribute(self, name)

    @property
    def sealed(self) -> Sealed:
        """Where it is. Waits until it is known."""
        return self._there

    @property
    def where(self) -> str:
        """The server on which it lies; empty for this machine."""
        return self._there.where

    @property
    def _there(self) -> Sealed:
        self.wait()
        if self._sealed is None:
            raise NotSealed(f"artifact {self.name} is not there")
        return self._sealed

    def __repr__(self) -> str:
        return f"<Artifact {self.type} {self.name}{':' + self.version if self._sealed else ', not kept yet'}>"
