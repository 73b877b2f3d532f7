"""A sweep on a server, asked for over HTTP."""

from typing import Any

import msgspec

from holter.errors import NoSweep, Refused
from holter.sweeps.configuration import Configuration
from holter.sweeps.desk import Bounds
from holter.sweeps.present import SweepJson, SweepLine
from holter.sweeps.words import Answer, Asker, Said, Word
from holter.wire.connection import Connection, parse_address, quoted

WORD_WITHIN_S = 10.0
"""A word of a trial that hangs for longer is said anew: its lease does not wait."""


class RemoteSweeps:
    """The sweeps of one server. Used by one thread."""

    def __init__(self, url: str, key: str) -> None:
        address = parse_address(url)
        self._connection = Connection(address, key, timeout_s=60)
        self._words = Connection(address, key, timeout_s=WORD_WITHIN_S)

    def begin(self, configuration: dict[str, Any], *, project: str) -> str:
        """Make one."""
        asked = {"configuration": configuration, "project": project}
        return str(self.ask("POST", "/sweeps", asked=asked)["id"])

    def find(self, sweep: str) -> "RemoteSweep":
        """One by its id. Raises NoSweep."""
        return RemoteSweep(self, sweep)

    def all(self) -> list[SweepLine]:
        """All that this key may see."""
        return msgspec.convert(self.ask("GET", "/sweeps")["sweeps"], list[SweepLine])

    def ask(self, method: str, path: str, *, asked: Any = None) -> Any:
        """One request. Raises NoSweep, Refused, Unreachable."""
        data = msgspec.json.encode(asked) if asked is not None else b""
        connection = self._words if path.endswith("/word") else self._connection
        try:
            return connection.ask(method, path, data=data).json()
        except Refused as error:
            if error.status == 404:
                raise NoSweep(str(error)) from error
            raise


class RemoteSweep:
    """One of them."""

    def __init__(self, sweeps: RemoteSweeps, sweep: str) -> None:
        self.id = sweep
        self._sweeps = sweeps
        self.configuration = msgspec.convert(self._ask("GET", "/configuration")["configuration"], Configuration)

    def ask(self, asker: Asker) -> Answer:
        """A trial."""
        return msgspec.convert(self._ask("POST", "/ask", {"asker": asker}), Answer)

    def say(self, word: Word) -> Said:
        """What became of it."""
        return msgspec.convert(self._ask("POST", "/word", {"word": word}), Said)

    def change(self, act: str, *, by: str, what: str = "", reason: str = "", bounds: Bounds | None = None) -> None:
        """Pause, resume, stop, end, allow, quarantine, lift, bounds; the server knows who asks."""
        self._ask("PATCH", "", {"act": act, "what": what, "reason": reason, "bounds": bounds})

    def add(self, params: dict[str, Any], *, value: float | None = None, run: str = "") -> int:
        """Enqueue a trial, or take one over."""
        return int(self._ask("POST", "/trials", {"params": params, "value": value, "of_run": run})["number"])

    def again(self, number: int, *, by: str) -> int:
        """Run a trial once more."""
        return int(self._ask("POST", "/trials", {"again": number})["number"])

    def show(self, *, with_importance: bool = False) -> SweepJson:
        """All of it."""
        return msgspec.convert(self._ask("GET", ""), SweepJson)

    def _ask(self, method: str, rest: str, asked: Any = None) -> Any:
        return self._sweeps.ask(method, f"/sweeps/{quoted(self.id)}{rest}", asked=asked)
