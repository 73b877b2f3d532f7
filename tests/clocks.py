"""A clock that only the test moves."""

from holter.model.clock import Clock

STARTED_NS = 1_700_000_000_000_000_000


class FakeClock(Clock):
    """Stands still until somebody moves it."""

    def __init__(self, now_ns: int = STARTED_NS) -> None:
        self.ns = now_ns

    def now_ns(self) -> int:
        """The time that was set."""
        return self.ns

    def monotonic_ns(self) -> int:
        """The same."""
        return self.ns

    def advance(self, seconds: float) -> None:
        """Move on, or back."""
        self.ns += int(seconds * 1e9)
