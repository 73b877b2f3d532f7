"""TLS before a server and a proxy on the way to it, both on loopback: what stands between people and machines."""

import base64
import contextlib
import socket
import ssl
import subprocess
import threading
from pathlib import Path

HOST = "holter.test"
"""A name that only the proxy knows."""


class Certificates:
    """An authority that nobody knows, and a certificate that it signed for a name and for loopback."""

    def __init__(self, folder: Path, name: str = HOST, *, days: int = 30) -> None:
        folder.mkdir()
        self.authority, self.certificate, self.key = folder / "ca.pem", folder / "server.pem", folder / "server.key"
        authority_key, request, names = folder / "ca.key", folder / "server.csr", folder / "names"
        names.write_text(f"subjectAltName=DNS:{name},IP:127.0.0.1\n")
        new = ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
        _openssl(*new, "-x509", "-subj", "/CN=nobody's authority", "-keyout", authority_key, "-out", self.authority)
        _openssl(*new, "-subj", f"/CN={name}", "-keyout", self.key, "-out", request)
        signed_by = ("-CA", self.authority, "-CAkey", authority_key, "-CAcreateserial", "-days", days)
        _openssl("x509", "-req", "-in", request, *signed_by, "-extfile", names, "-out", self.certificate)


def _openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class TlsTerminator:
    """Takes TLS on a port of loopback and passes what is inside on to another."""

    def __init__(self, port: int, certificates: Certificates) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.certificate, certificates.key)
        self._door = socket.create_server(("127.0.0.1", 0))
        self._target = port
        self._context = context
        self.port = int(self._door.getsockname()[1])
        threading.Thread(target=_accept, args=(self._door, self._serve), daemon=True).start()

    def close(self) -> None:
        self._door.close()

    def _serve(self, client: socket.socket) -> None:
        tls = self._context.wrap_socket(client, server_side=True)
        with tls as inside, socket.create_connection(("127.0.0.1", self._target)) as server:
            _connect(inside, server)


class ForwardProxy:
    """Knows `HOST`: tunnels go to one port, plain requests to another. Wants a user and a password."""

    def __init__(self, *, tunnels_to: int, requests_to: int) -> None:
        self.asked: list[str] = []
        """The first line on each connection."""
        self.answered_bytes = 0
        self._ports = (tunnels_to, requests_to)
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._door.getsockname()[1]}"
        threading.Thread(target=_accept, args=(self._door, self._serve), daemon=True).start()

    def close(self) -> None:
        self._door.close()

    def _serve(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            if not (more := client.recv(1 << 16)):
                return
            head += more
        line = head.partition(b"\r\n")[0].decode()
        self.asked.append(line)
        if f"proxy-authorization: basic {base64.b64encode(b'ann:s p').decode()}".lower() not in head.decode().lower():
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        is_tunnel = line.startswith("CONNECT ")
        with socket.create_connection(("127.0.0.1", self._ports[0 if is_tunnel else 1])) as server:
            if is_tunnel:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                server.sendall(head.replace(f"http://{HOST}".encode(), b"", 1))
            self.answered_bytes += _connect(client, server)


def _accept(door: socket.socket, serve: object) -> None:
    assert callable(serve)

    def attend(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            serve(client)

    while True:
        try:
            client, _ = door.accept()
        except OSError:
            return
        threading.Thread(target=attend, args=(client,), daemon=True).start()


def _connect(one: socket.socket, other: socket.socket) -> int:
    """Pass on what each says, until both have ended; returns how many bytes the other said."""
    passed = {one: 0, other: 0}

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                passed[source] += len(data)
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    back = threading.Thread(target=pump, args=(other, one), daemon=True)
    back.start()
    pump(one, other)
    back.join()
    return passed[other]
