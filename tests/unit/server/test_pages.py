"""The built page: files that were there at the start, and the page itself at every depth."""

import asyncio
import gzip
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from holter.server.domain.services import ServerSettings, Services
from holter.server.pages import Pages, find_assets
from holter.storage.places import Places


def test_files_are_found_with_their_compressed_sisters(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    for name in ("index.html", "assets/app.js", "assets/app.js.br", "assets/app.js.gz", "assets/app.js.map", ".stamp"):
        (tmp_path / name).write_text(name)
    found = find_assets(tmp_path)
    assert sorted(found) == ["assets/app.js", "index.html"]
    script = found["assets/app.js"]
    assert (script.is_immutable, sorted(script.sisters), script.media) == (True, ["br", "gzip"], "text/javascript")
    assert not found["index.html"].is_immutable


def test_a_page_that_was_not_built_has_no_files(tmp_path: Path) -> None:
    assert find_assets(tmp_path / "none") == {}


class Browser:
    """Asks the application without a network."""

    def __init__(self, app: Starlette) -> None:
        self._transport = httpx.ASGITransport(app)

    def get(self, address: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=self._transport, base_url="http://localhost") as client:
                return await client.get(address, headers=headers)

        return asyncio.run(ask())


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Browser]:
    place = tmp_path / "page"
    (place / "assets").mkdir(parents=True)
    (place / "index.html").write_text('<!doctype html><base href="./"><script src="assets/app.js"></script>')
    (place / "assets" / "app.js").write_text("plain")
    (place / "assets" / "app.js.gz").write_bytes(gzip.compress(b"packed"))
    services = Services(
        ServerSettings(data=str(tmp_path / "data"), places=Places.at("memory:"), token="t" * 64, user="ada"), {}
    )
    app = Starlette(routes=[Route("/{path:path}", Pages(services, place).answer)])
    yield Browser(app)
    services.close()


def test_assets_come_packed_and_stay_in_caches(page: Browser) -> None:
    packed = page.get("/assets/app.js", headers={"accept-encoding": "gzip, br"})
    assert (packed.text, packed.headers["content-encoding"]) == ("packed", "gzip")
    assert packed.headers["cache-control"] == "public, max-age=31536000, immutable"
    plain = page.get("/assets/app.js", headers={"accept-encoding": "identity"})
    assert (plain.text, "content-encoding" in plain.headers) == ("plain", False)


@pytest.mark.parametrize(
    ("address", "base"), [("/", "./"), ("/runs", "./"), ("/p/mnist", "../"), ("/p/mnist/runs/x", "../../../")]
)
def test_the_page_finds_its_files_from_every_depth(page: Browser, address: str, base: str) -> None:
    answer = page.get(address)
    assert f'<base href="{base}">' in answer.text
    assert answer.headers["cache-control"] == "no-store"
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "default-src 'none'" in policy


def test_a_token_is_taken_for_a_cookie(page: Browser) -> None:
    answer = page.get("/p/mnist?token=" + "t" * 64)
    assert answer.headers["refresh"] == "0; url=./mnist"
    assert page.get("/?token=wrong").status_code == 401


def test_wrong_tokens_are_slowed_down_and_the_right_one_is_not(page: Browser) -> None:
    wrong = [page.get(f"/?token={number}").status_code for number in range(30)]
    assert (wrong[0], wrong[-1]) == (401, 429)
    assert page.get("/?token=" + "t" * 64).status_code == 200


def test_a_page_built_anew_under_a_running_server_is_served_as_it_is_now(tmp_path: Path) -> None:
    assert find_assets(tmp_path) == {}
    pages = Pages(Services.__new__(Services), tmp_path)
    (tmp_path / "index.html").write_text("new")
    pages._look_again()
    assert sorted(pages._assets) == ["index.html"]
