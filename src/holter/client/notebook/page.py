"""The web page inside of a notebook: finds the `holter ui` of these runs, or starts one for as long as the kernel."""

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping

from holter.recording.spawning import way_to_package

START_WITHIN_S = 20.0
HEIGHT = 620
_URL = re.compile(rb"http://127\.0\.0\.1:\d+/\?token=[\w-]+")
_started: list["subprocess.Popen[bytes]"] = []


def find_page(data: str) -> str:
    """The address of the page with its token. Blocks while one is being started; raises OSError where none can be."""
    command = [sys.executable, "-P", "-m", "holter", "ui", "--no-browser", "--while", str(os.getpid())]
    server = subprocess.Popen(
        command,
        env={**way_to_package(os.environ), "HOLTER_DIR": data},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # an interrupt of the kernel is none of its business
    )
    url = _read_url(server)
    if not url:
        server.terminate()
        server.wait()
        raise OSError("`holter ui` did not start; run it in a terminal to see why")
    # Those that only told of another, which serves these runs already, have left or are about to.
    _started[:] = [*(each for each in _started if each.poll() is None), server]
    return url


def _read_url(server: "subprocess.Popen[bytes]") -> str:
    assert server.stdout is not None
    said, deadline = b"", time.monotonic() + START_WITHIN_S
    while (left_s := deadline - time.monotonic()) > 0:
        if not select.select([server.stdout], [], [], left_s)[0] or not (part := os.read(server.stdout.fileno(), 4096)):
            return ""
        said += part
        if (match := _URL.search(said)) and b"\n" in said[match.end() :]:
            return match[0].decode()
    return ""


def as_seen_from_browser(url: str, path: str, *, environ: Mapping[str, str]) -> str:
    """The same page at a path of its own; below the address of a JupyterHub, which hands it on."""
    base, _, token = url.partition("/?token=")
    prefix = environ.get("JUPYTERHUB_SERVICE_PREFIX", "")
    if prefix:
        base = f"{prefix.rstrip('/')}/proxy/{base.rpartition(':')[2]}"
    return f"{base}/{path}?token={token}"


def frame(address: str, identity: str) -> str:
    """The page in a frame. Pure; the address and the identity are ours and need no escape."""
    # A notebook at `localhost` and a page at `127.0.0.1` are two sites to a browser, which then keeps the cookie back.
    same_site = (
        f"(f => {{ if (location.hostname === 'localhost') f.src = f.src.replace('127.0.0.1', 'localhost') }})"
        f"(document.getElementById('{identity}'))"
    )
    return (
        f'<iframe id="{identity}" src="{address}" width="100%" height="{HEIGHT}" style="border:0"></iframe>'
        f"<script>{same_site}</script>"
    )
