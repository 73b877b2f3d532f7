"""Who may come in: keys, tokens, cookies, other people's pages, names that lead elsewhere, too much of anything."""

import contextlib
import http.client
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.programs import data_directory, run, wait_until
from tests.e2e.servers import API, Served, holter, stream, team_server, ui

RECORD = "import holter; run = holter.init(); run.log({'x': 1}); print(run.id)"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("access") / "team"


@pytest.fixture(scope="module")
def shared(data: Path) -> Iterator[Served]:
    with team_server(data) as served:
        yield served


@pytest.fixture
def server(shared: Served) -> Iterator[Served]:
    """One for all, with its first key alone."""
    yield shared
    for key in shared.get("/tokens")["keys"][1:]:
        shared.http.delete(f"/tokens/{key['id']}")


def new_key(server: Served, scope: str) -> tuple[str, dict[str, str]]:
    made = server.post("/tokens", {"name": scope, "scope": scope})
    return made["id"], {"authorization": f"Bearer {made['key']}"}


def ask(server: Served, method: str, path: str, headers: dict[str, str], body: object = None) -> httpx.Response:
    with httpx.Client(base_url=server.address + API) as stranger:
        if body is None:
            return stranger.request(method, path, headers=headers)
        return stranger.request(method, path, headers=headers, json=body)


def browser(server: Served, key: str) -> tuple[httpx.Client, str]:
    """Somebody who logged in with a key: their cookies, and what their page must send with writes."""
    client = httpx.Client(base_url=server.address + API)
    answer = client.post("/login", json={"key": key})
    assert answer.status_code == 200, answer.text
    return client, answer.json()["csrf"]


@pytest.mark.parametrize(
    "path", ["/runs", "/projects", "/runs/x", "/runs/x/verdict", "/runs/x/files/output.log", "/events", "/tokens"]
)
def test_nobody_comes_in_without_a_key(server: Served, path: str) -> None:
    answer = ask(server, "GET", path, {})
    assert (answer.status_code, answer.json()["error"]["what"]) == (401, "you are not logged in")
    wrong = ask(server, "GET", path, {"authorization": f"Bearer {server.key[:-1]}x"})
    assert (wrong.status_code, wrong.json()["error"]["what"]) == (401, "this key is not known here")


def test_a_stranger_learns_only_that_a_login_is_needed(server: Served) -> None:
    told = ask(server, "GET", "/info", {}).json()
    assert (told["needs_login"], told["directory"], told["user"], told["address"]) == (True, None, None, "")


def test_a_key_may_do_what_its_scope_says(server: Served) -> None:
    scopes = {scope: new_key(server, scope)[1] for scope in ("read", "write", "admin")}
    wanted = [
        ("GET", "/runs", None),
        ("GET", "/ingest/x1", None),
        ("POST", "/runs/x1/marks", {"state": "failed", "reason": "r"}),
        ("DELETE", "/runs/x1", None),
        ("GET", "/tokens", None),
    ]
    seen = {
        scope: [ask(server, method, path, headers, body).status_code for method, path, body in wanted]
        for scope, headers in scopes.items()
    }
    assert seen == {
        "read": [200, 403, 403, 403, 403],
        "write": [200, 200, 404, 404, 403],
        "admin": [200, 200, 404, 404, 200],
    }


def test_a_revoked_key_is_out_at_once_with_its_sessions_and_streams(server: Served, data: Path) -> None:
    key_id, headers = new_key(server, "read")
    client, _ = browser(server, headers["authorization"].split()[1])
    with contextlib.closing(client):
        assert client.get("/runs").status_code == 200
        revoked = holter("server", "keys", "revoke", key_id, "--data", str(data))
        assert revoked.returncode == 0, revoked.stderr
        assert client.get("/runs").status_code == 401
    assert ask(server, "GET", "/runs", headers).status_code == 401


