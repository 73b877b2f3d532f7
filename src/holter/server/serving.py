"""Runs the HTTP server until somebody ends it."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from holter.errors import UsageError
from holter.server.app import make_app
from holter.server.desk import Desk

PORT = 4658
NEXT_PORTS = 50
MOST_CONNECTIONS = 2000
MOST_HEADER_BYTES = 256 << 10
QUIET_S = 20.0
LEAVE_WITHIN_S = 3
# Then it leaves whatever it is in the middle of, as if it were killed: what is not taken in yet, the journals have.
LEAVE_AT_ONCE_S = 6.0


def listen(host: str, port: int | None) -> socket.socket:
    """A listening socket: on the port that was asked for, or on the usual one or the next that is free.

    Raises UsageError, OSError.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in [port] if port is not None else [*range(PORT, PORT + NEXT_PORTS), 0]:
        # Named, and not left to the default: asyncio turns Nagle's delay off only for what says that it is TCP, and
        # without that each answer on a kept connection waits 40 ms for the reader's acknowledgement.
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, candidate))
            found.listen(1024)
        except OverflowError:
            found.close()
            raise UsageError(f"a port is a number from 0 to 65535, not {candidate}") from None
        except OSError as error:
            found.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return found
    raise UsageError(f"port {port} of {host} is taken: choose another with --port, or leave --port out")


def serve(desk: Desk, door: socket.socket, *, when_ready: Callable[[], None]) -> None:
    """Answer until SIGINT or SIGTERM; then end streams and leave everything durable. In the main thread."""
    config = uvicorn.Config(
        make_app(desk, when_ready),
        http=PatientProtocol,
        ws="none",
        log_config=None,
        log_level="critical",  # what a stranger sends is no news
        access_log=False,  # addresses may have tokens in them
        server_header=False,
        timeout_keep_alive=int(QUIET_S),
        timeout_graceful_shutdown=LEAVE_WITHIN_S,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        lifespan="on",
    )
    patience = threading.Timer(LEAVE_AT_ONCE_S, os._exit, (0,))
    patience.daemon = True
    try:
        asyncio.run(_serve(_Server(config), desk, door, patience))
    finally:
        desk.close()
        door.close()
        patience.cancel()


async def _serve(server: "_Server", desk: Desk, door: socket.socket, patience: threading.Timer, /) -> None:
    def leave() -> None:
        if not server.should_exit:
            patience.start()
        desk.changes.close()
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave)
    await server.serve(sockets=[door])


class _Server(uvicorn.Server):
    """Signals are ours: theirs are raised again at the end, and Ctrl-C is a normal end here."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class PatientProtocol(H11Protocol):
    """Ends connections on which no request comes, or comes too slowly to be one."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent has it
        """A client is there."""
        super().connection_made(transport)
        self._seen: object = None
        self.loop.call_later(QUIET_S, self._look)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        cycle: RequestResponseCycle | None = self.cycle
        is_idle = cycle is None or cycle.response_complete
        if is_idle and self._seen is self.cycle:
            self.transport.close()
            return
        self._seen = self.cycle if is_idle else object()
        self.loop.call_later(QUIET_S, self._look)
