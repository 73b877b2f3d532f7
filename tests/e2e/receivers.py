"""Real servers on this machine that take what holter sends: HTTP and SMTP, on ports that Linux chooses."""

import contextlib
import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, NamedTuple, TypeVar

S = TypeVar("S")


class Posted(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


class Web:
    """Takes posts; answers with the next of `answers`, then with 200."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.posted: list[Posted] = []
        self.answers: list[tuple[int, dict[str, str]]] = []

    def wait_for(self, count: int, within_s: float = 60.0) -> list[Posted]:
        from tests.e2e.programs import wait_until

        wait_until(lambda: len(self.posted) >= count, within_s=within_s)
        return self.posted


@contextlib.contextmanager
def web() -> Iterator[Web]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            known = {name.lower(): value for name, value in self.headers.items()}
            server.posted.append(Posted(self.path, known, body))
            status, headers = server.answers.pop(0) if server.answers else (200, {})
            self.send_response(status)
            for name, value in {**headers, "content-length": "0"}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the library's name
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server = Web(listening.server_address[1])
        yield from _serving(listening, server)


class Mailbox:
    """Takes mail; refuses those who give a password other than `password`."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.mails: list[EmailMessage] = []
        self.logins: list[str] = []
        self.refuses = 0
        """How many mails are to be refused for now."""


@contextlib.contextmanager
def mailbox() -> Iterator[Mailbox]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            while line := self.rfile.readline():
                word = line.split()[0].upper() if line.split() else b""
                if word == b"EHLO":
                    self.wfile.write(b"250-here\r\n250 AUTH PLAIN\r\n")
                elif word == b"AUTH":
                    server.logins.append(line.split()[-1].decode())
                    self.wfile.write(b"235 welcome\r\n")
                elif word == b"MAIL" and server.refuses:
                    server.refuses -= 1
                    self.wfile.write(b"451 later\r\n")
                elif word == b"DATA":
                    self.wfile.write(b"354 go on\r\n")
                    self.take()
                elif word == b"QUIT":
                    self.wfile.write(b"221 bye\r\n")
                    return
                else:
                    self.wfile.write(b"250 fine\r\n")

        def take(self) -> None:
            lines = []
            while (line := self.rfile.readline()) not in (b".\r\n", b""):
                lines.append(line)
            mail = message_from_bytes(b"".join(lines), policy=policy.default)
            assert isinstance(mail, EmailMessage)
            server.mails.append(mail)
            self.wfile.write(b"250 taken\r\n")

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as listening:
        server = Mailbox(listening.server_address[1])
        yield from _serving(listening, server)


def _serving(listening: socketserver.BaseServer, server: S) -> Iterator[S]:
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        thread.join()
