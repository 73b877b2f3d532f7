"""How much of what is sent may be held at once: the rest waits at its senders, and in their files."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from holter.errors import Refused

# Senders give up after 20 s without an answer: they should hear from us before.
WAITS_S = 10.0
RETRY_S = 5


class Room:
    """Bytes of bodies that may be in memory together. Used by one event loop."""

    def __init__(self, most_bytes: int) -> None:
        self._left = self._most = most_bytes
        self._freed = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def holding(self, count: int) -> AsyncIterator[None]:
        """Within this there is room for so many bytes; waits for it a while. Raises Refused where it does not come."""
        count = min(count, self._most)
        try:
            async with asyncio.timeout(WAITS_S), self._freed:
                await self._freed.wait_for(lambda: count <= self._left)
                self._left -= count
        except TimeoutError:
            raise Refused(
                503, "too much is sent at once", why="others are taken in first", do="send it again", retry_s=RETRY_S
            ) from None
        try:
            yield
        finally:
            self._left += count
            async with self._freed:
                self._freed.notify_all()