def test_keys_are_shown_once_and_kept_as_hashes(server: Served, data: Path) -> None:
    secret = server.key.split("_", 2)[2]
    files = [path for path in data.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
    listed = holter("server", "keys", "--json", "--data", str(data))
    assert secret not in listed.stdout
    assert [key["name"] for key in json.loads(listed.stdout)["keys"]] == ["first"]


def test_the_data_of_a_team_is_its_owners_alone_also_in_a_directory_that_was_open(tmp_path: Path) -> None:
    team = tmp_path / "team"
    team.mkdir(mode=0o755)
    with team_server(team) as served:
        octets = {"content-type": "application/octet-stream"}
        sent = served.http.post("/ingest/r1/transcripts/output.log?offset=0", content=b"x", headers=octets)
        assert sent.status_code == 200
        assert [path for path in (team, *team.rglob("*")) if path.is_dir() and path.stat().st_mode & 0o077] == []
        private = [*(team / "access").rglob("*"), *(team / "runs").rglob("*")]
        assert len(private) >= 4
        assert [path for path in private if path.is_file() and path.stat().st_mode & 0o077] == []


def test_a_cookie_is_out_of_reach_of_scripts_and_other_sites(server: Served) -> None:
    answer = httpx.post(f"{server.address}{API}/login", json={"key": server.key})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    behind_tls = httpx.post(
        f"{server.address}{API}/login", json={"key": server.key}, headers={"x-forwarded-proto": "https"}
    )
    assert "Secure" in behind_tls.headers["set-cookie"]


def test_a_write_with_a_cookie_needs_the_word_of_our_page(server: Served) -> None:
    client, csrf = browser(server, server.key)
    with contextlib.closing(client):
        body = {"name": "n", "scope": "read"}
        assert client.post("/tokens", json=body).status_code == 403
        assert client.post("/tokens", json=body, headers={"x-holter-csrf": "0" * 64}).status_code == 403
        assert client.post("/tokens", json=body, headers={"x-holter-csrf": csrf}).status_code == 200
        assert client.get("/info").json()["csrf"] == csrf
        assert client.post("/logout", json={}, headers={"x-holter-csrf": csrf}).status_code == 200
        assert client.get("/runs").status_code == 401


def test_a_copy_of_a_cookie_is_worthless_after_the_logout(server: Served) -> None:
    client, csrf = browser(server, server.key)
    other, _ = browser(server, server.key)
    with contextlib.closing(client), contextlib.closing(other):
        copied = dict(client.cookies)
        with httpx.stream("GET", f"{server.address}{API}/events", cookies=copied) as stream:
            lines = stream.iter_lines()
            assert next(lines).startswith("id: ")
            assert client.post("/logout", json={}, headers={"x-holter-csrf": csrf}).status_code == 200
            assert httpx.get(f"{server.address}{API}/runs", cookies=copied).status_code == 401
            assert list(lines) == ["event: hello", "data: {}", ""]  # it ends at once
        assert other.get("/runs").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:4658"}, 421),
    ],
    ids=str,
)
def test_no_other_page_can_write(server: Served, headers: dict[str, str], status: int) -> None:
    sent = {"content-type": "application/json", **server.authorization, **headers}
    with httpx.Client(base_url=server.address + API) as other:
        answer = other.post("/tokens", content=b'{"name": "n"}', headers=sent)
    assert answer.status_code == status
    assert server.get("/tokens")["keys"][1:] == []


def test_a_page_under_another_name_reads_nothing_either(server: Served) -> None:
    answer = httpx.get(f"{server.address}/", headers={"host": "rebound.example"})
    assert answer.status_code == 421
    own = server.http.get("/info", headers={"origin": "http://evil.example"})
    assert "access-control-allow-origin" not in own.headers


def test_a_name_that_was_allowed_is_answered(tmp_path: Path) -> None:
    with team_server(tmp_path / "team", "--allow-host", "holter.example.com") as served:
        answer = served.http.get("/info", headers={"host": "holter.example.com"})
        assert answer.status_code == 200


def test_the_token_of_the_ui_becomes_a_cookie_and_leaves_the_address() -> None:
    with ui() as served, httpx.Client(base_url=served.address) as page:
        assert page.get("/api/v1/runs").status_code == 401
        answer = page.get("/p/mnist", params={"token": served.key, "x": "step"})
        assert (answer.status_code, answer.headers["refresh"]) == (200, "0; url=./mnist?x=step")
        assert served.key not in answer.text + answer.headers["set-cookie"]
        assert page.get("/api/v1/runs").status_code == 200
        assert page.get("/", params={"token": "wrong"}).status_code == 401


def test_a_cookie_of_the_ui_survives_its_restart() -> None:
    with ui() as served, httpx.Client() as page:
        page.get(f"{served.address}/", params={"token": served.key})
        served.close()
        with ui() as again:
            assert page.get(f"{again.address}/api/v1/runs").status_code == 200


