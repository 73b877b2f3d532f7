"""An answer is whole, or it is said that it is not."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import zstandard

from holter.errors import Refused, Unreachable
from holter.wire import connection as module
from holter.wire.connection import Address, Connection

MOST = 1000


@contextmanager
def answering(body: bytes, **headers: str) -> Iterator[Connection]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(200)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request).start()
        connection = Connection(Address("http", "127.0.0.1", server.server_port), "hk_a_b")
        yield connection
        connection.close()


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ANSWER_BYTES", MOST)


def test_the_largest_answer_comes_as_a_whole() -> None:
    with answering(b"x" * MOST, content_length=str(MOST)) as connection:
        assert connection.ask("GET", "/x").data == b"x" * MOST


PACKED = zstandard.ZstdCompressor().compress(b"x" * (MOST + 1))


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"x" * (MOST + 1), {"content_length": str(MOST + 1)}),
        (b"x" * (MOST + 1), {}),
        (PACKED, {"content_length": str(len(PACKED)), "content_encoding": "zstd"}),
    ],
    ids=["announced", "not announced", "packed"],
)
def test_one_that_is_too_large_is_refused_and_not_cut(body: bytes, headers: dict[str, str]) -> None:
    with answering(body, **headers) as connection, pytest.raises(Refused, match="more than 1,000 bytes"):
        connection.ask("GET", "/x")


def test_one_that_breaks_off_is_no_answer() -> None:
    with answering(b"x" * 10, content_length="20") as connection, pytest.raises(Unreachable, match="IncompleteRead"):
        connection.ask("GET", "/x")
