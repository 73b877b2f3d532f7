"""How much of what is sent may be held at once: the rest waits at its senders, and in their files."""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

from holter.errors import Refused

# Senders give up after 20 s without an answer: they should hear from us before.
WAITS_S = 10.0
RETRY_S = 5

Take = Callable[[int], Awaitable[None]]


class ByteBudget:
    """Bytes of bodies that may be in memory together, as they arrive. Used by one event loop.

    Nobody has more than half of it with several bodies at once. Where bodies have filled it in parts, one of them may
    go on beyond it until it is whole, or none ever would be.
    """

    def __init__(self, most_bytes: int) -> None:
        self._left = self._most = most_bytes
        self._held: Counter[str] = Counter()
        self._beyond: object = None
        """The one body that may go on beyond what there is."""
        self._freed = asyncio.Condition()

    @property
    def held_bytes(self) -> int:
        """How much of it is taken."""
        return self._most - self._left

    @contextlib.asynccontextmanager
    async def holding(self, who: str) -> AsyncIterator[Take]:
        """Within this, what one body takes is held. Taking waits a while, and raises Refused where no room comes."""
        held, body = 0, object()

        def fits(count: int) -> bool:
            theirs = self._held[who]
            return count <= self._left and (theirs == held or theirs + count <= self._most // 2)

        def may_go_on(count: int) -> bool:
            if fits(count):
                return True
            if self._beyond is None and held:
                self._beyond = body
            return self._beyond is body

        async def take(count: int) -> None:
            nonlocal held
            if not fits(count):
                await self._wait(lambda: may_go_on(count))
            held += count
            self._left -= count
            self._held[who] += count

        try:
            yield take
        finally:
            self._left += held
            self._beyond = None if self._beyond is body else self._beyond
            self._held[who] -= held
            if not self._held[who]:
                del self._held[who]
            async with self._freed:
                self._freed.notify_all()

    async def _wait(self, fits: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(WAITS_S), self._freed:
                await self._freed.wait_for(fits)
        except TimeoutError:
            raise Refused(
                503, "too much is sent at once", why="others are taken in first", do="send it again", retry_s=RETRY_S
            ) from None
