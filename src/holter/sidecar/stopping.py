"""Passes on the wish that a run stops to the processes that record it."""

from holter.journal.stop_request import StopRequest, read_stop_request


class StopWishes:
    """The wishes of one run's directory. One that is older than the watch was for an earlier attempt."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        known = read_stop_request(directory)
        self._known_ns = known.at_ns if known is not None else 0

    def look(self) -> StopRequest | None:
        """A wish that is new; None where there is none. Cheap: for once a second."""
        wish = read_stop_request(self._directory)
        if wish is None or wish.at_ns == self._known_ns:
            return None
        self._known_ns = wish.at_ns
        return wish
