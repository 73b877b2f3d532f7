"""A proxy that puts a prefix before everything, as notebook servers and gateways do, and a page that frames another."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import urlsplit

PREFIX = "/user/ann/proxy/4658"
FRAME = f"""<!doctype html><title>Lab</title><link rel="icon" href="data:,">
<iframe width="1200" height="800" src="{PREFIX}/"></iframe>"""
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "host"}


class Proxy(ThreadingHTTPServer):
    """Passes on what is below the prefix, without it. Everything else is noted, and not found."""

    daemon_threads = True

    def __init__(self, target: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = urlsplit(target)
        self.strays: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{PREFIX}"

    @property
    def frame(self) -> str:
        """A page of the notebook server's own that has ours in a frame."""
        return f"http://127.0.0.1:{self.server_address[1]}/lab"


class _Handler(BaseHTTPRequestHandler):
    server: Proxy

    def do_GET(self) -> None:
        if self.path == "/lab":
            body = FRAME.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        elif self.path.startswith(f"{PREFIX}/"):
            self._pass_on()
        else:
            self.server.strays.append(self.path)
            self.send_error(404)

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815  named by the standard library

    def _pass_on(self) -> None:
        target = self.server.target
        sent = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=60)
        connection.request(self.command, self.path.removeprefix(PREFIX), body, {**sent, "Host": self.headers["host"]})
        answer = connection.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        try:
            while data := answer.read1():
                self.wfile.write(data)
                self.wfile.flush()
        except OSError:
            pass  # the browser has gone on to another page
        finally:
            connection.close()
            self.close_connection = True

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Nobody reads it."""


@contextmanager
def prefixed(target: str) -> Iterator[Proxy]:
    with Proxy(target) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        yield proxy
        proxy.shutdown()
