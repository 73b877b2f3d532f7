"""Sends messages to targets in a thread of its own, again where that failed, for a bounded time."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable, Sequence

import msgspec

from holter.alerts.file import channel_of
from holter.alerts.gate import Gate
from holter.alerts.message import Message
from holter.alerts.post import Post
from holter.alerts.target import Target
from holter.errors import Undelivered

FIRST_WAIT_S, MOST_WAIT_S, TRIES = 2.0, 60.0, 6
MOST_WAITING = 500


def send_one(target: Target, message: Message, *, post: Post) -> None:
    """Once. Raises Undelivered."""
    try:
        channel_of(target).send(target, message, post=post)
    except Undelivered:
        raise
    except Exception as error:  # noqa: BLE001  an odd address or text must not end all others; its words may be secret
        raise Undelivered(f"it could not be sent: {type(error).__name__}", may_retry=False) from None


class _Way:
    """How far a message has come."""

    def __init__(self, targets: int, then: Callable[[bool], None]) -> None:
        self._left = targets
        self._then = then
        self._is_over = True

    def end(self, *, is_over: bool = True) -> None:
        """One target more has it, or does not get it."""
        self._left -= 1
        self._is_over &= is_over
        if not self._left:
            self._then(self._is_over)


class Outbox:
    """Owns the messages that are on their way. Thread-safe.

    Args:
        complain: gets a sentence for each target that did not take a message, without anything secret.
    """

    def __init__(
        self,
        targets: Sequence[Target],
        *,
        complain: Callable[[str], None],
        post: Post | None = None,
        first_wait_s: float = FIRST_WAIT_S,
    ) -> None:
        self._gates = [(target, Gate(target)) for target in targets]
        self._complain = complain
        self._post = post or Post()
        self._first_wait_s = first_wait_s
        self._numbers = itertools.count()
        self._waiting: list[tuple[float, int, int, Target, Message, _Way]] = []
        self._news = threading.Condition()
        self._until = float("inf")
        self._is_ending = False
        self._thread: threading.Thread | None = None

    def add(self, message: Message, *, then: Callable[[bool], None] = lambda is_over: None) -> None:
        """Have it sent to all who want it. Never blocks.

        `then` is called once each of them has it or does not take it; with False where there was no time for that.
        """
        now_s = time.monotonic()
        taking: list[tuple[Target, Message]] = []
        with self._news:
            for target, gate in self._gates:
                left_out = gate.left_out
                if not gate.admits(message, now_s) or len(self._waiting) >= MOST_WAITING:
                    continue
                gate.left_out = 0
                said = message
                if left_out:
                    text = f"{message.text}\n({left_out} more since the last one were left out)".strip()
                    said = msgspec.structs.replace(message, text=text)
                taking.append((target, said))
            way = _Way(len(taking), then)
            for target, said in taking:
                heapq.heappush(self._waiting, (now_s, next(self._numbers), 0, target, said, way))
            if self._waiting and self._thread is None:
                # Not a daemon: what was said last, of the end, is still to be sent.
                self._thread = threading.Thread(target=self._work, name="alerts")
                self._thread.start()
            self._news.notify()
        if not taking:
            then(True)

    def finish(self, within_s: float) -> None:
        """There will be no more: what is waiting is sent within so long. Returns at once; the thread then ends."""
        with self._news:
            self._is_ending = True
            self._until = min(self._until, time.monotonic() + within_s)
            self._news.notify()

    def join(self, within_s: float | None = None) -> bool:
        """Whether all is done, at the latest after so long."""
        if self._thread is not None:
            self._thread.join(within_s)
            return not self._thread.is_alive()
        return True

    def _work(self) -> None:
        while (entry := self._next()) is not None:
            _, _, tries, target, message, way = entry
            try:
                send_one(target, message, post=self._post)
            except Undelivered as error:
                if error.may_retry and tries + 1 < TRIES:
                    self._again(tries + 1, target, message, way, after_s=error.after_s)
                    continue
                self._complain(f"{target.label} did not take an alert: {error}")
            way.end()

    def _next(self) -> tuple[float, int, int, Target, Message, _Way] | None:
        """The next one that is due; None when there will be none."""
        with self._news:
            while True:
                now_s = time.monotonic()
                if now_s >= self._until or (self._is_ending and not self._waiting):
                    for _, _, _, target, _, way in self._waiting:
                        self._complain(f"{target.label} did not take an alert in time")
                        way.end(is_over=False)
                    return None
                if self._waiting and self._waiting[0][0] <= now_s:
                    return heapq.heappop(self._waiting)
                due_s = self._waiting[0][0] if self._waiting else float("inf")
                wait_s = min(due_s, self._until) - now_s
                self._news.wait(None if wait_s == float("inf") else wait_s)

    def _again(self, tries: int, target: Target, message: Message, way: _Way, *, after_s: float) -> None:
        wait_s = max(after_s, min(MOST_WAIT_S, self._first_wait_s * 2.0 ** (tries - 1)))
        with self._news:
            heapq.heappush(self._waiting, (time.monotonic() + wait_s, next(self._numbers), tries, target, message, way))
