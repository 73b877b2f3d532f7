"""Guards the web page: its weight, its types, and that nothing untrusted becomes markup."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from holter.server.pages import PAGE

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for path in (ROOT / "ui" / "src").rglob("*") if path.suffix in (".svelte", ".ts", ".css"))
GENERATED = ROOT / "ui" / "src" / "api" / "schema.d.ts"
FILE_LINES = 500
FIRST_LOAD_KB = 120
ANY_PAGE_KB = 200


def weight_kb(names: set[str]) -> float:
    return sum(len(gzip.compress((PAGE / "assets" / name).read_bytes(), 9)) for name in names) / 1000


def imported(name: str, *, is_lazy: bool, seen: set[str] | None = None) -> set[str]:
    """A script with all that it imports; those that it imports only when they are needed too, where asked for."""
    seen = seen if seen is not None else set()
    if name in seen:
        return seen
    seen.add(name)
    code = (PAGE / "assets" / name).read_text()
    pattern = r'["\'`]\./([\w.-]+\.js)["\'`]' if is_lazy else r'(?:from|import)\s*["\'`]\./([\w.-]+\.js)["\'`]'
    for found in re.findall(pattern, code):
        imported(found, is_lazy=False, seen=seen)
    return seen


@pytest.fixture(scope="module")
def entry() -> str:
    if not (PAGE / "index.html").exists():
        pytest.fail("the page is not built: python build_page.py")
    found = re.search(r"assets/(index-[\w-]+\.js)", (PAGE / "index.html").read_text())
    assert found is not None
    return found[1]


def test_the_page_is_light(entry: str) -> None:
    first = imported(entry, is_lazy=False)
    assert weight_kb(first) <= FIRST_LOAD_KB
    lazy = set(re.findall(r"\./([\w.-]+\.js)", (PAGE / "assets" / entry).read_text())) - first
    assert lazy
    heavy = {name: weight_kb(first | imported(name, is_lazy=False)) for name in lazy}
    assert {name: size for name, size in heavy.items() if size > ANY_PAGE_KB} == {}


def test_every_script_and_style_is_there_compressed() -> None:
    files = [path for path in (PAGE / "assets").iterdir() if path.suffix in (".js", ".css")]
    assert files
    for path in files:
        assert gzip.decompress(Path(f"{path}.gz").read_bytes()) == path.read_bytes()
        assert Path(f"{path}.br").stat().st_size < path.stat().st_size


def test_the_page_has_no_script_or_style_that_its_policy_refuses() -> None:
    index = (PAGE / "index.html").read_text()
    assert '<base href="./">' in index
    assert re.findall(r"<script(?![^>]*\bsrc=)", index) == []
    assert "<style" not in index
    assert re.findall(r'\son\w+="', index) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_what_people_wrote_never_becomes_markup(path: Path) -> None:
    code = path.read_text()
    assert (
        re.findall(r"\{@html|innerHTML|outerHTML|insertAdjacentHTML|document\.write|new Function|\beval\(", code) == []
    )


def test_no_file_of_the_page_is_too_long() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in SOURCES if path != GENERATED}
    assert {name: count for name, count in lengths.items() if count > FILE_LINES} == {}


def test_the_types_are_those_of_the_server(tmp_path: Path) -> None:
    made = tmp_path / "schema.d.ts"
    subprocess.run([sys.executable, ROOT / "scripts" / "page-types", made], check=True, timeout=100)
    assert made.read_text() == GENERATED.read_text(), "the API has changed: python scripts/page-types"
