"""`holter run --tensorboard DIR`: what a command writes for TensorBoard as rows of its run, while it writes."""

import threading
from collections.abc import Callable, Sequence

from holter.formats.event_folders import EventFolder
from holter.recording.attempt import Attempt
from holter.recording.event_rows import EventRows
from holter.recording.threads import start_quietly

EVERY_S = 1.0
MOST_AT_STOP_S = 60.0


class FollowedFolders:
    """Owns a thread that looks at the files once a second. Raises nothing once it is made.

    Args:
        say: takes a cause and a sentence.
    """

    def __init__(self, attempt: Attempt, folders: Sequence[str], *, say: Callable[[str, str], bool]) -> None:
        self._folders = [EventFolder(folder) for folder in folders]
        self._rows = EventRows(
            attempt.directory,
            lambda: attempt.opened("worker"),
            clock=attempt.clock,
            masking=attempt.masking,
            limit_bytes=attempt.limit_bytes,
            say=say,
        )
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="holter-tensorboard", daemon=True)
        start_quietly(self._thread)  # or it would be told in our place that the command has ended

    def stop(self) -> None:
        """Take in what is left. The command has ended; a folder that never ends is left after a minute."""
        self._is_over.set()
        self._thread.join(MOST_AT_STOP_S)

    def _follow(self) -> None:
        while not self._is_over.wait(EVERY_S):
            self._rows.look(self._folders)
        self._rows.look(self._folders)
        self._rows.close()
