"""`holter.Api()`: reads runs from Python, from a server or, without one, from the local directory."""

import os
from collections.abc import Iterator, Sequence
from typing import overload

from holter.api.run import ApiRun
from holter.api.source import Page, Source, Wanted
from holter.model.struct_types import prepare_structs
from holter.recording.login import find_upload, warn_of_listeners
from holter.recording.settings import read_settings
from holter.recording.voice import Voice

PAGE = 200


class Api:
    """Recorded runs, here or on a server. Not thread-safe: make one for each thread.

    Args:
        url: the server; left out, HOLTER_URL or that of `holter login`, else the local directory.
        api_key: the key for it; left out, HOLTER_API_KEY or that of `holter login`.
        directory: read this data directory, whatever server there is.
    """

    def __init__(
        self, url: str | None = None, api_key: str | None = None, *, directory: str | os.PathLike[str] | None = None
    ) -> None:
        prepare_structs()  # others may read in other threads
        settings = read_settings({"url": url, "api_key": api_key, "dir": directory}, os.environ)
        upload = find_upload(settings) if directory is None else None
        warn_of_listeners(upload, Voice().warn)
        self.where = upload.url if upload is not None else settings.dir
        """The address or the directory from which it reads."""
        self._source: Source
        if upload is not None:
            from holter.api.remote import RemoteSource
            from holter.wire.connection import Connection, parse_address

            self._source = RemoteSource(Connection(parse_address(upload.url), upload.key, timeout_s=120))
        else:
            from holter.api.local import LocalSource
            from holter.catalog.catalog import Catalog
            from holter.model.state import read_lateness

            self._source = LocalSource(Catalog(settings.dir, read_lateness(os.environ)))

    def runs(self, project: str | None = None, filter: str = "", *, sort: str = "", limit: int | None = None) -> "Runs":  # noqa: A002
        """Runs that fit a filter such as `state = crashed and config.lr > 1e-4`, the newest first.

        Args:
            project: only runs of this project; `team/project` is read as well.
            filter: over the fields of a run, `config.…` and `summary.…`.
            sort: such as `-summary.loss, name`; a minus sorts downwards.
            limit: at most so many.
        """
        name = project.rpartition("/")[2] if project else None
        return Runs(self._source, Wanted(project=name, filter=filter, sort=sort), limit=limit)

    def run(self, run: str) -> ApiRun:
        """One run by its id; `project/id` is read as well. Raises NoRun."""
        return ApiRun(self._source, self._source.detail(run.rpartition("/")[2]))


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
        import msgspec

        limit = PAGE if self._limit is None else min(PAGE, max(0, self._limit - start))
        return self._source.page(msgspec.structs.replace(self._wanted, offset=start, limit=limit))
