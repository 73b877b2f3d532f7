"""Logs a terminal in that has no browser: somebody confirms a code on another machine."""

import sys
import time
from collections.abc import Callable

import msgspec

from holter.cli.figures import clean
from holter.errors import Refused, UsageError
from holter.probes.identity import host_name
from holter.wire.connection import Answer

# While nobody has confirmed it.
PENDING = 428
Ask = Callable[..., Answer]


class Device(msgspec.Struct, frozen=True):
    """What a server says of a login that it has begun."""

    user_code: str
    verification_uri: str
    device_code: str
    expires_in: float
    interval: float
    verification_uri_complete: str = ""


class Made(msgspec.Struct, frozen=True):
    """A key of whoever has confirmed it."""

    key: str


def confirmed_key(url: str) -> str:
    """A key for a server, made when somebody has confirmed the code that this prints. Raises HolterError."""
    from holter.wire.connection import Connection, parse_address

    connection = Connection(parse_address(url), "", timeout_s=30)
    try:
        try:
            device: Device = connection.ask("POST", "/oidc/device", data=b"{}").json(Device)
        except Refused as error:
            if error.status in (404, 405, 501):
                raise UsageError(f"{url} has no login server for this: log in with a key, without --device") from error
            raise
        place = clean(device.verification_uri_complete or device.verification_uri)
        print(
            f"Open {place}\nin a browser, on any machine, and confirm the code {clean(device.user_code)}",
            file=sys.stderr,
        )
        return _wait_for_key(connection.ask, device)
    finally:
        connection.close()


def _wait_for_key(ask: Ask, device: Device) -> str:
    deadline = time.monotonic() + device.expires_in
    data = msgspec.json.encode({"device_code": device.device_code, "name": host_name()[:100] or "login"})
    wait_s = device.interval
    while time.monotonic() < deadline:
        time.sleep(max(1.0, wait_s))
        try:
            made: Made = ask("POST", "/oidc/device/key", data=data).json(Made)
        except Refused as error:
            if error.status != PENDING:
                raise
            wait_s = max(device.interval, float(error.retry_s or 0))
        else:
            return made.key
    raise UsageError("nobody confirmed the code in time: begin again")
