"""Serves the built page: its files as they are, its own addresses with the page, and the address with a token."""

import asyncio
import hmac
import mimetypes
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holter.errors import Refused
from holter.server.api.info import cookie_text
from holter.server.domain.services import Services
from holter.server.process.tally import note_of
from holter.server.transport.answering import address_of

PAGE = Path(__file__).with_name("page")
INDEX = "index.html"
IMMUTABLE = "public, max-age=31536000, immutable"
# What Python's own list lacks.
MEDIA = {".woff2": "font/woff2"}
ENCODINGS = {"br": ".br", "gzip": ".gz"}
# The page's own address may be below any prefix of a proxy: it finds its files from where it is.
BASE = b'<base href="./">'
CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "style-src-attr 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "media-src 'self' blob:",
        "font-src 'self'",
        "connect-src 'self'",
        "frame-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors {ancestors}",
    )
)
LOOPBACK = "'self' http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:*"
# Without an icon of their own, browsers ask for one above whatever prefix there is.
HEAD = b"""<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>Holter</title>
"""
NOT_BUILT = (
    HEAD
    + b"""<h1>Holter is running, but its page is not built</h1>
<p>This copy of holter was installed without the web page. <code>pip install --force-reinstall holter</code> from a
wheel brings it; in a checkout, <code>pip install .</code> builds it.</p>
<p>Everything else works: the API below <code>/api/v1</code>, <code>holter ls</code>, <code>holter show</code> and
<code>holter why</code>.</p></html>"""
)
ENTER = HEAD + b"<p>Welcome.</p></html>"
STRANGER = (
    HEAD + b"<h1>This token is not the right one</h1><p>Open the URL that <code>holter ui</code> printed.</p></html>"
)
NOT_HERE = (
    HEAD
    + b"""<h1>A key does not belong in an address</h1>
<p>Addresses stay in histories and in the logs of proxies. <a href="./">Log in</a> with the key instead; if this was
one, have it revoked: <code>holter server keys revoke ID</code>.</p></html>"""
)
TOO_OFTEN = HEAD + b"<h1>Too many wrong tokens</h1><p>Wait a moment, then open the right URL.</p></html>"


class Asset(msgspec.Struct, frozen=True):
    """A file of the page, with its compressed sisters by the name of their encoding."""

    path: str
    media: str
    sisters: dict[str, str]
    is_immutable: bool


class Pages:
    """The files that are there, by name: what is asked for is looked up, never joined to a path."""

    def __init__(self, services: Services, directory: Path = PAGE) -> None:
        self._services = services
        self._directory = directory
        self._assets: dict[str, Asset] = {}
        self._built_ns = -1
        self._look_again()

    async def answer(self, request: Request) -> Response:
        """A file, or the page for every other address."""
        note = note_of(request.scope)
        note.route = note.kind = "page"
        if token := request.query_params.get("token"):
            return self._enter(request, token)
        self._look_again()
        name = request.path_params["path"]
        asset = self._assets.get(name)
        if asset is None or name == INDEX:
            return self._page(name)
        return self._file(asset, request.headers)

    def _look_again(self) -> None:
        """A page that was built or installed anew under a running server is served as it is now."""
        try:
            built_ns = os.stat(self._directory / INDEX).st_mtime_ns
        except OSError:
            built_ns = 0
        if built_ns != self._built_ns:
            self._assets, self._built_ns = find_assets(self._directory), built_ns

    def _enter(self, request: Request, token: str) -> Response:
        """Take the token of `holter ui` for a cookie, and lead to the same address without it. No key is taken here."""
        own = self._services.settings.token
        if not own:
            return self._html(NOT_HERE, status=400)
        visitor = self._services.access.check(token) if hmac.compare_digest(token.encode(), own.encode()) else None
        if visitor is None:
            return self._refuse(request)
        is_secure = request.url.scheme == "https" or request.headers.get("x-forwarded-proto") == "https"
        session = self._services.access.open_session(visitor)
        rest = request.url.remove_query_params("token")
        target = "./" + rest.path.rpartition("/")[2] + (f"?{rest.query}" if rest.query else "")
        # Not a redirect: of one that began on another site's page, browsers leave strict cookies out.
        headers = {
            "set-cookie": cookie_text(self._services.access.cookie, session, is_secure=is_secure),
            "refresh": f"0; url={target}",
        }
        return self._html(ENTER, headers=headers)

    def _refuse(self, request: Request) -> Response:
        try:
            self._services.failures.spend(address_of(request), asyncio.get_running_loop().time())
        except Refused as refused:
            return self._html(TOO_OFTEN, status=refused.status, headers={"retry-after": str(refused.retry_s)})
        return self._html(STRANGER, status=401)

    def _page(self, name: str) -> Response:
        index = self._assets.get(INDEX)
        if index is None:
            return self._html(NOT_BUILT)
        with open(index.path, "rb") as file:
            data = file.read()
        up = b"../" * name.count("/") or b"./"
        return self._html(data.replace(BASE, b'<base href="%s">' % up))

    def _file(self, asset: Asset, headers: Mapping[str, str]) -> Response:
        accepted = headers.get("accept-encoding", "")
        encoding = next((each for each in ENCODINGS if each in accepted and each in asset.sisters), "")
        told = {
            "cache-control": IMMUTABLE if asset.is_immutable else "no-cache",
            "vary": "accept-encoding",
            "x-content-type-options": "nosniff",
        }
        if encoding:
            told["content-encoding"] = encoding
        with open(asset.sisters[encoding] if encoding else asset.path, "rb") as file:
            return Response(file.read(), 200, told, asset.media)

    def _html(self, data: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
        ancestors = LOOPBACK if self._services.settings.kind == "ui" else "'self'"
        told = {
            "cache-control": "no-store",
            "content-security-policy": CSP.format(ancestors=ancestors),
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
            "cross-origin-opener-policy": "same-origin",
            **(headers or {}),
        }
        return Response(data, status, told, "text/html; charset=utf-8")


def find_assets(directory: Path) -> dict[str, Asset]:
    """All files of the page by their names below it."""
    found: dict[str, Asset] = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, directory).replace(os.sep, "/")
            if name.endswith((".br", ".gz", ".py", ".map")) or name.startswith("."):
                continue
            sisters = {code: path + ending for code, ending in ENCODINGS.items() if os.path.exists(path + ending)}
            media = mimetypes.guess_type(name)[0] or MEDIA.get(os.path.splitext(name)[1], "application/octet-stream")
            found[key] = Asset(path, media, sisters, is_immutable=key.startswith("assets/"))
    return found
