"""Writes one process's rows and records into its journal."""

import contextlib
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from holter.client.habits.overwriting import Overwriting
from holter.client.shortened import shortened
from holter.client.values import plain_row
from holter.errors import NotKept, UsageError
from holter.journal.frame import encode_record
from holter.journal.rows import RowEncoder
from holter.journal.writer import JournalWriter
from holter.model.bounds import LAST_STEP
from holter.model.clock import CLOCK_ID, Clock
from holter.model.cutting import first_words
from holter.model.masking import Masking
from holter.model.metric_definitions import Aggregate, Defined, MetricDefinition, summarise
from holter.model.record import Record
from holter.model.records import Finished, Flushed, Noted, Opened, Totals

if TYPE_CHECKING:
    from holter.client.device_scalars import DeviceScalars
    from holter.client.media.taking import MediaTaker
    from holter.journal.rewinding import History

LOOK_AFTER_NS = 1_000_000_000
MOST_NOTES = 100
FLUSH_WITHIN_S = 60.0
CLOSE_WITHIN_S = 1.0
_PLAIN = frozenset({float, int, bool, str, type(None)})

_clock_ns = time.clock_gettime_ns


class Recorder:
    """Owns the journal of this process and the step that comes next. Thread-safe.

    Args:
        opened: makes the record of who writes; called anew in a forked child.
        complain: takes a cause and a sentence for the user; true when that cause is new.
        masking: hides secrets in whatever is kept.
    """

    def __init__(
        self,
        directory: str,
        opened: Callable[[], Opened],
        *,
        complain: Callable[[str, str], bool],
        clock: Clock,
        masking: Masking,
        limit_bytes: int = -1,
    ) -> None:
        self.directory = directory
        self.attempt = 1
        """Which one of the run's this is; set by whoever knows."""
        self.masking = masking
        self.next_step = 0
        self.each_second: Callable[[], None] = lambda: None
        """Called about once a second while the program logs; must be cheap."""
        self.first_step = 0
        self.waits_for_gpu = False
        """A scalar on a GPU is read at once, as in versions before this one."""
        self.when_late: Callable[[dict[str, Any]], None] = lambda row: None
        """Called with values that came from a GPU after their row."""
        self.metrics: dict[str, MetricDefinition] = {}
        """What was said of metrics; whoever changes it records that."""
        self._highest_step: int | None = None
        self._opened = opened
        self._complain = complain
        self._clock = clock
        self._offset_ns = clock.offset_ns
        self._limit_bytes = limit_bytes
        self._trouble = False
        self._noted = 0
        self._overwriting = Overwriting()
        self._start()

    def _start(self) -> None:
        self.masking.begin_journal()
        self.journal = JournalWriter(
            self.directory, self._prologue, clock=self._clock, limit_bytes=self._limit_bytes, masking=self.masking
        )
        self.rows = RowEncoder(self.journal.append_held)
        self.aggregates: dict[str, Aggregate] = {}
        self._append_packed = self.rows.append_packed
        self._lock = self.journal.lock
        self._look_after_ns = 0
        self._media: MediaTaker | None = None
        self._devices: DeviceScalars | None = None

    def log(self, data: Mapping[str, Any], step: int | None, commit: bool | None, /) -> None:
        """Keep one row; once this returns it survives the death of the process.

        Raises NotKept where the disk does not take it, TypeError and UsageError for what is not a row.
        """
        at_ns = _clock_ns(CLOCK_ID) + self._offset_ns
        with self._lock:
            if step is None:
                step = self.next_step
                following = step + 1
                if commit is False:
                    following = step
                    self._overwriting.see(data, step)
            else:
                if type(step) is not int:
                    step = self._whole_step(step)
                following = step + 1 if commit else step
            if not -LAST_STEP <= step <= LAST_STEP:
                step = self._next_instead_of(step)
                following = step + 1
            if following >= self.next_step:
                self.next_step = following
                self._highest_step = step
            try:
                is_kept = self._append_packed(data, step, at_ns)
            except NotKept:
                raise
            except Exception:  # noqa: BLE001  not a row of numbers, or a user's `__float__`: the slow path finds out
                is_kept = False
            if not is_kept:
                self._log_unseen(data, step, at_ns)
        if at_ns > self._look_after_ns:
            self._look_after(at_ns)

    def log_at(self, data: Mapping[str, Any], step: int, at_ns: int, /) -> None:
        """Keep a row of another time, as `log` keeps one of now: what a program wrote down elsewhere."""
        with self._lock:
            if step >= self.next_step:
                self.next_step = step + 1
                self._highest_step = step
            try:
                is_kept = self._append_packed(data, step, at_ns)
            except NotKept:
                raise
            except Exception:  # noqa: BLE001  as above
                is_kept = False
            if not is_kept:
                self._log_unseen(data, step, at_ns)

    def _whole_step(self, step: Any) -> int:
        """A step given as any kind of whole number; for what is none the next one, so that its row is not lost."""
        try:
            number = step.item() if hasattr(step, "item") else step
            if number == int(number):
                return int(number)
        except Exception:  # noqa: BLE001  users' own classes may raise anything from anything
            pass
        return self._next_instead_of(step)

    def _next_instead_of(self, step: Any) -> int:
        """Raises UsageError where no step is left."""
        try:
            told = shortened(step, 40)
        except Exception:  # noqa: BLE001  as above
            told = "of its own kind"
        said = f"step {told} ({type(step).__name__}) is no whole number from -{LAST_STEP} to {LAST_STEP}"
        if self.next_step > LAST_STEP:
            raise UsageError(f"{said}, and none is left: its row is not recorded")
        self.complain("step", f"{said}: its row is recorded as the next one, step {self.next_step}")
        return self.next_step

    def _log_unseen(self, data: Mapping[str, Any], step: int, at_ns: int) -> None:
        if not isinstance(data, Mapping):
            raise TypeError(f"log() takes a dict of names and values, got {type(data).__name__}")
        if not _PLAIN.issuperset(map(type, data.values())):
            row = self._without_devices(data, step, at_ns)
            if row is None:
                return
            data = self._without_media(row, step, at_ns)
        if self._append_packed == self.rows.append_packed and _has_gradient(data):
            self._append_packed = self._append_detached
        self.rows.append(self.masking.row(plain_row(data, self.complain)), step, at_ns)

    def _without_devices(self, data: Mapping[str, Any], step: int, at_ns: int, /) -> Mapping[str, Any] | None:
        """The row without what is still on a GPU, which follows; None where nothing is left."""
        if self._devices is not None or self.waits_for_gpu:
            return data
        from holter.client.device_scalars import holds_device_scalars  # only rows with tensors pay for it

        if not holds_device_scalars(data):
            return data
        return self._follow_devices().take(data, step, at_ns)

    def _follow_devices(self) -> "DeviceScalars":
        """From now on each row is looked through before its values are read."""
        if self._devices is not None:
            return self._devices
        from holter.client.device_scalars import DeviceScalars

        def append(row: dict[str, Any], step: int, at_ns: int, /) -> None:
            is_kept = False
            if {*map(type, row.values())} == {float}:
                with contextlib.suppress(struct.error):  # they were whole numbers before
                    is_kept = self.rows.append_packed(row, step, at_ns)
            if not is_kept:
                self.rows.append(row, step, at_ns)
            self.when_late(row)

        self._devices = DeviceScalars(append, self.record, complain=self.complain, clock=self._clock)
        self._append_packed = self._append_here
        return self._devices

    def _append_here(self, data: Mapping[str, Any], step: int, at_ns: int, /) -> bool:
        """For programs with a GPU: nothing is read that would wait for it."""
        row = self._follow_devices().take(data, step, at_ns)
        if row is None:
            return True
        try:
            is_kept = self._append_detached(row, step, at_ns)
        except NotKept:
            raise
        except Exception:  # noqa: BLE001  as in `log`
            is_kept = False
        if not is_kept:
            self._log_unseen(row, step, at_ns)
        return True

    def _settle(self, within_s: float) -> None:
        if self._devices is not None:
            with self._lock:
                self._devices.settle(within_s)

    def _without_media(self, data: Mapping[str, Any], step: int, at_ns: int, /) -> Mapping[str, Any]:
        """The row without its media, which are kept."""
        from holter.client.media.spotting import may_hold_media  # only rows with more than numbers and texts pay for it

        return self.media.take(data, step, at_ns) if may_hold_media(data) else data

    def _append_detached(self, data: Mapping[str, Any], step: int, at_ns: int, /) -> bool:
        """For programs that log losses as they are: to pack those makes torch warn of our line."""
        plain = {key: value.item() if hasattr(value, "requires_grad") else value for key, value in data.items()}
        return self.rows.append_packed(plain, step, at_ns)

    def summarised(self) -> dict[str, Any]:
        """The last value of each key, or what was defined to be kept of it instead."""
        return summarise(self.rows.last_values(), self.aggregates, metrics=self.metrics)

    @property
    def media(self) -> "MediaTaker":
        """Keeps media of this process; the caller holds the journal's lock."""
        if self._media is None:
            from holter.client.media.taking import MediaTaker

            self._media = MediaTaker(
                self.directory,
                self.journal.id.hex(),
                record=self.record,
                complain=self.complain,
                limit_bytes=self._limit_bytes,
            )
        return self._media

    def record(self, record: Record) -> None:
        """Keep one sentence. Raises NotKept."""
        self.journal.record(record)

    def complain(self, cause: str, text: str) -> None:
        """Say something once, and note it in the journal; after the first hundred only that there are more."""
        if self._noted >= MOST_NOTES:
            self._complain("more", f"after {MOST_NOTES} remarks like these no more are made")
        elif self._complain(cause, text):
            self.note(text)

    def note(self, text: str) -> None:
        """Keep a remark of our own, a bounded number of times; a disk that does not take it is no matter."""
        self._noted += 1
        if self._noted <= MOST_NOTES:
            with contextlib.suppress(NotKept):
                self.journal.record(Noted(at_ns=self._clock.now_ns(), text=first_words(text, 1000)))

    def flush(self) -> None:
        """Wait until every row so far would survive the death of the machine, then mark the place.

        Raises NotSynced where the disk fails, and leaves no mark then; NotKept where it does not take the mark.
        """
        self._settle(FLUSH_WITHIN_S)
        with self._lock:
            mark = Flushed(at_ns=self._clock.now_ns(), step=self.next_step)
        self.journal.sync()
        self.journal.record(mark)

    def close(self, finished: Finished | None) -> None:
        """Keep the end of the run, if it is ours to say, and give back the reserved space. Raises NotKept."""
        try:
            self._settle(CLOSE_WITHIN_S)
            if finished is not None:
                self.journal.record(finished)
        finally:
            self.journal.close()

    def add_late(self, record: Record) -> None:
        """Keep one more sentence after `close`, in a segment of its own. Raises NotKept."""
        self.journal.reopen()
        try:
            self.journal.record(record)
        finally:
            self.journal.close()

    def start_from(self, last: dict[str, Any], next_step: int, *, history: "History | None" = None) -> None:
        """Continue where an earlier attempt stopped; with a history, from the end of that one."""
        self.rows.start_from(last)
        if history is not None:
            self.aggregates, self.metrics = history.aggregates, history.metrics
            if history.last_step is not None:
                self.rows.start_at(history.last_at_ns, history.last_step)
        self.next_step = self.first_step = next_step
        self._highest_step = next_step - 1 if next_step else None

    def after_fork(self) -> None:
        """In a forked child: leave the parent's journal alone; a journal of our own begins with the next record."""
        self._start()

    def rest(self) -> None:
        """Close the journal; the next record begins another."""
        self.journal.close()
        self._start()

    def _prologue(self) -> Iterator[bytes]:
        yield encode_record(self._opened())
        last = self.rows.last_values()
        if self.rows.rows or last:
            at_ns, step = self.rows.last_row or (None, None)
            totals = Totals(
                at_ns=self._clock.now_ns(),
                rows=self.rows.rows,
                last=last,
                last_step=step,
                last_at_ns=at_ns,
                highest_step=self._highest_step,
                aggregates=self.aggregates,
            )
            yield encode_record(totals)
        if self.metrics:
            yield encode_record(Defined(at_ns=self._clock.now_ns(), metrics=self.metrics))
        yield from self.rows.declarations()

    def _look_after(self, at_ns: int) -> None:
        """Once a second: is our file still there, and does the disk take records again?"""
        self._look_after_ns = at_ns + LOOK_AFTER_NS
        self.each_second()
        if (noticed := self._overwriting.notice()) is not None:
            with contextlib.suppress(NotKept):
                self.journal.record(noticed)
        if self._devices is None and "torch" in sys.modules and not self.waits_for_gpu:
            from holter.client.device_scalars import uses_gpu

            if uses_gpu():
                self._follow_devices()
        if not self.journal.look_after():
            self._trouble = True
            self._complain(
                "deleted", f"{self.directory} was deleted and can't be made again: its rows end with the process"
            )
        elif self._trouble:
            self._trouble = False
            self._complain("deleted:over", f"{self.directory} is back, and the rows with it")


def _has_gradient(data: Mapping[str, Any]) -> bool:
    try:
        return any(getattr(value, "requires_grad", False) is True for value in data.values())
    except Exception:  # noqa: BLE001  users' own classes may raise anything from anything
        return False
