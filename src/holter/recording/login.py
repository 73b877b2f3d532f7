"""The servers that this user has logged in to, and to which of them a run is sent."""

import os
from collections.abc import Callable

import msgspec

from holter.errors import UsageError
from holter.journal.kept_files import replace_file
from holter.journal.rundir import make_private
from holter.recording.settings import FILE, Settings
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
    """The server to which a run goes; None where it stays here.

    Raises UsageError where that would send our key to a server which only a file of the working directory names.
    """
    if settings.mode != "online":
        return None
    logins = read_logins(settings.dir)
    url = (settings.url or logins.url).rstrip("/")
    return Upload(url=url, key=_key_for(url, settings, logins)) if url else None


def _key_for(url: str, settings: Settings, logins: Logins) -> str:
    given = logins.keys.get(url, "")
    sources = settings.sources
    is_named_by_file = FILE in (sources.get("url"), "" if settings.url else sources.get("dir"))
    if not is_named_by_file or not settings.api_key or sources.get("api_key") == FILE:
        return settings.api_key or given
    # A key that somebody gave for another server must not go to whatever a cloned repository names.
    if given and sources.get("dir") != FILE:
        return given
    raise UsageError(
        f"{sources['api_key']} is not sent to {url}, which only {FILE} of this directory names:"
        f" `holter login {url}` or HOLTER_URL={url} if that is the server it is for"
    )


def source_of_server(settings: Settings) -> str:
    """Where the address of the server was found, for people."""
    return settings.sources.get("url", "holter login")


def chosen_upload(settings: Settings, *, complain: Callable[[str, str], object]) -> Upload | None:
    """The same for a run, with a word to the user where the key must not go there, or is for everybody to read."""
    try:
        upload = find_upload(settings)
    except UsageError as error:
        complain("key", f"{error}; the run is recorded here, and not sent")
        return None
    warn_of_listeners(upload, complain)
    return upload


def warn_of_listeners(upload: Upload | None, complain: Callable[[str, str], object]) -> None:
    """Say so where the key goes over the network for everybody to read."""
    if upload is not None and upload.key and is_open_to_listeners(upload.url):
        complain(
            "plain-http",
            f"the key for {upload.url} goes over the network unencrypted: use https://, or a tunnel to 127.0.0.1",
        )


def rows_in_words(rows: int, there: int, *, run: str, is_stuck: bool) -> str:
    """How many of a run's rows are where, for people; `is_stuck` where nothing can be sent just now."""
    if there >= rows:
        return f"{rows:,} row{'' if rows == 1 else 's'} here = on the server"
    left = f"{rows - there:,} wait: `holter sync {run}`" if is_stuck else f"{rows - there:,} follow"
    return f"{there:,} of {rows:,} rows on the server, {left}"


def is_open_to_listeners(url: str) -> bool:
    """Whether what is sent there could be read on the way: plain HTTP to a host that is not this one."""
    scheme, _, rest = url.partition("://")
    if scheme.lower() != "http":
        return False
    host = rest.partition("/")[0].rpartition("@")[2]
    name = host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]
    return name != "localhost" and name != "::1" and not name.startswith("127.")
