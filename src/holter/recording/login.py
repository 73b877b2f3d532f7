"""The servers that this user has logged in to, and to which of them a run is sent."""

import os
from collections.abc import Callable

import msgspec

from holter.journal.kept_files import replace_file
from holter.journal.rundir import make_private
from holter.recording.settings import Settings
from holter.wire.way_back import Upload

NAME = "login.json"


class Logins(msgspec.Struct, frozen=True, kw_only=True):
    """Keys by the URL of their server. Runs go to `url` where nothing else is said; empty for nowhere."""

    url: str = ""
    keys: dict[str, str] = {}


_decode = msgspec.json.Decoder(Logins).decode


def read_logins(data: str) -> Logins:
    """What is stored below a data directory; nothing where that can't be read."""
    try:
        with open(os.path.join(data, NAME), "rb") as file:
            return _decode(file.read(1 << 20))
    except (OSError, msgspec.MsgspecError):
        return Logins()


def save_login(data: str, url: str, *, key: str) -> None:
    """Keep a key in a file that only its owner may read; runs go to that server from now on. Raises OSError."""
    keys = {**read_logins(data).keys, url: key}
    make_private(data)
    replace_file(os.path.join(data, NAME), msgspec.json.encode(Logins(url=url, keys=keys)))


def forget_login(data: str, url: str) -> bool:
    """Forget a server and its key; false where it was not known. Raises OSError."""
    known = read_logins(data)
    if url not in known.keys:
        return False
    keys = {each: key for each, key in known.keys.items() if each != url}
    left = "" if known.url == url else known.url
    replace_file(os.path.join(data, NAME), msgspec.json.encode(Logins(url=left, keys=keys)))
    return True


def find_upload(settings: Settings) -> Upload | None:
    """The server to which a run goes; None where it stays here."""
    if settings.mode != "online":
        return None
    logins = read_logins(settings.dir) if not (settings.url and settings.api_key) else Logins()
    url = (settings.url or logins.url).rstrip("/")
    return Upload(url=url, key=settings.api_key or logins.keys.get(url, "")) if url else None


def chosen_upload(settings: Settings, *, complain: Callable[[str, str], object]) -> Upload | None:
    """The same, with a word to the user where the key would go over the network for everybody to read."""
    upload = find_upload(settings)
    if upload is not None and upload.key and is_open_to_listeners(upload.url):
        complain(
            "plain-http",
            f"the key for {upload.url} goes over the network unencrypted: use https://, or a tunnel to 127.0.0.1",
        )
    return upload


def is_open_to_listeners(url: str) -> bool:
    """Whether what is sent there could be read on the way: plain HTTP to a host that is not this one."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() != "http":
        return False
    host = rest.partition("/")[0].rpartition("@")[2]
    name = host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]
    return name != "localhost" and name != "::1" and not name.startswith("127.")
