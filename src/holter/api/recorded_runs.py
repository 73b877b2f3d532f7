"""`holter.Api()`: reads runs from Python, from a server or, without one, from the local directory."""

import contextlib
import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import msgspec

from holter.api.mongo import filter_text, sort_text
from holter.api.run import ApiRun
from holter.api.source import Page, Source, Wanted
from holter.errors import NoRun, UsageError
from holter.model.struct_types import prepare_structs
from holter.recording.login import find_upload, warn_of_listeners
from holter.recording.settings import read_settings
from holter.recording.voice import Voice

if TYPE_CHECKING:
    from holter.api.sweeps import ApiSweep
    from holter.artifacts.artifact import Artifact
    from holter.artifacts.far import FarStore
    from holter.artifacts.store import Store
    from holter.sweeps.present import SweepLine

PAGE = 200


class Api:
    """Recorded runs, here or on a server. Not thread-safe: make one for each thread.

    Args:
        url: the server; left out, HOLTER_URL or that of `holter login`, else the local directory.
        api_key: the key for it; left out, HOLTER_API_KEY or that of `holter login`.
        directory: read this data directory, whatever server there is.
        timeout: how many seconds to wait for the server's answer.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        directory: str | os.PathLike[str] | None = None,
        timeout: float | None = None,
    ) -> None:
        prepare_structs()  # others may read in other threads
        settings = read_settings({"url": url, "api_key": api_key, "dir": directory}, os.environ)
        upload = find_upload(settings) if directory is None else None
        warn_of_listeners(upload, Voice().warn)
        self.where = upload.url if upload is not None else settings.dir
        """The address or the directory from which it reads."""
        self._settings, self._upload = settings, upload
        self._source: Source
        if upload is not None:
            from holter.api.remote import RemoteSource
            from holter.wire.connection import Connection, parse_address

            connection = Connection(parse_address(upload.url), upload.key, timeout_s=timeout or 120)
            self._source = RemoteSource(connection, url=upload.url, key=upload.key)
        else:
            from holter.api.local import LocalSource
            from holter.catalog.catalog import Catalog
            from holter.model.state import read_lateness

            self._source = LocalSource(Catalog(settings.dir, read_lateness(os.environ)))

    def runs(
        self,
        project: str | None = None,
        filter: str | Mapping[str, Any] = "",  # noqa: A002
        *,
        sort: str = "",
        limit: int | None = None,
        **others: Any,
    ) -> "Runs":
        """Runs that fit a filter such as `state = crashed and config.lr > 1e-4`, the newest first.

        Args:
            project: only runs of this project; `team/project` is read as well.
            filter: over the fields of a run, `config.…` and `summary.…`; or one of W&B's, as a dict.
            sort: such as `-summary.loss, name`; a minus sorts downwards.
            limit: at most so many.
            others: W&B's words for the same: `path`, `filters`, `order`; and `per_page`, which makes no difference.
        """
        words = _understood(others)
        project, sort = words.path or project, words.order or sort
        where = words.filters or (filter if isinstance(filter, str) else filter_text(filter))
        name = project.rpartition("/")[2] if project else None
        return Runs(self._source, Wanted(project=name, filter=where, sort=sort), limit=limit)

    def run(self, path: str) -> ApiRun:
        """One run by its id; `project/id` is read as well. Raises NoRun."""
        return ApiRun(self._source, self._source.detail(path.rpartition("/")[2]))

    def sweep(self, path: str) -> "ApiSweep":
        """One sweep by its id; `entity/project/id` is read as well. Raises NoSweep."""
        from holter.api.sweeps import ApiSweep  # Optuna's part of holter
        from holter.sweeps.opening import Place

        return ApiSweep(self, Place(self._settings, self._upload).find(path))

    def sweeps(self, project: str = "") -> "list[SweepLine]":
        """The sweeps of a project, or all, the newest first."""
        from holter.sweeps.opening import Place

        name = project.rpartition("/")[2]
        return [each for each in Place(self._settings, self._upload).all() if name in ("", each.project)]

    if not TYPE_CHECKING:  # where it would hide every slip of the pen

        def __getattr__(self, name: str) -> Any:
            # W&B's words live above the Api.
            return importlib.import_module("holter.wandb_door.api_words").of_api(self, name)

    def artifact(self, name: str, type: str | None = None) -> "Artifact":  # noqa: A002  W&B's word
        """A version by its name, such as `project/name:best`. Raises NoArtifact."""
        from holter.api.artifacts import find_artifact

        return find_artifact(self._store(), name, type_=type, project=self._settings.project)

    def artifacts(
        self,
        type: str | None = None,  # noqa: A002  as above
        name: str = "",
        *,
        project: str | None = None,
        type_name: str | None = None,
        tags: Sequence[str] | str | None = None,
        **others: Any,
    ) -> "list[Artifact]":
        """The versions of a name, or of all names of a type, newest first; here of one project, or of all.

        Args:
            type_name: W&B's word for the type.
            tags: only versions that have all of these.
            others: W&B's `per_page`, `start` and `order`, which make no difference.
        """
        from holter.api.artifacts import list_artifacts

        if wrong := sorted(others.keys() - {"per_page", "start", "order"}):
            raise UsageError(f"artifacts() has no argument {wrong[0]!r}: it takes type, name, project and tags")
        usual = self._settings.project
        found = list_artifacts(self._store(), type_=type or type_name, name=name, project=project, usual=usual)
        wanted = {tags} if isinstance(tags, str) else set(tags or ())
        return [each for each in found if wanted <= set(each.tags)]

    def _store(self) -> "Store | FarStore":
        if self._upload is None:
            from holter.artifacts.store import Store

            return Store(self.where)
        from holter.artifacts.far import open_far

        return open_far(self._upload.url, self._upload.key, data=self._settings.dir)


def runs_of(artifact: "Artifact", ids: Sequence[str]) -> list[ApiRun]:
    """Recorded runs, as far as they are there, on the server or the machine that has a version."""
    there = artifact.sealed
    api = Api(there.where) if there.where else Api(directory=there.store.data)
    found = []
    for run in filter(None, ids):
        with contextlib.suppress(NoRun):  # it was deleted
            found.append(api.run(run))
    return found


class _Words(msgspec.Struct):
    """W&B's arguments of `runs`."""

    path: str = ""
    filters: str = ""
    order: str = ""


