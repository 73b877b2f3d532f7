"""Copies the files that a program asked to keep: once, again when they change, or at the end."""

import time
from collections.abc import Callable

import msgspec

from holter.journal.kept_files import Match, find_matches, free_bytes, is_kept, keep
from holter.model.records import Saved

EVERY_S = 2.0
# Copying a large file that always changes must not take more than a tenth of the time.
REST_PER_COPY = 10
# A file that was written to while it was copied is tried again, unless it never rests.
MOST_TORN = 5
MOST_REQUESTS = 10_000


class Request(msgspec.Struct, frozen=True):
    """What a program asked for, however often it did."""

    pattern: str
    base: str
    policy: str


class _File(msgspec.Struct):
    """A file that was copied, with the state in which it was and the time at which it may be copied again."""

    state: tuple[int, int] = (-1, -1)
    due_s: float = 0.0
    torn: int = 0


class Saver:
    """Serves the requests of one run. Used by one thread; may take as long as the disk does.

    Args:
        limit_bytes: what the run's directory may take; none where it is negative.
        complain: is told once for each file why it is not kept.
    """

    def __init__(self, directory: str, limit_bytes: int, *, complain: Callable[[str], None]) -> None:
        self._directory = directory
        self._limit_bytes = limit_bytes
        self._complain = complain
        self._complained: set[str] = set()
        self._requests: dict[Request, None] = {}
        self._files: dict[str, _File] = {}
        self._room: int | None = None

    @property
    def is_awaiting(self) -> bool:
        """Whether a file is to be looked at again while the run goes on."""
        return any(each.policy == "live" for each in self._requests)

    def ask(self, saved: Saved) -> None:
        """Take a request; the same one again is one, but for `now`, which is done and asked for anew."""
        is_done = saved.policy == "now" and saved.is_done
        if not is_done and len(self._requests) < MOST_REQUESTS:
            self._requests[Request(saved.pattern, saved.base, saved.policy)] = None

    def serve(self, *, is_end: bool = False) -> None:
        """Copy what is due."""
        self._room = None
        for request in list(self._requests):
            if request.policy == "end" and not is_end:
                continue
            matches = find_matches(request.pattern, request.base, directory=self._directory)
            for match in matches:
                self._copy(match, is_patient=request.policy == "live" and not is_end)
            if is_end and not matches and request.policy != "now":
                self._complain_once(request.pattern, f"save({request.pattern!r}) matched no file in {request.base}")
            if request.policy == "now":
                del self._requests[request]

    def _copy(self, match: Match, *, is_patient: bool) -> None:
        known = self._files.setdefault(match.source, _File())
        state, now_s = (match.bytes, match.changed_ns), time.monotonic()
        if state == known.state or (is_patient and now_s < known.due_s) or is_kept(match, self._directory):
            return
        if not self._has_room(match):
            because = f"the run's limit of {self._limit_bytes:,} bytes leaves no room; HOLTER_DISK_LIMIT raises it"
            self._complain_once(match.source, f"{match.source} ({match.bytes:,} bytes) is not kept: {because}")
            return
        try:
            is_whole = keep(match, self._directory, only_whole=is_patient and known.torn < MOST_TORN)
        except OSError as error:
            self._complain_once(match.source, f"{match.source} is not kept: {error.strerror or error}")
            return
        known.due_s = time.monotonic() + max(EVERY_S, REST_PER_COPY * (time.monotonic() - now_s))
        known.torn = 0 if is_whole else known.torn + 1
        known.state = state if is_whole else (-1, -1)

    def _has_room(self, match: Match) -> bool:
        """Take the file's size from what is left; the directory is measured once for all files of a look."""
        if self._room is None:
            self._room = free_bytes(self._directory, self._limit_bytes)
        if match.bytes > self._room:
            return False
        self._room -= match.bytes
        return True

    def _complain_once(self, cause: str, text: str) -> None:
        if cause not in self._complained:
            self._complained.add(cause)
            self._complain(text)
