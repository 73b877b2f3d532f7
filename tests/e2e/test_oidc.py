"""People log in at their organisation's login server: a real one, asked by a real server, in a browser's steps."""

import html.parser
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pytest

from build_page import find_node, install_packages
from tests.e2e.servers import API, Served, holter, team_server

FOLDER = Path(__file__).with_name("oidc")
SECRET = "a secret: with + signs & so on"


class LoginServer:
    """oidc-provider, in Node."""

    def __init__(self) -> None:
        install_packages(FOLDER)
        node, _ = find_node()
        self.process = subprocess.Popen(
            [node, "server.mjs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=FOLDER,
        )
        self.issuer = self._line()

    def serve(self, address: str) -> None:
        """Know a client at that address."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{address}{API}/oidc/callback\n")
        self.process.stdin.flush()
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def login_server() -> Iterator[LoginServer]:
    found = LoginServer()
    yield found
    found.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("oidc") / "team"


@pytest.fixture(scope="module")
def server(data: Path, login_server: LoginServer) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HOLTER_OIDC_ISSUER", login_server.issuer)
        environment.setenv("HOLTER_OIDC_CLIENT_ID", "holter")
        environment.setenv("HOLTER_OIDC_CLIENT_SECRET", SECRET)
        environment.setenv("HOLTER_OIDC_NEW_USERS", "write")
        with team_server(data) as served:
            login_server.serve(served.address)
            yield served


class Form(html.parser.HTMLParser):
    """The first form of a page, with what it would send by itself."""

    def __init__(self, page: httpx.Response) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.feed(page.text)
        self.url = urljoin(str(page.url), self.action or str(page.url))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "form" and not self.action:
            self.action = named.get("action", "") or "."
        if tag in ("input", "button") and named.get("name") and named.get("name") != "abort":
            self.fields.setdefault(named["name"], named.get("value", ""))


def browser(server: Served) -> httpx.Client:
    return httpx.Client(base_url=server.address + API, timeout=30)


def fill_in(client: httpx.Client, page: httpx.Response, login: str) -> httpx.Response:
    """Do what the login server's pages ask for, until somebody else answers or nothing is asked any more."""
    for _ in range(20):
        if page.is_redirect:
            target = urljoin(str(page.url), page.headers["location"])
            page = client.get(target)
        elif "<form" in page.text and "/oidc/callback" not in str(page.url):
            form = Form(page)
            page = client.post(form.url, data={**form.fields, "login": login, "password": "x"})
        else:
            return page
    raise AssertionError(page.text)


def log_in(client: httpx.Client, login: str) -> httpx.Response:
    return fill_in(client, client.get("/oidc/login"), login)


def test_somebody_who_logged_in_there_is_in_here_and_stays_the_same_user(server: Served) -> None:
    with browser(server) as first, browser(server) as again, browser(server) as other:
        assert (
            first.get("/info").json()["login_server"]
            == urlsplit(str(first.get("/oidc/login").headers["location"])).netloc
        )
        welcome = log_in(first, "subject-1")
        assert (welcome.status_code, welcome.headers["refresh"]) == (200, "0; url=../../../"), welcome.text
        known = first.get("/info").json()
        assert (known["user"], known["scopes"]) == ("Ann-Lee", ["read", "write"])
        log_in(again, "subject-1")
        assert again.get("/info").json()["user"] == "Ann-Lee"
        # The same name and e-mail, and yet somebody else.
        log_in(other, "subject-2")
        assert other.get("/info").json()["user"] == "Ann-Lee-2"
    assert [act["what"]["by"] for act in server.get("/audit", act="login")["acts"]] == ["oidc"] * 3


def test_a_disabled_user_is_out_at_once_and_does_not_come_in_again(server: Served) -> None:
    with browser(server) as client:
        log_in(client, "subject-3")
        name = client.get("/info").json()["user"]
        assert client.get("/runs").status_code == 200
        server.http.patch(f"/users/{name}", json={"is_disabled": True})
        assert client.get("/runs").status_code == 401
        refused = log_in(client, "subject-3")
        assert (refused.status_code, client.get("/runs").status_code) == (403, 401)
        assert "may not come in here" in refused.json()["error"]["what"]


def test_a_terminal_gets_a_key_when_somebody_confirms_it_elsewhere(server: Served) -> None:
    with browser(server) as terminal, browser(server) as elsewhere:
        device = terminal.post("/oidc/device", json={}).json()
        asked = {"device_code": device["device_code"], "name": "node7"}
        waiting = terminal.post("/oidc/device/key", json=asked)
        assert (waiting.status_code, waiting.headers["retry-after"]) == (428, "5")
        done = fill_in(elsewhere, elsewhere.get(device["verification_uri_complete"]), "subject-4")
        assert done.status_code == 200, done.text
        made = terminal.post("/oidc/device/key", json=asked).json()
        bearer = {"authorization": f"Bearer {made['key']}"}
        assert terminal.get("/info", headers=bearer).json()["user"] == made["user"]
        assert terminal.post("/oidc/device/key", json=asked).status_code == 401
    [key] = [key for key in server.get("/tokens")["keys"] if key["id"] == made["id"]]
    assert (key["name"], key["user"], key["scope"], key["expires_at"]) == (
        "node7",
        made["user"],
        "write",
        made["expires_at"],
    )


def test_holter_login_takes_the_key_of_whoever_confirms_its_code(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLTER_DIR", str(tmp_path / "machine"))
    command = [sys.executable, "-m", "holter", "login", server.address, "--device"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        place = process.stderr.readline().removeprefix("Open ").strip()
        with browser(server) as elsewhere:
            assert fill_in(elsewhere, elsewhere.get(place), "subject-5").status_code == 200
        said, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert said.startswith(f"Logged in to {server.address} as Ann-Lee")
    [key] = [key for key in server.get("/tokens")["keys"] if key["user"] == said.split()[5]]
    again = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert again.stderr is not None
    with again, browser(server) as elsewhere:
        place = again.stderr.readline().removeprefix("Open ").strip()
        fill_in(elsewhere, elsewhere.get(place), "subject-5")
        again.communicate(timeout=60)
    # One key for each machine, however often somebody logs in there.
    [newer] = [each for each in server.get("/tokens")["keys"] if each["user"] == key["user"]]
    assert (newer["name"], newer["id"] != key["id"]) == (key["name"], True)
    assert (tmp_path / "machine" / "login.json").stat().st_mode & 0o777 == 0o600


def test_nobody_comes_in_with_a_login_that_was_not_begun_in_their_browser(server: Served) -> None:
    with browser(server) as victim, browser(server) as attacker:
        page = attacker.get("/oidc/login")
        state = parse_qs(urlsplit(page.headers["location"]).query)["state"][0]
        for cookies, query in (
            ({}, {"code": "stolen", "state": state}),
            (dict(attacker.cookies), {"code": "stolen", "state": "another"}),
            (dict(attacker.cookies), {"code": "stolen", "state": state, "iss": "https://evil.example"}),
        ):
            victim.cookies.clear()
            victim.cookies.update(cookies)
            answer = victim.get("/oidc/callback", params=query)
            assert answer.status_code == 400
            assert answer.json()["error"]["what"] == "this login was not begun here"
        victim.cookies.update(dict(attacker.cookies))
        invented = victim.get("/oidc/callback", params={"code": "stolen", "state": state})
        assert invented.status_code == 401
        assert victim.get("/runs").status_code == 401


def test_a_server_says_what_is_wrong_with_its_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_OIDC_ISSUER", "http://login.example.org")
    monkeypatch.setenv("HOLTER_OIDC_CLIENT_ID", "holter")
    done = holter("server", "--data", str(tmp_path / "data"), "--port", "0")
    assert done.returncode == 2
    assert "HOLTER_OIDC_ISSUER must be an https:// address" in done.stderr
