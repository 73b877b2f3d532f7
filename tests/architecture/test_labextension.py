"""Guards the JupyterLab extension: files that the browser runs as they are, typed, light, and of one version."""

import json
import tomllib
from pathlib import Path

from holter.jupyter.handlers import ROUTES
from holter.version import __version__

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "jupyterlab-holter"
STATIC = EXTENSION / "labextension" / "static"
MOST_BYTES = 20_000


def test_it_has_the_version_of_holter_everywhere() -> None:
    package = json.loads((EXTENSION / "labextension" / "package.json").read_text())
    project = tomllib.loads((EXTENSION / "pyproject.toml").read_text())["project"]
    assert (package["version"], project["version"]) == (__version__, __version__)


def test_it_is_light() -> None:
    assert sum(path.stat().st_size for path in STATIC.iterdir()) < MOST_BYTES


def test_what_it_asks_for_is_what_the_server_answers() -> None:
    code = (STATIC / "server.js").read_text()
    assert "'holter/kernels', encodeURIComponent(kernel), what" in code
    assert "@param {'memory' | 'death'} what" in code
    assert [path.rpartition("/")[2] for path, _ in ROUTES] == ["memory", "death"]


def test_text_of_others_never_becomes_markup() -> None:
    code = "".join(path.read_text() for path in STATIC.glob("*.js"))
    assert "innerHTML" not in code
    # The card is the one thing that comes as HTML, and holter.catalog.present.death_card escapes all of it.
    assert code.count("parseFromString") == 1
