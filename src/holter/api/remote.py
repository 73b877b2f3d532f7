"""Runs on a server, asked for over HTTP."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from holter.api.media import MediaFile, media_file
from holter.api.source import FileEntry, Floats, Page, Sampled, Series, Wanted
from holter.errors import FilterError, NoRun, Refused
from holter.wire.binary_columns import decode_tables
from holter.wire.connection import Answer, Connection, quoted
from holter.wire.odd_numbers import in_numbers

MEDIA_AT_ONCE = 1000
POINTS_AT_ONCE = 1_000_000


class RemoteSource:
    """Both sources, for one server and one key. Used by one thread."""

    def __init__(self, connection: Connection, *, url: str = "", key: str = "") -> None:
        self._connection = connection
        self.url = url
        """The address of the server, as its user wrote it."""
        self.key = key

    def page(self, wanted: Wanted) -> Page:
        """A page of runs."""
        query = {name: value for name, value in msgspec.structs.asdict(wanted).items() if value not in (None, "")}
        page: Page = self._ask("GET", "/runs", query=query).json(Page)
        return page

    def detail(self, run: str) -> dict[str, Any]:
        """One run with all that is known of it."""
        found = dict(self._ask("GET", f"/runs/{quoted(run)}").json(dict))
        return {**found, "config": in_numbers(found["config"]), "summary": in_numbers(found["summary"])}

    def verdict(self, run: str) -> dict[str, Any]:
        """Why it ended."""
        return dict(self._ask("GET", f"/runs/{quoted(run)}/verdict").json(dict))

    def edit(self, run: str, changes: Mapping[str, Any]) -> None:
        """Change what people call it."""
        self._ask("PATCH", f"/runs/{quoted(run)}", data=msgspec.json.encode(dict(changes)))

    def delete(self, run: str) -> None:
        """Remove it."""
        self._ask("DELETE", f"/runs/{quoted(run)}")

    def keys(self, run: str) -> list[str]:
        """The names of its metrics."""
        found = self._ask("GET", f"/runs/{quoted(run)}/keys").json(dict)
        return [each["key"] for each in found["keys"]]

    def series(self, run: str, key: str) -> Series:
        """All points of a metric, asked for page by page."""
        pages: list[list[Floats]] = []
        first, has_more = None, True
        while has_more:
            query = {"key": key, "limit": POINTS_AT_ONCE, "from": first}
            [(about, columns)] = decode_tables(self._ask("GET", f"/runs/{quoted(run)}/points", query=query).data)
            pages.append([columns[name].astype(float) for name in ("step", "time", "value")])
            has_more = about["is_cut"]
            first = int(columns["step"][-1]) + 1 if has_more else None
        return Series(*(np.concatenate(parts) for parts in zip(*pages, strict=True)))

    def sampled(self, run: str, keys: Sequence[str], *, x: str, buckets: int) -> dict[str, Sampled]:
        """Metrics in buckets."""
        asked = {"runs": [run], "keys": list(keys), "x": x, "buckets": buckets}
        answer = self._ask("POST", "/series", data=msgspec.json.encode(asked))
        return {
            about["key"]: Sampled(*(columns[name].astype(float) for name in ("last", "value", "min", "max")))
            for about, columns in decode_tables(answer.data)
        }

    def console(self, run: str, count: int) -> list[str]:
        """The last lines."""
        found = self._ask("GET", f"/runs/{quoted(run)}/console", query={"tail": min(count, 10_000)}).json(dict)
        return [line["text"] for line in found["lines"]]

    def files(self, run: str) -> list[FileEntry]:
        """Its files."""
        found = self._ask("GET", f"/runs/{quoted(run)}/files").json(dict)
        return [FileEntry(each["path"], each["size"]) for each in found["files"]]

    def read_file(self, run: str, path: str) -> bytes:
        """The content of one."""
        place = "/".join(map(quoted, path.split("/")))
        return self._ask("GET", f"/runs/{quoted(run)}/files/{place}").data

    def media(self, run: str, key: str | None) -> list[MediaFile]:
        """Its media, asked for page by page."""
        found: list[MediaFile] = []
        keys: list[dict[str, Any]] = self._ask("GET", "/media", query={"runs": run}).json(dict)["media"]
        for told in keys:
            first = told["first"]
            while key in (None, told["key"]) and told["type"] != "histogram" and first is not None:
                asked = {"runs": [run], "keys": [told["key"]], "from": first, "limit": MEDIA_AT_ONCE}
                entries = self._ask("POST", "/media", data=msgspec.json.encode(asked)).json(dict)["entries"]
                found += [media_file(each, number) for each in entries for number in range(len(each["items"]))]
                first = entries[-1]["step"] + 1 if len(entries) == MEDIA_AT_ONCE else None
        return found

    def _ask(self, method: str, path: str, *, query: Mapping[str, Any] | None = None, data: bytes = b"") -> Answer:
        try:
            return self._connection.ask(method, path, query=query, data=data)
        except Refused as error:
            said = "; ".join(filter(None, (str(error), error.why, error.do)))
            if error.status == 404:
                raise NoRun(said) from error
            if error.status == 400 and query and query.get("filter"):
                raise FilterError(said, 0) from error
            raise Refused(error.status, said, why=error.why, do=error.do, retry_s=error.retry_s) from error
