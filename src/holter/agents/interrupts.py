"""Ctrl-C at an agent: once, it finishes the running trial; twice, it stops it and gives its lease back."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

FIRST = "finishing this trial, then leaving; Ctrl-C again stops it now and gives it back"


class Interrupts:
    """How often somebody wanted the agent to leave. SIGTERM counts as the second time."""

    def __init__(self, say: Callable[[str], None], *, raises: bool = False) -> None:
        self._say = say
        self._raises = raises
        self.times = 0

    @property
    def is_leaving(self) -> bool:
        """No further trial."""
        return self.times > 0

    @property
    def is_now(self) -> bool:
        """Not even this one."""
        return self.times > 1

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """While an agent works. Elsewhere than in the main thread nothing changes."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = [signal.SIGINT] if self._raises else [signal.SIGINT, signal.SIGTERM]
        before = {each: signal.signal(each, self._hear) for each in signals}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.times += 1 if number == signal.SIGINT else 2
        if not self.is_now:
            self._say(FIRST)
        elif self._raises:
            raise KeyboardInterrupt
