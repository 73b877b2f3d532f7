"""An environment of their own for the trackers that holter is compared with; made when it is first needed."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from benchmarks.trials import ROOT

PACKAGES = ("wandb", "trackio")
DIRECTORY = ROOT / ".venv-peers"


def peers_python() -> Path:
    """The Python that has the peers. Installs them once, which needs a package registry; raises CalledProcessError."""
    python, ready = DIRECTORY / "bin" / "python", DIRECTORY / ".ready"
    if not ready.exists():
        print("installing the peers into .venv-peers", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(DIRECTORY)], check=True)
        # The same numpy, so that the loop around the trackers is the same loop.
        wanted = [*PACKAGES, f"numpy=={version('numpy')}"]
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--quiet"]
        subprocess.run([*pip, *wanted], check=True)
        ready.touch()
    return python


def peer_versions(python: Path) -> dict[str, str]:
    code = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
    done = subprocess.run([str(python), "-c", code, *PACKAGES], capture_output=True, text=True, check=True)
    return dict(zip(PACKAGES, done.stdout.split(), strict=True))
