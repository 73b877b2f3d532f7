"""Bad company for a server: connections that say nothing, and senders who announce much and send by the byte.

Run by `server_strangers.py` as a process of its own. Prints a line when all of them are there, and stays until its
standard input ends. Whoever is sent away comes back a while later: of 5,000 about 80 each second.
"""

import argparse
import asyncio
import contextlib
import random
import resource
import sys

OPENED_AT_ONCE = 200
BACK_AFTER_S = (30.0, 90.0)
HEAD = (
    "POST /api/v1/ingest/slow/transcripts/output.log?offset=0 HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    "Authorization: Bearer {key}\r\nContent-Type: application/octet-stream\r\nContent-Length: 33554432\r\n\r\n"
)


async def say_nothing(port: int, turns: asyncio.Semaphore, arrived: asyncio.Event) -> None:
    """Stay until we are sent away, and come back later."""
    while True:
        with contextlib.suppress(OSError):
            async with turns:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
            arrived.set()
            await reader.read()
            writer.close()
        arrived.set()
        await asyncio.sleep(random.uniform(*BACK_AFTER_S))


async def send_slowly(port: int, key: str) -> None:
    """A byte a second."""
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(HEAD.format(key=key).encode())
            while not writer.transport.is_closing():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(1)
        await asyncio.sleep(1)


async def main(port: int, key: str, idle: int, slow: int, /) -> None:
    turns = asyncio.Semaphore(OPENED_AT_ONCE)
    arrived = [asyncio.Event() for _ in range(idle)]
    tasks = [asyncio.create_task(say_nothing(port, turns, each)) for each in arrived]
    tasks += [asyncio.create_task(send_slowly(port, key)) for _ in range(slow)]
    for each in arrived:
        await each.wait()
    sys.stdout.write("all are there\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("key")
    parser.add_argument("--idle", type=int, default=5000)
    parser.add_argument("--slow", type=int, default=64)
    chosen = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    asyncio.run(main(chosen.port, chosen.key, chosen.idle, chosen.slow))
