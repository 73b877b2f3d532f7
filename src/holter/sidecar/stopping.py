"""Passes on the wish that a run stops to the processes that record it."""

from holter.journal.stop_request import StopRequest, read_stop_request


class StopWishes:
    """The wishes of one run's directory. One for an earlier attempt, or from before the watch, does not count."""

    def __init__(self, directory: str, attempt: int) -> None:
        self._directory = directory
        self._attempt = attempt
        known = read_stop_request(directory)
        # A wish may be quicker than the start of a sidecar.
        self._known_ns = known.at_ns if known is not None and known.attempt != attempt else 0

    def look(self) -> StopRequest | None:
        """A wish that is new; None where there is none. Cheap: for once a second."""
        wish = read_stop_request(self._directory)
        if wish is None or wish.at_ns == self._known_ns or wish.after:
            return None  # whoever keeps what is waited for writes the wish anew
        self._known_ns = wish.at_ns
        return wish if wish.attempt in (0, self._attempt) else None
