"""Servers behind TLS and behind the proxy of a company: certificates are checked, and what is wrong is said."""

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import holter
from benchmarks.received import has_all
from holter.errors import Unreachable
from holter.journal.rundir import run_directory
from holter.wire.connection import Connection, parse_address
from tests.e2e.programs import data_directory, run, wait_until
from tests.e2e.servers import Served, team_server
from tests.e2e.servers import holter as command
from tests.e2e.tls import HOST, Certificates, ForwardProxy, TlsTerminator

TRAINING = """
import holter
run = holter.init(id="sent")
for step in range(100):
    run.log({"loss": 1 / (step + 1)})
"""


@pytest.fixture
def far(tmp_path: Path) -> Path:
    return tmp_path / "far"


@pytest.fixture
def server(far: Path) -> Iterator[Served]:
    with team_server(far, "--allow-host", HOST) as served:
        yield served


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path / "certificates")


def port_of(server: Served) -> int:
    return int(server.address.rpartition(":")[2])


@pytest.fixture
def terminator(server: Served, certificates: Certificates) -> Iterator[TlsTerminator]:
    opened = TlsTerminator(port_of(server), certificates)
    yield opened
    opened.close()


@pytest.fixture
def proxy(server: Served, terminator: TlsTerminator) -> Iterator[ForwardProxy]:
    opened = ForwardProxy(tunnels_to=terminator.port, requests_to=port_of(server))
    yield opened
    opened.close()


def record(server: Served, url: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(TRAINING, HOLTER_URL=url, HOLTER_API_KEY=server.key, **environment)


def wait_for_all(far: Path) -> None:
    wait_until(lambda: has_all(far, run_directory(str(data_directory()), "sent"), "sent"), within_s=60)


def test_a_run_is_sent_over_tls_that_a_file_vouches_for(
    server: Served, far: Path, terminator: TlsTerminator, certificates: Certificates
) -> None:
    url = f"https://127.0.0.1:{terminator.port}"
    done = record(server, url, SSL_CERT_FILE=str(certificates.authority))
    assert (done.returncode, done.stderr) == (0, "")
    wait_for_all(far)


def test_a_certificate_that_nobody_vouches_for_is_refused_and_it_is_said_what_to_do(
    server: Served, terminator: TlsTerminator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLTER_API_KEY", server.key)
    url = f"https://127.0.0.1:{terminator.port}"
    done = command("login", url)
    assert done.returncode == 1
    assert f"{url} can't be reached (its certificate is not trusted: " in done.stderr
    assert "SSL_CERT_FILE may name the file with the certificate of whoever signed it" in done.stderr
    assert not (data_directory() / "login.json").exists()


def test_a_certificate_for_another_name_is_refused(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Certificates(tmp_path / "other", "elsewhere.test")
    monkeypatch.setenv("SSL_CERT_FILE", str(other.authority))
    terminator = TlsTerminator(port_of(server), other)
    connection = Connection(parse_address(f"https://localhost:{terminator.port}"), server.key)
    with pytest.raises(Unreachable, match="certificate is not trusted: Hostname mismatch") as refused:
        connection.ask("GET", "/info")
    assert "SSL_CERT_FILE" not in str(refused.value)
    terminator.close()


def test_tls_to_a_port_without_it_is_told(server: Served) -> None:
    connection = Connection(parse_address(f"https://127.0.0.1:{port_of(server)}"), server.key)
    with pytest.raises(Unreachable, match="does it speak https there"):
        connection.ask("GET", "/info")


def test_a_run_is_sent_through_a_proxy_that_wants_a_password(
    server: Served, far: Path, proxy: ForwardProxy, certificates: Certificates
) -> None:
    environment = {"https_proxy": f"http://ann:s%20p@{proxy.address}", "SSL_CERT_FILE": str(certificates.authority)}
    done = record(server, f"https://{HOST}", **environment)
    assert (done.returncode, done.stderr) == (0, "")
    wait_for_all(far)
    assert set(proxy.asked) == {f"CONNECT {HOST}:443 HTTP/1.1"} or set(proxy.asked) == {f"CONNECT {HOST}:443 HTTP/1.0"}


def test_plain_http_goes_through_its_proxy_too(
    server: Served, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://ann:s%20p@{proxy.address}")
    assert list(holter.Api(f"http://{HOST}", server.key).runs()) == []
    assert proxy.asked[0].startswith(f"GET http://{HOST}/api/v1/")


def test_large_answers_come_packed_from_far_away(
    server: Served, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://ann:s%20p@{proxy.address}")
    printing = TRAINING + "for number in range(2000):\n    print('the same line again,', number)\n"
    done = run(printing, HOLTER_URL=server.address, HOLTER_API_KEY=server.key)
    assert done.returncode == 0, done.stderr
    wait_until(lambda: server.http.get("/runs/sent").status_code == 200, within_s=60)
    wait_until(lambda: len(server.get("/runs/sent/console", tail=3000)["lines"]) == 2000)
    connection = Connection(parse_address(f"http://{HOST}"), server.key)
    answer = connection.ask("GET", "/runs/sent/console", query={"tail": 3000})
    connection.close()
    assert answer.json(dict)["lines"][-1]["text"] == "the same line again, 1999"
    wait_until(lambda: proxy.answered_bytes > 0)
    assert proxy.answered_bytes < len(answer.data) / 5


def test_a_proxy_that_lets_nobody_through_is_named(
    server: Served, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", proxy.address)
    connection = Connection(parse_address(f"https://{HOST}"), server.key)
    with pytest.raises(Unreachable, match=f"407 Proxy Authentication Required, through the proxy {proxy.address}"):
        connection.ask("GET", "/info")


def test_no_proxy_and_loopback_go_the_straight_way(
    server: Served, far: Path, proxy: ForwardProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    done = record(server, server.address)
    assert (done.returncode, done.stderr) == (0, "")
    wait_for_all(far)
    monkeypatch.setenv("no_proxy", f"other.test,{HOST}")
    connection = Connection(parse_address(f"https://{HOST}"), server.key)
    with pytest.raises(Unreachable) as unknown:  # nobody but the proxy knows the name
        connection.ask("GET", "/info")
    assert "proxy" not in str(unknown.value)
    assert proxy.asked == []


def test_an_end_that_says_nothing_is_given_up(server: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        connection = Connection(parse_address(f"http://127.0.0.1:{silent.getsockname()[1]}"), server.key, timeout_s=0.5)
        began = time.monotonic()
        with pytest.raises(Unreachable, match="no answer in time"):
            connection.ask("GET", "/info")
        assert time.monotonic() - began < 30