def raw(server: Served, path: str) -> tuple[int, bytes]:
    """Ask for a path exactly as it is written."""
    connection = http.client.HTTPConnection(urlsplit(server.address).netloc, timeout=60)
    try:
        connection.putrequest("GET", path)
        connection.putheader("authorization", f"Bearer {server.key}")
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_no_name_leads_out_of_a_run() -> None:
    run_id = run(RECORD).stdout.strip()
    with ui() as served:
        wait_until(lambda: served.http.get(f"/runs/{run_id}").status_code == 200)
        directory = data_directory() / "runs" / run_id
        (directory / "link").symlink_to(data_directory() / "access")
        (directory / "hosts").symlink_to("/etc/hosts")
        files = f"{API}/runs/{run_id}/files"
        for path in (
            f"{files}/../../../access/secret",
            f"{files}/..%2f..%2f..%2faccess%2fsecret",
            f"{files}/%2e%2e/%2e%2e/%2e%2e/access/secret",
            f"{files}//etc/passwd",
            f"{files}/%2fetc%2fpasswd",
            f"{files}/link/secret",
            f"{files}/hosts",
            f"{files}/output.log%00.html",
            f"{files}/..%5c..%5caccess",
            f"{API}/runs/..%2f..%2faccess/files/secret",
            f"{API}/runs/../../access/files/secret",
            f"{API}/runs/.trash/files/x",
            "/../../../../etc/passwd",
            "/assets/..%2f..%2fdesk.py",
        ):
            status, body = raw(served, path)
            assert status in (400, 404) or b"<!doctype html>" in body, (path, status)
            assert b"root:" not in body
            assert b"localhost" not in body, path


def test_names_in_uploads_never_reach_the_file_system(server: Served, data: Path) -> None:
    digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    octets = {"content-type": "application/octet-stream"}
    before = sorted(path for path in data.rglob("*") if path.is_dir())
    for path in (
        f"/ingest/run1/files/..%2f..%2fevil?offset=0&total=0&sha256={digest}",
        f"/ingest/..%2fevil/files/x?offset=0&total=0&sha256={digest}",
        "/ingest/run1/files/x?offset=0&total=0&sha256=..%2f..%2fevil",
    ):
        answer = server.http.put(path, content=b"", headers=octets)
        assert answer.status_code in (400, 404), path
    for path in (
        "/ingest/run1/transcripts/..%2fevil.log?offset=0",
        "/ingest/run1/transcripts/evil.py?offset=0",
        "/ingest/..%2fevil/transcripts/output.log?offset=0",
        "/ingest/run1/journals/..%2fevil?offset=0",
    ):
        answer = server.http.post(path, content=b"x", headers=octets)
        assert answer.status_code in (400, 404), path
    assert sorted(path for path in data.rglob("*") if path.is_dir()) == before


def test_too_much_is_refused(server: Served) -> None:
    large = server.http.post("/login", content=b"x" * (2 << 20), headers={"content-type": "application/json"})
    assert large.status_code == 413
    deep = server.http.post("/series", content=b"[" * 100_000, headers={"content-type": "application/json"})
    assert deep.status_code == 400
    many = server.http.post("/series", json={"runs": ["r"] * 100, "keys": ["k"] * 100})
    assert many.status_code == 400
    assert server.http.get("/runs", params={"filter": "x" * 9000}).status_code == 400
    assert server.http.get("/" + "x" * 20_000).status_code == 414


def test_a_packed_body_that_grows_without_end_is_refused(server: Served) -> None:
    import zstandard

    bomb = zstandard.ZstdCompressor().compress(bytes(200 << 20))
    answer = server.http.post(
        f"/ingest/run1/journals/{'0' * 32}?offset=0", content=bomb, headers={"content-type": "application/zstd"}
    )
    assert (answer.status_code, len(bomb) < 100_000) == (413, True)


def test_headers_without_end_are_refused(server: Served) -> None:
    host, port = urlsplit(server.address).netloc.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        try:
            for _ in range(100):
                client.sendall(b"X-Long: " + b"x" * 4096 + b"\r\n")
            answer = client.recv(100)
        except (ConnectionResetError, BrokenPipeError):
            answer = b""
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


def tries_until_refused(guess: Callable[[str], int]) -> int:
    """With a text of its own each. On a slow machine more than 20 are let through: one is forgiven every 5 s."""
    for number in range(1, 200):
        if guess(f"{number}") == 429:
            return number
    raise AssertionError("nobody is slowed down")


