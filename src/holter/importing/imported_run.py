"""Writes a run of another tracker as one of ours: not seen by anybody until it is whole."""

import contextlib
import hashlib
import os
import shutil
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Protocol, Self

import msgspec

from holter.catalog.change.trash import Trash
from holter.client.recorder import Recorder
from holter.console.files import DEFAULT_LIMIT, claim_name
from holter.console.transcript import TranscriptWriter
from holter.errors import UsageError
from holter.journal.rundir import make_private, run_directory
from holter.model.bounds import LAST_STEP
from holter.model.clock import Clock
from holter.model.masking import Masking
from holter.model.records import Alerted, Configured, Console, Described, Finished, Noted, Opened, Summarised
from holter.version import __version__

MOST_FILES = 10_000
MOST_FILE_BYTES = 1 << 30
_LATEST_NS = 9_000_000_000_000_000_000
_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is called where it comes from."""

    kind: str
    identity: str
    """Tells it from all others of its kind, each time that it is imported."""
    project: str
    name: str
    started_ns: int
    host: str = ""
    entity: str = ""
    group: str = ""
    job_type: str = ""
    notes: str = ""
    tags: tuple[str, ...] = ()

    @property
    def run(self) -> str:
        """The id that it has here: always the same one."""
        number = int.from_bytes(hashlib.sha256(f"{self.kind}:{self.identity}".encode("utf-8", "replace")).digest()[:8])
        letters = []
        for _ in range(11):
            number, digit = divmod(number, 36)
            letters.append(_LETTERS[digit])
        return "i" + "".join(letters)


class Source(Protocol):
    """A run as it lies with another tracker."""

    @property
    def origin(self) -> Origin:
        """What it is called."""

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""

    def read_into(self, run: "ImportedRun") -> Iterator[int]:
        """Write all of it; yields now and then how many bytes are done."""


class _Time(Clock):
    """The time of what is being written."""

    def __init__(self, at_ns: int) -> None:
        self.offset_ns = 0
        self.at_ns = at_ns

    def now_ns(self) -> int:
        return self.at_ns


class ImportedRun:
    """Owns a directory beside the runs until `keep`; without that nothing of it stays. Raises NotKept, OSError."""

    def __init__(self, data: str, origin: Origin) -> None:
        self.run = origin.run
        self.left_out: Counter[str] = Counter()
        """What had no place in a run, and how often."""
        self.trouble: list[str] = []
        self.files = 0
        self._data = data
        self._final = run_directory(data, self.run)
        self._place = os.path.join(data, "importing", f"{self.run}-{os.getpid()}")
        self._origin = origin
        self._clock = _Time(max(0, origin.started_ns))
        self._notes: set[str] = set()
        self._console: TranscriptWriter | None = None

    def __enter__(self) -> Self:
        shutil.rmtree(self._place, ignore_errors=True)
        make_private(self._place)
        origin = self._origin
        self._recorder = Recorder(
            self._place, self._opened, complain=self._complain, clock=self._clock, masking=Masking(())
        )
        self._recorder.record(
            Described(
                at_ns=self._clock.at_ns,
                started_ns=self._clock.at_ns,
                project=origin.project[:512],
                name=origin.name[:512],
                entity=origin.entity[:512],
                group=origin.group[:512],
                job_type=origin.job_type[:512],
                notes=origin.notes[:4096],
                tags=tuple(tag[:512] for tag in origin.tags[:1000]),
            )
        )
        self._recorder.record(
            Noted(at_ns=self._clock.at_ns, text=f"imported from {origin.kind}: {origin.identity}"[:1000])
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._recorder.journal.close()
        shutil.rmtree(self._place, ignore_errors=True)

    @property
    def rows(self) -> int:
        """How many there are."""
        return self._recorder.rows.rows

    @property
    def last_ns(self) -> int:
        """When the newest thing happened."""
        return self._clock.at_ns

    @staticmethod
    def is_there(data: str, origin: Origin) -> bool:
        """Whether it was imported before."""
        return os.path.isdir(run_directory(data, origin.run))

    def log(self, values: Mapping[str, Any], step: int, at_ns: int, /) -> None:
        """Add a row; its time is bounded by what a journal can hold."""
        if -LAST_STEP <= step <= LAST_STEP:
            self._recorder.log_at(values, step, self._reach(at_ns))
        else:
            self.left_out["rows of impossible steps"] += 1

    def config(self, values: Mapping[str, Any]) -> None:
        """Set the whole configuration."""
        from holter.client.values import plain_tree

        self._recorder.record(Configured(at_ns=self._clock.at_ns, config=plain_tree(values, self._complain)))

    def summary(self, values: Mapping[str, Any]) -> None:
        """Set values that are not the last ones of rows."""
        from holter.client.values import plain_row

        self._recorder.record(Summarised(at_ns=self._clock.at_ns, summary=plain_row(values, self._complain)))

    def alert(self, title: str, text: str, level: str, /, *, at_ns: int) -> None:
        """Add an alert."""
        self._recorder.record(Alerted(at_ns=self._reach(at_ns), title=title[:500], text=text[:5000], level=level))

    def printed(self, data: bytes, stream: int, *, at_ns: int) -> None:
        """Add to what the program printed."""
        self._reach(at_ns)
        if self._console is None:
            name = claim_name(self._place)
            self._console = TranscriptWriter(self._place, name, limit_bytes=DEFAULT_LIMIT, clock=self._clock)
            kept = Console(at_ns=self._clock.at_ns, stdout="python", stderr="python", transcript=name)
            self._recorder.record(kept)
        self._console.append(data, stream)

    def ended(self, exit_code: int, at_ns: int = 0) -> None:
        """Say how it ended; without this it is a run of which nobody heard again: crashed."""
        self._recorder.record(Finished(at_ns=self._reach(at_ns), exit_code=exit_code, how="finish"))

    def add_files(self, folder: str, below: str = "") -> None:
        """Copy a folder's regular files; follows no links, so nothing from elsewhere comes along."""
        for place, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if not os.path.islink(os.path.join(place, name))]
            for name in sorted(names):
                path = os.path.join(place, name)
                self._add_file(path, os.path.join(below, os.path.relpath(path, folder)))

    def keep(self, *, replaces: bool = False) -> None:
        """Make it a run that everybody sees, in the place of one that is there if it `replaces` that.

        Raises UsageError where there is one by now.
        """
        for text in self.trouble[:100]:
            self._recorder.record(Noted(at_ns=self._clock.at_ns, text=text[:1000]))
        self._recorder.journal.sync()
        self._recorder.journal.close()
        make_private(os.path.dirname(self._final))
        if replaces:  # only now: until here the new one could fail
            with contextlib.suppress(FileNotFoundError):
                Trash(self._data).remove(self.run)
        try:
            os.rename(self._place, self._final)
        except OSError as error:
            if not os.path.isdir(self._final):
                raise
            raise UsageError(f"run {self.run} came to be meanwhile: it is left as it is") from error

    def _add_file(self, path: str, name: str) -> None:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            self.left_out["files that can't be read"] += 1
            return
        with open(fd, "rb") as file:
            found = os.fstat(fd)
            is_large = found.st_size > MOST_FILE_BYTES or self.files >= MOST_FILES
            if not stat.S_ISREG(found.st_mode) or is_large:
                self.left_out["files that are too large or too many" if is_large else "links and devices"] += 1
                return
            target = os.path.join(self._place, "files", name)
            make_private(os.path.dirname(target))
            with open(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as copy:
                shutil.copyfileobj(file, copy)
        self.files += 1

    def _reach(self, at_ns: int) -> int:
        at_ns = min(max(at_ns, 0), _LATEST_NS)
        self._clock.at_ns = max(self._clock.at_ns, at_ns)
        return at_ns or self._clock.at_ns

    def _opened(self) -> Opened:
        # No process of this machine: nobody may take a living one for it.
        return Opened(
            at_ns=self._clock.at_ns,
            run=self.run,
            writer="client",
            host=self._origin.host[:256],
            boot_id="",
            pid=0,
            process_started=0,
            holter=__version__,
        )

    def _complain(self, cause: str, text: str) -> bool:
        is_new = cause not in self._notes and len(self._notes) < 1000
        if is_new:
            self._notes.add(cause)
            self.trouble.append(text)
        return is_new
