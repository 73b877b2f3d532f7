"""A loopback proxy that treats requests as bad networks do: drops, delays, repeats, cuts off, falls silent."""

import contextlib
import random
import socket
import threading
import time

FAULTS = ("drop", "drop answer", "cut off", "cut off answer", "delay", "repeat", "repeat late")


class ChaoticProxy:
    """Forwards HTTP to one port. `chaos` is the share of requests that something happens to.

    `is_down` refuses all; `is_silent` takes them and never answers; each waits for `delay_s` first.
    """

    def __init__(self, port: int, *, chaos: float, seed: int = 1) -> None:
        self.chaos = chaos
        self.is_down = self.is_silent = False
        self.delay_s = 0.0
        self.bytes = self.largest = self.unanswered = 0
        self.done: dict[str, int] = dict.fromkeys(FAULTS, 0)
        """How often each fault has happened."""
        self._target = ("127.0.0.1", port)
        self._rng = random.Random(seed)
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._door.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._door.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while (request := _read_message(client)) and not self.is_down:
                if not self._forward(client, request):
                    return

    def _forward(self, client: socket.socket, request: bytes) -> bool:
        """Whether the connection lives on."""
        self.bytes += len(request)
        self.largest = max(self.largest, len(request))
        time.sleep(self.delay_s)
        if self.is_silent:
            self.unanswered += 1
            return bool(client.recv(1))  # until the other end has had enough
        fault = self._rng.choice(FAULTS) if self._rng.random() < self.chaos else ""
        if fault:
            self.done[fault] += 1
        if fault == "delay":
            time.sleep(self._rng.uniform(0.1, 1.0))
        if fault == "drop":
            return False
        if fault == "cut off":
            self._ask(request[: self._rng.randrange(1, len(request))])
            return False
        if fault == "repeat":
            self._ask(request)
        answer = self._ask(request)
        if fault == "repeat late":
            threading.Timer(self._rng.uniform(0.2, 1.5), self._ask, (request,)).start()
        if fault == "drop answer":
            return False
        if fault == "cut off answer":
            client.sendall(answer[: self._rng.randrange(1, max(2, len(answer)))])
            return False
        client.sendall(answer)
        return bool(answer)

    def _ask(self, request: bytes) -> bytes:
        """A connection for each: what is repeated may overtake what follows."""
        with contextlib.suppress(OSError), socket.create_connection(self._target, timeout=10) as server:
            server.sendall(request)
            server.shutdown(socket.SHUT_WR) if not _is_whole(request) else None
            return _read_message(server)
        return b""


def _read_message(end: socket.socket) -> bytes:
    """A request or an answer: its head, and as many bytes as that says. Empty where the other end is closed."""
    data = b""
    while not _is_whole(data):
        if not (more := end.recv(1 << 16)):
            return data if data.startswith(b"HTTP") else b""
        data += more
    return data


def _is_whole(data: bytes) -> bool:
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return False
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(body) >= int(line.partition(b":")[2])
    return True
