"""Keeps the files of a run's directory that are not journals, in threads of its own: disks hang, and git is slow."""

import contextlib
import os
import threading
import time
from collections.abc import Callable

from holter.catalog.read.warnings_of import silenced_guards
from holter.journal.digest import GrowingDigests
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.records import Facts, Noted, Saved
from holter.probes.identity import host_name
from holter.recording.spawning import told_command, without_command
from holter.sidecar.flight_recorder import find_dumps
from holter.sidecar.internal_log import write_down, write_down_failure
from holter.sidecar.saving import EVERY_S as LOOK_AT_FILES_S
from holter.sidecar.saving import Saver
from holter.version import __version__
from holter.wire.way_back import Watch

REFRESH_S = 10.0
# Writing the files of a run with a hundred thousand keys must not take more than a hundredth of the time.
REST_PER_REFRESH = 100
# A pattern may lead through a tree of a million files.
REST_PER_LOOK = 20
FACTS_WITHIN_S = 8.0
URGENT_S = 1.0
MOST_NOTES = 50


class Keeper:
    """Owns the files of one run on this host. Begun by its maker, who calls `finish` until that is true.

    Args:
        record: keeps a sentence in the sidecar's journal; thread-safe.
    """

    def __init__(self, watch: Watch, record: Callable[[Record], None], *, clock: Clock) -> None:
        self.finishing_since = 0.0
        """On the monotonic clock; 0 while the run goes on."""
        self.silenced: frozenset[str] = frozenset()
        """The guards of which people want to hear no more."""
        self._watch = watch
        self._record = record
        self._clock = clock
        self._digests = GrowingDigests(watch.directory)
        self._saver = Saver(watch.directory, watch.limit_bytes, complain=self._note)
        self._notes = 0
        self._began_s = time.time()
        write_down(watch.directory, f"INFO holter {__version__} watches process {watch.pid}")
        self._refresh_at = 0.0
        self._pause_s = LOOK_AT_FILES_S
        self._bell = threading.Event()
        self._facts: threading.Thread | None = None
        if watch.collect_facts:
            self._facts = threading.Thread(target=self._collect_facts, name="facts", daemon=True)
            self._facts.start()
        self._thread = threading.Thread(target=self._loop, name="files", daemon=True)
        self._thread.start()

    @property
    def is_urgent(self) -> bool:
        """Whether the end is near: the last files have only just been begun."""
        return 0 < self.finishing_since > time.monotonic() - URGENT_S

    def ring(self) -> None:
        """There is something new in the journals. Never blocks."""
        self._bell.set()

    def finish(self) -> bool:
        """The run has ended: write everything a last time. Never blocks; true when that is done."""
        self.finishing_since = self.finishing_since or time.monotonic()
        self._bell.set()
        return not self._thread.is_alive()

    def _loop(self) -> None:
        while not self.finishing_since:
            self._guarded(self._look)
            self._bell.wait(self._pause_s if self._saver.is_awaiting else REFRESH_S)
            self._bell.clear()
        if self._facts is not None:
            self._facts.join(FACTS_WITHIN_S)
        self._guarded(self._look_a_last_time)
        write_down(self._watch.directory, "INFO the run has ended")

    def _look(self) -> None:
        self._hear()
        began = time.monotonic()
        self._saver.serve()
        self._pause_s = max(LOOK_AT_FILES_S, REST_PER_LOOK * (time.monotonic() - began))
        if time.monotonic() >= self._refresh_at:
            self._refresh()

    def _look_a_last_time(self) -> None:
        self._hear(is_final=True)
        self._keep_flight_recorder()
        self._refresh()
        self._saver.serve(is_end=True)

    def _hear(self, *, is_final: bool = False) -> None:
        for opened, saved in self._digests.update(is_final=is_final):
            # A run that several machines share has a sidecar on each; older attempts have had theirs.
            if opened.host == host_name() and opened.attempt >= self._watch.attempt:
                self._saver.ask(saved)
        self.silenced = silenced_guards(self._digests.digests)

    def _keep_flight_recorder(self) -> None:
        """PyTorch overwrites its dumps with those of the next training."""
        for path in find_dumps(os.environ, since_s=self._began_s):
            folder, name = os.path.split(path)
            self._saver.ask(Saved(at_ns=self._clock.now_ns(), pattern=name, base=folder, policy="end"))
            self._note(f"{name} of PyTorch's flight recorder is kept: torchfrtrace reads it")

    def _refresh(self) -> None:
        from holter.catalog.change.projection import project, write_files  # in this thread: the watch begins without it

        began = time.monotonic()
        files = project(self._digests.digests)
        write_files(self._watch.directory, files, limit_bytes=self._watch.limit_bytes)
        took_s = time.monotonic() - began
        self._refresh_at = time.monotonic() + max(REFRESH_S, REST_PER_REFRESH * took_s)

    def _collect_facts(self) -> None:
        self._guarded(self._keep_facts)
        self._refresh_at = 0.0
        self._pause_s = LOOK_AT_FILES_S
        self._bell.set()

    def _keep_facts(self) -> None:
        from holter.catalog.change.projection import write_files
        from holter.probes.facts import DIFF_FILE, SCRIPT_FILE, Hints, collect_facts

        watch = self._watch
        command = told_command(os.environ, watch.pid)
        environment = None if command is None else without_command(os.environ)
        hints = Hints(cwd=watch.cwd, main_file=watch.main_file, command=command or (), environment=environment)
        found = collect_facts(watch.pid, hints)
        self._record(Facts(at_ns=self._clock.now_ns(), facts=found.facts))
        if watch.rank:
            return  # the first rank's work tree stands for all
        for name in {DIFF_FILE, SCRIPT_FILE} - found.files.keys():  # an earlier attempt may have had one
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(watch.directory, name))
        write_files(watch.directory, found.files, limit_bytes=watch.limit_bytes)

    def _note(self, text: str) -> None:
        self._notes += 1
        if self._notes <= MOST_NOTES:
            write_down(self._watch.directory, f"WARN {text}")
            self._record(Noted(at_ns=self._clock.now_ns(), text=text[:1000]))

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as error:
            write_down(self._watch.directory, f"WARN {error.strerror or type(error).__name__}: {error.filename or ''}")
        except Exception:  # noqa: BLE001  the boundary: a file that can't be written is missing, the watch goes on
            write_down_failure(self._watch.directory)