def _understood(others: Mapping[str, Any]) -> _Words:
    known = {"path", "filters", "order", "per_page", "include_sweeps", "lazy", "api_key"}
    if wrong := sorted(others.keys() - known):
        raise UsageError(f"runs() has no argument {wrong[0]!r}: it takes project, filter, sort and limit")
    filters = others.get("filters")
    return _Words(
        path=others.get("path") or "",
        filters=filters if isinstance(filters, str) else filter_text(filters or {}),
        order=sort_text(others.get("order") or ""),
    )


class Runs(Sequence[ApiRun]):
    """Runs, fetched page by page as they are looked at."""

    def __init__(self, source: Source, wanted: Wanted, *, limit: int | None) -> None:
        self._source = source
        self._wanted = wanted
        self._limit = limit
        first = self._fetch(0)
        self._pages: dict[int, Page] = {0: first}
        self._count = first.total if limit is None else min(first.total, limit)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ApiRun]:
        for place in range(self._count):
            yield self[place]

    @overload
    def __getitem__(self, place: int) -> ApiRun: ...
    @overload
    def __getitem__(self, place: slice) -> list[ApiRun]: ...
    def __getitem__(self, place: int | slice) -> ApiRun | list[ApiRun]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(self._count))]
        if place < 0:
            place += self._count
        if not 0 <= place < self._count:
            raise IndexError(place)
        number = place // PAGE
        if number not in self._pages:
            self._pages[number] = self._fetch(number * PAGE)
        found = self._pages[number].runs
        if place % PAGE >= len(found):  # some were deleted since they were counted
            raise IndexError(place)
        return ApiRun(self._source, dict(found[place % PAGE]))

    def _fetch(self, start: int) -> Page:
        limit = PAGE if self._limit is None else min(PAGE, max(0, self._limit - start))
        return self._source.page(msgspec.structs.replace(self._wanted, offset=start, limit=limit))
