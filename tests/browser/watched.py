"""A page under watch: what its console says is remembered, and what a test expects there is named."""

from typing import TYPE_CHECKING

from playwright.sync_api import ConsoleMessage, Page

if TYPE_CHECKING:
    from tests.e2e.servers import Served

# What Chromium says of a server that is killed.
GONE = (
    "ERR_CONNECTION_REFUSED",
    "ERR_CONNECTION_RESET",
    "ERR_CONTENT_LENGTH_MISMATCH",
    "ERR_EMPTY_RESPONSE",
    "ERR_INCOMPLETE_CHUNKED_ENCODING",
    "ERR_SOCKET_NOT_CONNECTED",
)


class Watched:
    """A page, and the errors that it had."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.server: Served | None = None
        self._errors: list[str] = []
        self._expected: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._errors.append(f"uncaught: {error}"))

    def expect_errors(self, *texts: str) -> None:
        """Chromium itself reports each answer that is an error, and each server that is gone."""
        self._expected += texts

    def errors(self) -> list[str]:
        return [error for error in self._errors if not any(text in error for text in self._expected)]

    def come_to(self, server: "Served") -> None:
        """With its token, to Home."""
        self.server = server
        self.page.goto(f"{server.address}/?token={server.key}")
        self.page.wait_for_url(f"{server.address}/")

    def open(self, path: str) -> Page:
        assert self.server is not None
        self.page.goto(self.server.address + path)
        return self.page

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._errors.append(f"{message.text} ({message.location.get('url', '')})")
