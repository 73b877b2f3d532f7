"""Show the runs of this machine in a browser, live.

One process, no configuration: it serves the runs that a program started here would record, on 127.0.0.1 only, and
prints a URL with a token. Where the usual port is taken it uses the next one. A second `holter ui` for the same runs
prints the URL of the first. Ctrl-C ends it; recording goes on without it.
"""

import argparse
import os
import sys

from holter.cli.choice import open_catalog
from holter.cli.stdout import flush

GROUP = "look"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--port", metavar="P", type=int, help="this port and no other; left out, 4658 or the next free")
    parser.add_argument("--no-browser", action="store_true", help="only print the URL")
    parser.add_argument("--while", dest="while_pid", metavar="PID", type=int, help="exit when this process has ended")


def run(args: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    data = open_catalog().data
    from holter.server.local import Local, claim_or_find  # HTTP: only those pay for it who serve
    from holter.server.process.instance import Instance

    claim = claim_or_find(data, os.environ)
    if isinstance(claim, Instance):
        print(f"holter: already served by process {claim.pid}", file=sys.stderr)
        _show(claim.url, is_opened=not args.no_browser)
        return 0
    if args.while_pid is not None:
        from holter.server.process.lifetime import leave_with

        leave_with(args.while_pid)
    with Local(data, os.environ, claim=claim, port=args.port) as local:
        if local.was_damaged:
            print(f"holter: {local.was_damaged}; it is being made again", file=sys.stderr)
        local.serve(lambda: _show(local.url, is_opened=not args.no_browser))
    return 0


def _show(url: str, *, is_opened: bool) -> None:
    print(f"Holter shows your runs at\n\n    {url}\n")
    flush()
    if is_opened and _has_display():
        import webbrowser

        webbrowser.open(url)


def _has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin")
