"""Media of a run, as programs read them after the fact."""

import io
import os
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from holter.api.source import Source


class MediaFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a source says of one medium."""

    key: str
    step: int
    at: float
    type: str
    number: int
    """Its place among those of its key and step."""
    path: str
    size: int
    meta: dict[str, Any]


def media_file(entry: dict[str, Any], number: int) -> MediaFile:
    """From an entry of the server."""
    item = entry["items"][number]
    told = {name: entry[name] for name in ("key", "step", "at", "type")}
    return MediaFile(**told, number=number, path=item["path"], size=item["size"], meta=item["meta"])


class ApiMedium:
    """One medium of a run."""

    def __init__(self, source: "Source", run: str, *, told: MediaFile) -> None:
        self._source = source
        self._run = run
        self._told = told

    def __repr__(self) -> str:
        return f"<{self.type} {self.key!r} of step {self.step}: {self.path}>"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in MediaFile.__struct_fields__:
            return getattr(self._told, name)
        raise AttributeError(f"a medium has no {name!r}: it has {', '.join(MediaFile.__struct_fields__)}")

    @property
    def caption(self) -> str:
        """What stands below it."""
        return str(self._told.meta.get("caption", ""))

    def read(self) -> bytes:
        """Its bytes. Raises NoRun where they are not there."""
        return self._source.read_file(self._run, self._told.path)

    def download(self, root: str = ".") -> str:
        """Copy it below a directory as `KEY/STEP-NUMBER.EXT`; returns where it is then."""
        from holter.catalog.read.media_names import file_name

        told = self._told
        target = os.path.join(root, file_name(told.key, told.step, number=told.number, ext=told.path.partition(".")[2]))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(self.read())
        return target

    def to_pil(self) -> Any:
        """A picture of Pillow."""
        import importlib

        return importlib.import_module("PIL.Image").open(io.BytesIO(self.read()))
