"""When a busy server, or a proxy before it, wants to be asked again."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from holter.errors import Unreachable
from holter.wire.connection import Address, Connection

NOW = "Sun, 15 Nov 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("wanted", "seconds"),
    [
        ("7", 7),
        ("Sun, 15 Nov 2026 12:01:30 GMT", 90),
        ("Sun, 15 Nov 2026 11:59:00 GMT", 0),
        ("soon", None),
        ("99999999999", None),
        ("", None),
    ],
)
def test_the_time_is_read_in_seconds_and_as_a_date_by_the_servers_clock(wanted: str, seconds: int | None) -> None:
    class Busy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response_only(503)
            for name, value in (("date", NOW), ("retry-after", wanted), ("content-length", "0")):
                self.send_header(name, value)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.handle_request).start()
        connection = Connection(Address("http", "127.0.0.1", server.server_port), "hk_a_b")
        with pytest.raises(Unreachable) as told:
            connection.ask("GET", "/x")
        connection.close()
    assert told.value.retry_s == seconds
