"""Follows what a program writes for TensorBoard with writers that are no Python, as TensorFlow's: only files tell."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from holter.model.clock import Clock
from holter.model.masking import Masking
from holter.model.records import Opened
from holter.wire.way_back import Events, Watch

if TYPE_CHECKING:
    from holter.formats.event_folders import WriterFolder
    from holter.recording.event_rows import EventRows

MOST_SAID = 100


class FollowedEvents:
    """The folders of one run into which its processes write, if any. Used by the loop's thread."""

    def __init__(
        self,
        watch: Watch,
        opened: Callable[[], Opened],
        *,
        clock: Clock,
        masking: Masking,
        say: Callable[[str, str], None],
    ) -> None:
        self._watch = watch
        self._opened = opened
        self._clock = clock
        self._masking = masking
        self._say = say
        self._said: set[str] = set()
        self._folders: dict[tuple[str, int], WriterFolder] = {}
        self._rows: EventRows | None = None

    def add(self, told: Events) -> None:
        """A process writes into a folder."""
        from holter.formats.event_folders import WriterFolder  # only programs that ask for it pay for it
        from holter.recording.event_rows import EventRows

        self._folders.setdefault((told.folder, told.pid), WriterFolder(told.folder, told.pid, prefix=told.prefix))
        if self._rows is None:
            self._rows = EventRows(
                self._watch.directory,
                self._opened,
                clock=self._clock,
                masking=self._masking,
                limit_bytes=self._watch.limit_bytes,
                say=self._say_once,
            )

    def look(self) -> None:
        """Take in what has come."""
        if self._rows is not None:
            self._rows.look(self._folders.values())

    def finish(self) -> None:
        """The run has ended: take in what is left. Idempotent."""
        self.look()
        if self._rows is not None:
            self._rows.close()
            self._rows = None

    def _say_once(self, cause: str, text: str) -> None:
        if cause not in self._said and len(self._said) < MOST_SAID:
            self._said.add(cause)
            self._say(cause, text)
