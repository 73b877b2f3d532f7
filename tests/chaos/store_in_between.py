"""A way to an object store that answers 503 while it is told to."""

import contextlib
import socket

from tests.e2e.balancer import Balancer

BUSY = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n"


class StoreInBetween(Balancer):
    """Connections that are open when it begins to refuse are cut."""

    def __init__(self, address: str) -> None:
        self._refuses = False
        self._open: set[socket.socket] = set()
        super().__init__(address)

    @property
    def refuses(self) -> bool:
        """Whether it answers 503."""
        return self._refuses

    @refuses.setter
    def refuses(self, does: bool) -> None:
        self._refuses = does
        if does:
            for each in list(self._open):
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def _lead(self, client: socket.socket) -> None:
        if self._refuses:
            with client, contextlib.suppress(OSError):
                client.recv(1 << 16)
                client.sendall(BUSY)
            return
        self._open.add(client)
        try:
            super()._lead(client)
        finally:
            self._open.discard(client)
