"""Runs the HTTP server until somebody ends it."""

import asyncio
import contextlib
import errno
import functools
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from holter.errors import Refused, UsageError
from holter.server.app import make_app
from holter.server.domain.services import Services
from holter.server.process.complaints import ComplainingHandler
from holter.server.process.crowd import Crowd, introduce
from holter.server.process.descriptors import MOST_BACKLOG, share_out
from holter.server.transport.problems import problem_of

PORT = 4658
NEXT_PORTS = 50
MOST_HEADER_BYTES = 256 << 10
QUIET_S = 20.0
# Who takes nothing of an answer for so long is let go, with all that waits for them in our memory.
UNREAD_S = 30.0
# The same for machines that are gone: until then Linux holds what they have not confirmed.
UNCONFIRMED_MS = 60_000
SWITCH_S = 0.0005
LEAVE_WITHIN_S = 1
# Then it leaves whatever it is in the middle of, as if it were killed: what is not taken in yet, the journals have.
LEAVE_AT_ONCE_S = 3.5


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
            found.listen(MOST_BACKLOG)
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


def serve(services: Services, listener: socket.socket, *, when_ready: Callable[[], None]) -> None:
    """Answer until SIGINT or SIGTERM; then end streams and leave everything durable. In the main thread."""
    # Whoever asks waits for the thread that takes in, at each of some ten turns, and not for the usual 5 ms.
    sys.setswitchinterval(SWITCH_S)
    proxies = services.proxies.named
    config = uvicorn.Config(
        make_app(services, when_ready),
        http=functools.partial(PatientProtocol, crowd=services.crowd),  # type: ignore[arg-type]  # it makes one
        ws="none",
        log_config=None,
        log_level="critical",  # what a stranger sends is no news
        access_log=False,  # addresses may have tokens in them
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_keep_alive=int(QUIET_S),
        timeout_graceful_shutdown=LEAVE_WITHIN_S,
        backlog=share_out().backlog,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        lifespan="on",
    )
    patience = threading.Timer(LEAVE_AT_ONCE_S, os._exit, (0,))
    patience.daemon = True
    complaining = ComplainingHandler(services.complaints)
    logging.getLogger("asyncio").addHandler(complaining)
    try:
        asyncio.run(_serve(_Server(config), services, listener, patience))
    finally:
        logging.getLogger("asyncio").removeHandler(complaining)
        services.close()
        listener.close()
        patience.cancel()


async def _serve(server: "_Server", services: Services, listener: socket.socket, patience: threading.Timer, /) -> None:
    def leave() -> None:
        if not server.should_exit:
            patience.start()
        services.changes.close()
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave)
    await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Signals are ours: theirs are raised again at the end, and Ctrl-C is a normal end here."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; as many as come wait in Linux, whatever we take in at once."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(MOST_BACKLOG)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class PatientProtocol(H11Protocol):
    """One connection. Ends where no request comes, or comes too slowly to be one, or its answer is not read."""

    def __init__(self, *args: Any, crowd: Crowd | None = None, **named: Any) -> None:
        super().__init__(*args, **named)
        self._crowd = crowd if crowd is not None else Crowd(share_out().connections)
        self.app_state = introduce(self.app_state, self)
        self._seen: object = None
        self._unread, self._unread_since = 0, 0.0
        self._is_lost = False

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def send_away(self) -> None:
        """End it at once."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the parent has it
        """A client is there."""
        super().connection_made(transport)
        found: socket.socket | None = transport.get_extra_info("socket")
        if found is not None and hasattr(socket, "TCP_USER_TIMEOUT"):
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNCONFIRMED_MS)
        if self._crowd.enter(self, self.client[0] if self.client else ""):
            self.loop.call_later(QUIET_S, self._look)
        else:
            transport.write(_NO_PLACE)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is gone."""
        super().connection_lost(exc)
        self._is_lost = True
        self._crowd.leave(self)

    def _look(self) -> None:
        if self._is_lost:
            return
        if self._is_unread():
            self.transport.abort()
            return
        if not self.is_busy and self._seen is self.cycle:
            self.transport.close()  # and what waits to be read is looked at again
        self._seen = object() if self.is_busy else self.cycle
        self.loop.call_later(QUIET_S, self._look)

    def _is_unread(self) -> bool:
        """Whether nothing of what waits was taken for too long."""
        unread, now = self.transport.get_write_buffer_size(), self.loop.time()
        if not unread or unread != self._unread:
            self._unread, self._unread_since = unread, now
        return unread > 0 and now - self._unread_since >= UNREAD_S


def _refusal() -> bytes:
    refused = Refused(503, "too many connections", why="all of them are busy", do="try again", retry_s=5)
    status, problem, retry_s = problem_of(refused)
    body = problem.encode()
    head = f"HTTP/1.1 {status} Service Unavailable\r\nretry-after: {retry_s}\r\nconnection: close\r\n"
    return f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


_NO_PLACE = _refusal()
