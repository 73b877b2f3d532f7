"""A load balancer for tests: each connection goes to the next server that takes it."""

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit


class Balancer:
    """Listens on a free port until it is closed."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = list(addresses)
        """Servers; may be changed at any time."""
        self._turns = itertools.count()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError, StopIteration), next(self._servers()) as server:
            back = threading.Thread(target=_copy, args=(server, client), daemon=True)
            back.start()
            _copy(client, server)
            back.join()

    def _servers(self) -> Iterator[socket.socket]:
        turn, addresses = next(self._turns), list(self.addresses)
        for place in range(len(addresses)):
            parts = urlsplit(addresses[(turn + place) % len(addresses)])
            with contextlib.suppress(OSError):
                yield socket.create_connection((parts.hostname, parts.port))


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
