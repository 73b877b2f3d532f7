"""From a fresh copy to the page in a browser, on a machine without Node, for somebody who is nobody special."""

import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.programs import wait_until
from tests.zoo.users import become

ROOT = Path(__file__).parents[2]
UID = 100_000 + os.getpid() % 1000 * 4
# What a machine may have beside Python; Node is not among them.
COMMANDS = "sh bash env cc gcc as ld git make find sed touch dirname uname".split()
INSTALLED_WITHIN_S = 600

# Node comes as a wheel of 60 MB, and the page's own tools from a registry.
pytestmark = pytest.mark.timeout(INSTALLED_WITHIN_S + 120)


def copy_checkout(target: Path) -> None:
    """As a clone would be: nothing that git ignores, so nothing that was built."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def without_node(folder: Path) -> dict[str, str]:
    """An environment in which there is no Node."""
    folder.mkdir()
    for command in COMMANDS:
        if found := shutil.which(command):
            (folder / command).symlink_to(found)
    assert not (folder / "node").exists()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HOLTER_", "NODE_"))}
    return {**kept, "PATH": str(folder)}


class Place:
    """The fresh copy of an ordinary user, into whose `.venv` make installs holter, on a machine without Node."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.copy = root / "copy"
        self.home = root / "home"
        self.environ = without_node(root / "bin")

    def make(self, target: str) -> list[str]:
        """The command of that user, where the tests are root's."""
        python = f"PYTHON3={sys.base_prefix}/bin/python3"
        there = ["env", f"PATH={self.environ['PATH']}", f"HOME={self.home}", "make", python, target]
        return there if os.geteuid() else [*become(UID), *there]


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    # Not below pytest's own folder, which nobody else may enter.
    root = Path(tempfile.mkdtemp(prefix="holter-shipping-"))
    root.chmod(0o755)
    try:
        made = Place(root)
        made.home.mkdir()
        copy_checkout(made.copy)
        if not os.geteuid():
            for path in (made.home, made.copy, *made.copy.rglob("*")):
                os.chown(path, UID, UID, follow_symlinks=False)
        subprocess.run(made.make(".venv/.installed"), cwd=made.copy, check=True, timeout=INSTALLED_WITHIN_S)
        yield made
    finally:
        shutil.rmtree(root, ignore_errors=True)


def test_installing_from_a_fresh_copy_without_node_builds_the_page(place: Place) -> None:
    page = place.copy / "src" / "holter" / "server" / "page"
    assert (page / "index.html").is_file()
    scripts = list((page / "assets").glob("*.js"))
    assert scripts
    assert [script.name for script in scripts if not Path(f"{script}.br").exists()] == []
    assert [script.name for script in scripts if not Path(f"{script}.gz").exists()] == []


def test_a_source_distribution_carries_the_page_and_needs_no_node_any_more(place: Place) -> None:
    """What the copy has built is in the archive; a wheel from that is made with neither Node nor a network."""
    dist = place.root / "dist"
    made = [sys.executable, "-m", "hatchling", "build", "-d", str(dist)]
    subprocess.run([*made, "-t", "sdist"], cwd=place.copy, env=place.environ, check=True, capture_output=True)
    [archive] = dist.iterdir()
    with tarfile.open(archive) as opened:
        opened.extractall(place.root / "unpacked", filter="data")
    [unpacked] = (place.root / "unpacked").iterdir()
    assert (unpacked / "src/holter/server/page/index.html").is_file()
    assert not (unpacked / "ui/node_modules").exists()
    closed = {**place.environ, "npm_config_registry": "http://127.0.0.1:9", "npm_config_offline": "true"}
    subprocess.run([*made, "-t", "wheel"], cwd=unpacked, env=closed, check=True, capture_output=True)
    [wheel] = dist.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "holter/server/page/index.html" in names
    assert [name for name in names if name.startswith("holter/server/page/assets/") and name.endswith(".js.br")]


def test_a_wheel_without_the_page_serves_one_that_says_how_to_get_it(place: Place) -> None:
    dist = place.root / "plain"
    bare = place.root / "bare"
    copy_checkout(bare)
    made = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)]
    without = {**place.environ, "HOLTER_SKIP_UI": "1"}
    subprocess.run(made, cwd=bare, env=without, check=True, capture_output=True)
    [wheel] = dist.iterdir()
    installed = place.root / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    assert not (installed / "holter/server/page").exists()
    environ = {**os.environ, "PYTHONPATH": str(installed), "HOLTER_DIR": str(place.root / "runs")}
    command = [sys.executable, "-m", "holter", "ui", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, cwd=installed, env=environ, stdout=subprocess.PIPE, text=True) as ui:
        assert ui.stdout is not None
        try:
            url = next(line.strip() for line in ui.stdout if "http://" in line)
            answer = httpx.get(url.partition("?")[0], timeout=30)
        finally:
            ui.terminate()
    assert answer.status_code == 200
    assert "its page is not built" in answer.text
    assert "pip install" in answer.text


class Terminal:
    """A program on a terminal of its own; what it printed so far."""

    def __init__(self, command: list[str], *, cwd: Path) -> None:
        self._ours, theirs = pty.openpty()
        self._process = subprocess.Popen(
            command, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        self.text = ""

    def read(self, within_s: float = 0.1) -> str:
        if select.select([self._ours], [], [], within_s)[0]:
            try:
                self.text += os.read(self._ours, 65536).decode(errors="replace")
            except OSError:  # it has ended
                time.sleep(within_s)
        return self.text

    def has_ended(self) -> bool:
        self.read()
        return self._process.poll() is not None

    def interrupt(self) -> None:
        """Ctrl-C, to all that run there; waits for the end."""
        os.killpg(self._process.pid, signal.SIGINT)
        wait_until(self.has_ended, within_s=60)

    def close(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._ours)


def states(browser: httpx.Client, address: str) -> dict[str, str]:
    return {run["name"]: run["state"] for run in browser.get(f"{address}/api/v1/runs").json()["runs"]}


def test_make_demo_of_an_ordinary_user_ends_with_the_page(place: Place) -> None:
    demo = Terminal(place.make("demo"), cwd=place.copy)
    try:
        found = re.compile(r"http://127\.0\.0\.1:\d+/\?token=\w+")
        wait_until(lambda: found.search(demo.read()) or demo.has_ended(), within_s=INSTALLED_WITHIN_S)
        shown = found.search(demo.text)
        assert shown is not None, demo.text
        with httpx.Client(timeout=30) as browser:
            address = shown[0].partition("/?")[0]
            script = re.search(r"assets/index-[\w-]+\.js", browser.get(address).text)
            assert script is not None
            asset = browser.get(f"{address}/{script[0]}", headers={"accept-encoding": "gzip"})
            assert (asset.headers["content-encoding"], "immutable" in asset.headers["cache-control"]) == ("gzip", True)
            browser.get(shown[0])  # takes the token for a cookie
            wait_until(lambda: states(browser, address).get("killed") == "crashed", within_s=60)
        demo.interrupt()
    finally:
        demo.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(address)
    assert re.search(r"All \d+ rows that log\(\) had returned for survived the kill", demo.text)
