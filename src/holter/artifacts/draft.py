"""`holter.Artifact` before it is logged: which files are to be in it."""

import contextlib
import datetime
import os
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from holter.artifacts.book import check_name
from holter.artifacts.wishes import Source, state_of, walk
from holter.errors import UsageError

_SCHEMES = ("s3", "gs", "az", "http", "https", "file", "hf")
MUTABLE, IMMUTABLE = POLICIES = ("mutable", "immutable")


class Draft:
    """Collects files for a version. Nothing is read before it is logged.

    Args:
        name: 1 to 128 of A-Z a-z 0-9 . _ -
        type: model, dataset, or any other word.
        metadata: anything that JSON can hold.
    """

    def __init__(self, name: str, type: str, description: str | None = None, metadata: Any = None) -> None:  # noqa: A002
        self.name = check_name(name)
        if not type or len(type) > 128:
            raise UsageError(f"the type of an artifact is a word such as model or dataset, got {str(type)[:40]!r}")
        self.type = type
        self.description = description or ""
        self.metadata: dict[str, Any] = dict(metadata or {})
        self.ttl_s = 0.0
        """Seconds after which the version goes unless it has an alias; 0 keeps it."""
        self.same_as = ""
        """An earlier wish, whose files it has, too: then it has none of its own."""
        self._sources: dict[str, tuple[Source, str]] = {}
        self._own = ""

    def add_file(
        self, local_path: Any, name: str | None = None, *, policy: str = MUTABLE, overwrite: bool = False, **_: Any
    ) -> Source:
        """Add a file. Raises UsageError where there is none.

        Args:
            policy: `mutable`: it may be written to after `log_artifact` has returned, which therefore copies it unless
                the file system can share its blocks; `immutable`: nobody will, and `log_artifact` returns at once.
        """
        path = os.path.abspath(os.path.expanduser(os.fsdecode(local_path)))
        try:
            status = os.stat(path)
        except OSError as error:
            raise UsageError(f"can't add {path} to artifact {self.name}: {error.strerror}") from error
        if not os.path.isfile(path):
            raise UsageError(f"can't add {path} to artifact {self.name}: it is no file; add_dir() adds a folder")
        return self._put(
            Source(name or os.path.basename(path), path, state_of(status), bytes=status.st_size), policy, overwrite
        )

    def add_dir(self, local_path: Any, name: str | None = None, *, policy: str = MUTABLE, **_: Any) -> None:
        """Add all files of a folder, under `name` if that is given. Raises UsageError where there is none."""
        folder = os.path.abspath(os.path.expanduser(os.fsdecode(local_path)))
        try:
            for path, status, at in walk(folder, below=f"{name.strip('/')}/" if name else ""):
                self._put(Source(path, at, state_of(status), bytes=status.st_size), policy, True)
        except OSError as error:
            raise UsageError(
                f"can't add {folder} to artifact {self.name}: {error.strerror} ({error.filename})"
            ) from error

    def add_reference(self, uri: Any, name: str | None = None, **_: Any) -> Source:
        """Add something by its address alone: s3://, gs://, http(s)://, file://. Nothing of it is copied.

        Of a file of this machine the size and the time of its last change are kept; of anything else, what it says.
        """
        address = str(getattr(uri, "reference", uri))
        scheme, found, rest = address.partition("://")
        if not found or scheme not in _SCHEMES or not rest:
            raise UsageError(f"{address[:200]!r} is no address: a reference begins with {'://, '.join(_SCHEMES)}://")
        source = Source(
            name or rest.rstrip("/").rpartition("/")[2] or "reference", reference=address, digest=f"ref:{address}"
        )
        if scheme == "file":
            with contextlib.suppress(OSError):
                status = os.stat("/" + rest.lstrip("/"))
                known = f"ref:{address}@{status.st_size}-{status.st_mtime_ns}"
                source = Source(source.path, reference=address, bytes=status.st_size, digest=known)
        return self._put(source, IMMUTABLE, True)

    @contextlib.contextmanager
    def new_file(
        self, name: str, mode: str = "x", *, encoding: str | None = None, policy: Any = None
    ) -> Iterator[IO[Any]]:
        """Write a file that is in the artifact when the block ends. W&B's `policy` makes no difference."""
        import tempfile  # only those who write here pay for it
        import weakref

        if mode not in ("x", "w", "xb", "wb"):
            raise UsageError(f"the mode of a new file is x, w, xb or wb; got {mode!r}")
        if not self._own:
            self._own = tempfile.mkdtemp(prefix="holter-artifact-")
            weakref.finalize(self, _remove_own, self._own, os.getpid())
        path = os.path.join(self._own, f"{len(self._sources)}-{os.path.basename(name)}")
        with open(path, mode, encoding=None if "b" in mode else encoding or "utf-8") as file:
            yield file
        # Copied with the call, for it goes with this process.
        self.add_file(path, name, overwrite="w" in mode)

    def remove(self, item: Any) -> None:
        """Take a file out again. Raises UsageError where it is not in."""
        name = str(getattr(item, "path", item))
        gone = [path for path in self._sources if path == name or path.startswith(f"{name}/")]
        if not gone:
            raise UsageError(f"there is no {name!r} in artifact {self.name}")
        for path in gone:
            del self._sources[path]

    @property
    def ttl(self) -> datetime.timedelta | None:
        """After which time the version goes unless it has an alias; None keeps it."""
        return datetime.timedelta(seconds=self.ttl_s) if self.ttl_s else None

    @ttl.setter
    def ttl(self, wanted: Any) -> None:
        self.ttl_s = seconds_of(wanted)

    @property
    def tags(self) -> list[str]:
        """W&B's labels; they are kept with the metadata."""
        return list(self.metadata.get("tags") or ())

    @tags.setter
    def tags(self, names: Any) -> None:
        self.metadata["tags"] = [names] if isinstance(names, str) else list(names or ())

    @property
    def wanted_sources(self) -> list[tuple[Source, str]]:
        """What is in it, each with its policy."""
        return [self._sources[path] for path in sorted(self._sources)]

    def _put(self, source: Source, policy: str, overwrite: bool, /) -> Source:
        if policy not in POLICIES:
            raise UsageError(f"policy must be mutable or immutable, got {policy!r}")
        there = self._sources.get(source.path)
        if there is not None and not overwrite and there[0] != source:
            raise UsageError(f"there is a {source.path!r} in artifact {self.name} already: overwrite=True replaces it")
        self._sources[source.path] = source, policy
        return source


def _remove_own(folder: str, pid: int) -> None:
    if pid == os.getpid():  # and in no forked child
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def plain_metadata(given: Any) -> dict[str, Any]:
    """As JSON holds it; what it can't hold becomes text."""
    found = msgspec.json.decode(msgspec.json.encode(dict(given), enc_hook=_plain))
    return found if isinstance(found, dict) else {}


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", 0) == 0 else str(value)


def seconds_of(ttl: Any) -> float:
    """How long that is; 0 for None, as for W&B's INHERIT. Raises UsageError."""
    if not ttl:
        return 0.0
    seconds = ttl.total_seconds() if isinstance(ttl, datetime.timedelta) else ttl
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise UsageError(f"the time to live is a timedelta, seconds or None, and more than nothing; got {ttl!r}")
    return float(seconds)
