"""What a program writes for TensorBoard as rows and media of its run: read from its files, by a process beside it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from holter.errors import NotKept
from holter.formats.events import Bars, Event, Picture, Unread
from holter.journal.frame import encode_record
from holter.journal.rows import RowEncoder
from holter.journal.spool import ENDING, Entry, Part, spooled_bytes, write_entry
from holter.journal.writer import JournalWriter
from holter.model.clock import Clock
from holter.model.masking import Masking
from holter.model.media_records import HistogramLogged, MediaLogged
from holter.model.records import Opened, Totals

MOST_SPOOLED_BYTES = 256 << 20

Say = Callable[[str, str], object]
"""Takes a cause and a sentence, which is said once for each cause."""


class EventSource(Protocol):
    """Files that are read on, wherever they lie."""

    @property
    def trouble(self) -> list[str]:
        """What can't be read to its end, and why."""

    def read(self) -> Iterable[Event]:
        """What has come since. Raises OSError."""


class EventRows:
    """Owns a journal of its own, whose file is made with the first row. For one thread; raises nothing.

    Args:
        opened: makes the record of who writes.
    """

    def __init__(
        self,
        directory: str,
        opened: Callable[[], Opened],
        *,
        clock: Clock,
        masking: Masking,
        limit_bytes: int,
        say: Say,
    ) -> None:
        self._directory = directory
        self._opened = opened
        self._clock = clock
        self._masking = masking
        self._say = say
        self._highest: int | None = None
        self._pictures = 0
        self._journal = JournalWriter(directory, self._prologue, clock=clock, limit_bytes=limit_bytes, masking=masking)
        self._rows = RowEncoder(self._journal.append_held)

    def look(self, sources: Iterable[EventSource]) -> None:
        """Take in what has come since the last look."""
        for source in sources:
            try:
                for event in source.read():
                    self._add(event)
            except (OSError, NotKept) as error:
                self._say(f"tensorboard:{type(error).__name__}", f"not all of TensorBoard is recorded: {error}")
            for text in source.trouble:
                self._say(text, text)

    def close(self) -> None:
        """Nothing more comes."""
        self._journal.close()

    def _add(self, event: Event) -> None:
        value = event.value.tidied() if isinstance(event.value, Bars) else event.value
        is_empty = value is None or (isinstance(value, Picture) and not value.data)
        if is_empty or isinstance(value, Unread):
            self._say(event.tag, f"{event.tag!r} of TensorBoard has no place in a run: it is left out")
            return
        with self._journal.lock:
            if isinstance(value, Bars):
                told = HistogramLogged(
                    at_ns=event.at_ns, step=event.step, key=event.tag, counts=value.counts, edges=value.edges
                )
                self._journal.record(told)
            elif isinstance(value, Picture):
                self._keep_picture(event, value.data)
            else:
                self._rows.append(self._masking.row({event.tag: value}), event.step, event.at_ns)
            self._highest = event.step if self._highest is None else max(event.step, self._highest)

    def _keep_picture(self, event: Event, data: bytes) -> None:
        """As a training process leaves one: a worker makes a file of it."""
        if spooled_bytes(self._directory) + len(data) > MOST_SPOOLED_BYTES:
            self._say(
                "tensorboard:pictures",
                f"{event.tag!r} of TensorBoard is not kept for step {event.step}: pictures come faster than they can"
                " be kept",
            )
            return
        self._pictures += 1
        entry = Entry(
            kind="image",
            key=event.tag,
            step=event.step,
            at_ns=event.at_ns,
            about={"items": [{"file": 0}]},
            parts=(Part(len(data)),),
        )
        name = f"{event.at_ns:020d}-{self._journal.id.hex()[:12]}-{self._pictures:06d}{ENDING}"
        write_entry(self._directory, name, entry, sources=[data])
        self._journal.record(MediaLogged(at_ns=event.at_ns, step=event.step, key=event.tag, type="image", spool=name))

    def _prologue(self) -> Iterator[bytes]:
        yield encode_record(self._opened())
        if self._rows.rows:
            at_ns, step = self._rows.last_row or (None, None)
            totals = Totals(
                at_ns=self._clock.now_ns(),
                rows=self._rows.rows,
                last=self._rows.last_values(),
                last_step=step,
                last_at_ns=at_ns,
                highest_step=self._highest,
            )
            yield encode_record(totals)
        yield from self._rows.declarations()