def test_wrong_keys_are_slowed_down_and_right_ones_are_not(tmp_path: Path) -> None:
    with team_server(tmp_path / "team") as server:
        wrong = {"authorization": "Bearer hk_x_y"}
        assert tries_until_refused(lambda _: ask(server, "GET", "/runs", wrong).status_code) > 20
        assert server.http.get("/runs").status_code == 200


def test_no_other_way_in_takes_more_wrong_keys(tmp_path: Path) -> None:
    with team_server(tmp_path / "team") as server:

        def try_from(number: str) -> int:
            headers = {"authorization": "Bearer hk_x_y", "x-forwarded-for": f"192.0.2.{number}"}
            return ask(server, "GET", "/runs", headers).status_code

        assert tries_until_refused(try_from) > 20
        assert tries_until_refused(lambda _: ask(server, "POST", "/login", {}, {"key": "hk_x_y"}).status_code) < 20
        assert ask(server, "POST", "/login", {}, {"key": server.key}).status_code == 200


def test_a_proxy_that_is_named_is_believed_and_counts_for_nobody_else(tmp_path: Path) -> None:
    with team_server(tmp_path / "team", "--proxy", "127.0.0.0/8") as server:

        def try_from(address: str) -> int:
            headers = {"authorization": "Bearer hk_x_y", "x-forwarded-for": f"198.51.100.9, {address}"}
            return ask(server, "GET", "/runs", headers).status_code

        assert tries_until_refused(lambda _: try_from("192.0.2.1")) > 20
        assert try_from("192.0.2.2") == 401
        assert tries_until_refused(lambda number: try_from(f"2001:db8::{number}")) > 20
        assert server.http.get("/runs").status_code == 200
    refused = holter("server", "--data", str(tmp_path / "team"), "--port", "0", "--proxy", "my-proxy")
    assert (refused.returncode, "--proxy takes an address or a network" in refused.stderr) == (2, True)


def test_a_team_server_takes_no_key_from_an_address(server: Served) -> None:
    answer = httpx.get(f"{server.address}/?token={server.key}")
    assert (answer.status_code, "set-cookie" in answer.headers) == (400, False)
    assert "does not belong in an address" in answer.text


def test_no_secret_is_in_what_it_prints(server: Served) -> None:
    printed = server.output.read_text()
    _, headers = new_key(server, "read")
    key = headers["authorization"].split()[1]
    ask(server, "GET", f"/runs?token={key}", {})
    httpx.get(f"{server.address}/?token={key}")
    ask(server, "POST", "/login", {}, {"key": key})
    with stream(server) as live:
        live.next()
    assert server.output.read_text() == printed


def test_wrong_addresses_and_methods_are_told_as_json(server: Served) -> None:
    assert server.http.get("/nothing").json()["error"]["what"] == "there is no such address"
    wrong = server.http.put("/runs", json={})
    assert (wrong.status_code, wrong.json()["error"]["what"]) == (405, "PUT is not possible here")
    unknown = server.http.get("/runs", params={"sorted": "x"})
    assert (unknown.status_code, unknown.json()["error"]["what"]) == (400, "there is no parameter 'sorted' here")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("keys", "--keep", "90d"), "--keep is an option of `holter server projects`"),
        (("users", "add", "bob", "--private"), "--private is an option of `holter server projects`"),
        (("projects", "vision", "--proxy", "10.0.0.1"), "--proxy is an option of `holter server`"),
        (("--scope", "admin"), "--scope is an option of `holter server keys`"),
        (("users", "set", "ada"), "say what ada may do"),
        (("projects", "vision", "--keep-tagged"), "--keep-tagged needs --keep"),
        (("keys", "add", "ci", "--days", "-1"), "a key lasts for more than 0"),
    ],
)
def test_an_option_is_never_left_aside(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = holter("server", *words, "--data", str(tmp_path / "data"))
    assert done.returncode == 2
    assert said in done.stderr


def test_the_audit_has_what_was_decided_about_a_project(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    assert holter("server", "projects", "vision", "--keep", "90d", "--quota", "5GB", "--data", data).returncode == 0
    [act] = json.loads(holter("server", "audit", "--json", "--data", data).stdout)["acts"]
    assert (act["act"], act["what"]["keep_days"], act["what"]["most_bytes"]) == ("rights-changed", 90, 5_000_000_000)
