"""Remembers which kernels of a notebook record, so that the next one finds those that died.

`kernels/<notebook>/<pid>-<start>.json` in the data directory is there while a kernel has a run that has not ended
well. Whoever takes the file of a dead kernel away shows that death: so each is shown once.
"""

import contextlib
import os
import zlib
from collections.abc import Sequence

import msgspec

from holter.client.notebook.place import Place
from holter.journal.kept_files import replace_file
from holter.journal.rundir import make_private
from holter.model.cutting import as_utf8
from holter.probes.identity import ProcessIdentity, is_alive

FOLDER = "kernels"
# A notebook that dies again and again is looked at no more than so often in one go.
MOST_LOOKED_AT = 32


class Entry(msgspec.Struct, kw_only=True):
    """One kernel, and its runs in the order in which they were opened."""

    process: ProcessIdentity
    place: str
    runs: list[str]


_decode = msgspec.json.Decoder(Entry).decode


class Registry:
    """The kernels of one notebook in one data directory. A directory that can't be written costs the cards only."""

    def __init__(self, data: str, place: Place) -> None:
        kind = "notebook" if place.is_notebook else "directory"
        key = f"{kind}:{place.path}".encode("utf-8", "surrogateescape")
        self._place = place
        self._directory = os.path.join(data, FOLDER, f"{zlib.crc32(key):08x}{zlib.adler32(key):08x}")

    def write(self, process: ProcessIdentity, runs: Sequence[str]) -> None:
        """This kernel records these runs; none: forget it."""
        path = self._path(process)
        with contextlib.suppress(OSError):
            if not runs:
                os.unlink(path)
                return
            make_private(self._directory)
            entry = Entry(process=process, place=as_utf8(self._place.path), runs=list(runs))
            replace_file(path, msgspec.json.encode(entry))

    def dead(self) -> list[Entry]:
        """Those kernels of this host whose process is gone, the one that began last first; cheap where there is none.

        Kernels of other hosts and containers stay: only there somebody can tell.
        """
        found = []
        for name in self._names()[:MOST_LOOKED_AT]:
            entry = self._read(os.path.join(self._directory, name))
            if entry is not None and entry.place == as_utf8(self._place.path) and is_alive(entry.process) is False:
                found.append(entry)
        return found

    def claim(self, entry: Entry) -> bool:
        """Be the one who shows this death; false where somebody else was. Durable, and atomic among processes."""
        try:
            os.unlink(self._path(entry.process))
        except OSError:
            return False
        return True

    def _names(self) -> list[str]:
        try:
            with os.scandir(self._directory) as entries:
                found = [(each.stat().st_mtime_ns, each.name) for each in entries if each.name.endswith(".json")]
        except OSError:
            return []
        return [name for _, name in sorted(found, reverse=True)]

    def _read(self, path: str) -> Entry | None:
        try:
            with open(path, "rb") as file:
                return _decode(file.read(64 << 10))
        except (OSError, msgspec.MsgspecError):
            return None

    def _path(self, process: ProcessIdentity) -> str:
        # Containers of one host may give the same numbers to different processes.
        other = zlib.crc32(f"{process.host}/{process.boot_id}/{process.pid_namespace}".encode())
        return os.path.join(self._directory, f"{process.pid}-{process.started}-{other:08x}.json")
