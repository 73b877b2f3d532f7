"""The engine of a current ClickHouse behind HTTP: chDB, which answers no network itself.

`python chdb_server.py DIRECTORY PORT` stands in for a ClickHouse server: one question at a time, nobody asks who you
are. Prints its port.
"""

import re
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from chdb.session import Session

# What the protocol has beside settings.
NO_SETTINGS = {"query", "database", "session_id", "query_id", "user", "password", "wait_end_of_query", "compress"}
NO_SETTINGS |= {
    "client_protocol_version",
    "default_format",
    "enable_http_compression",
    "http_headers_progress_interval_ms",
}
NO_SETTINGS |= {"cancel_http_readonly_queries_on_client_close", "send_progress_in_http_headers", "role"}
HAS_FORMAT = re.compile(r"\bFORMAT\s+\w+\s*;?\s*$", re.IGNORECASE).search

# The small build of chDB can keep and compare numbers of 256 bits, and not divide them.
SHIFT = "toUInt64(bitShiftRight(version, 192))"
WITHOUT_SHIFT = r"reinterpretAsUInt64(reverse(substring(leftPad(unhex(hex(version)), 32, '\0'), 1, 8)))"

lock = threading.Lock()
session = Session(sys.argv[1])
CAN_SHIFT = b"1" in session.query("SELECT count() FROM system.functions WHERE name = 'bitShiftRight'").bytes()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def log_message(self, *args: object) -> None:
        pass

    def _answer(self, body: bytes) -> None:
        asked = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        try:
            with lock:
                for name in asked.keys() - NO_SETTINGS:
                    session.query(f"SET {name} = '{asked[name]}'")
                found = ask(asked.get("query", ""), body)
        except Exception as error:  # noqa: BLE001  who asked is told
            self._send(500, str(error).encode(), {"X-ClickHouse-Exception-Code": code_of(str(error))})
        else:
            self._send(200, found, {"X-ClickHouse-Summary": "{}"})

    def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def ask(sql: str, body: bytes) -> bytes:
    if not sql:
        head, _, rows = body.partition(b"\n") if body.startswith(b"INSERT") else (body, b"", b"")
        sql, body = head.decode(), rows
    if not CAN_SHIFT:
        sql = sql.replace(SHIFT, WITHOUT_SHIFT)
    if not body:
        return bytes(session.query(sql, "TabSeparated").bytes())
    into, _, kind = sql.rpartition("FORMAT")
    with tempfile.NamedTemporaryFile() as file:
        file.write(body)
        file.flush()
        session.query(f"{into} FROM INFILE '{file.name}' FORMAT {kind}")
    return b""


def code_of(text: str) -> str:
    found = re.search(r"Code: (\d+)", text)
    return found[1] if found else "0"


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
