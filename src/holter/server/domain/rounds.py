"""What a server has to look after by itself, now and then, on its event loop."""

import asyncio
import os

from holter.server.domain.services import Services
from holter.server.security.keyring import SECRETS

EVERY_S = 1.0
# Time alone may end what somebody may do, and free a disk.
AT_LEAST_EVERY_S = 5.0


async def make_rounds(services: Services) -> None:
    """Until it is cancelled: who is not welcome any more loses the live stream, and the reserve is set aside again."""
    folder = os.path.join(services.data, SECRETS)
    now = asyncio.get_running_loop().time
    stamp, done_at = await asyncio.to_thread(_stamp, folder), now()
    while True:
        await asyncio.sleep(EVERY_S)
        found = await asyncio.to_thread(_stamp, folder)
        if found == stamp and now() - done_at < AT_LEAST_EVERY_S:
            continue
        stamp, done_at = found, now()
        services.changes.end_unwelcome()
        await asyncio.to_thread(services.keep_reserve)


def _stamp(folder: str) -> frozenset[tuple[str, int]]:
    """Another one where somebody added or revoked a key, or logged out: also from another process."""
    try:
        with os.scandir(folder) as entries:
            return frozenset((entry.name, entry.stat().st_mtime_ns) for entry in entries)
    except OSError:  # it is looked at again
        return frozenset()
