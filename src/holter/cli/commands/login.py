"""Log in to a holter server: runs recorded here are sent there from then on.

The key is asked for (or read from the standard input, or from HOLTER_API_KEY), tried, and kept in a file that only you
may read. It is never part of a command line. --logout forgets it. With --device no key is asked for: you confirm a code
in a browser on any machine, at the login server of your organisation, where the server has one.
"""

import argparse
import getpass
import os
import sys

from holter.cli.figures import clean
from holter.errors import HolterError, UsageError
from holter.recording.login import NAME, forget_login, is_open_to_listeners, read_logins, save_login
from holter.recording.settings import FILE, Settings, read_settings

GROUP = "record"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("url", metavar="URL", nargs="?", help="address of the server; left out, the last one")
    parser.add_argument("--relogin", action="store_true", help="ask for a key even if one is known")
    parser.add_argument("--device", action="store_true", help="confirm a code in a browser elsewhere, instead of a key")
    parser.add_argument("--logout", action="store_true", help="forget the server and its key")


def run(args: argparse.Namespace) -> int:
    """Try the key and keep it."""
    settings = read_settings({"url": args.url}, os.environ)
    known = read_logins(settings.dir)
    url = settings.url or known.url
    if not url:
        raise UsageError("which server? write `holter login https://holter.example.org`")
    if args.logout:
        if not forget_login(settings.dir, url):
            raise UsageError(f"nobody is logged in to {url} here: {os.path.join(settings.dir, NAME)} has no key for it")
        print(f"Logged out of {url}; runs recorded here stay here.")
        return 0
    sources = settings.sources
    if settings.api_key and sources.get("url") == FILE and sources["api_key"] != FILE:
        raise UsageError(
            f"only {FILE} of this directory names {url}: if {sources['api_key']} is the key for it, write"
            f" `holter login {url}`"
        )
    if is_open_to_listeners(url):
        print(f"holter: the key for {url} goes over the network unencrypted; https:// would hide it", file=sys.stderr)
    if args.device:
        from holter.cli.device_login import confirmed_key  # HTTP: only those pay for it who need it

        key = confirmed_key(url)
    else:
        key = settings.api_key or ("" if args.relogin else known.keys.get(url, "")) or _ask_for_key(url)
    name, scopes = _try(url, key)
    save_login(settings.dir, url, key=key)
    print(f"Logged in to {url} as {clean(name)} ({', '.join(scopes)}); runs recorded here are sent there.")
    if "write" not in scopes:
        print(
            "holter: this key may only read: runs can't be sent with it; ask for one with the scope write",
            file=sys.stderr,
        )
    if settings.mode != Settings().mode:
        print(f"holter: HOLTER_MODE is {settings.mode}, so nothing is sent for now", file=sys.stderr)
    return 0


def _ask_for_key(url: str) -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        key = getpass.getpass(f"Key for {url} (`holter server keys add NAME` makes one): ")
    else:
        key = sys.stdin.readline() if sys.stdin is not None else ""
    if not key.strip():
        raise UsageError("a key is needed: type it, or give it on the standard input or in HOLTER_API_KEY")
    return str(read_settings({"api_key": key.strip()}, {}).api_key)


def _try(url: str, key: str) -> tuple[str, list[str]]:
    """Who has this key, and what they may do. Raises HolterError."""
    from holter.errors import Unreachable
    from holter.wire.connection import Connection, parse_address

    connection = Connection(parse_address(url), key, timeout_s=15)
    try:
        info = connection.ask("GET", "/info").json(dict)
    except Unreachable as error:
        raise Unreachable(f"{url} can't be reached ({error}): check the address, and whether it is up") from error
    finally:
        connection.close()
    if "version" not in info:
        raise HolterError(f"{url} is not a holter server")
    if info.get("needs_login", True):
        raise UsageError(f"{url} does not know this key: `holter server keys add NAME` there makes one")
    return str(info.get("user") or "?"), [str(scope) for scope in info.get("scopes", ())]
