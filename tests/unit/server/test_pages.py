"""The built page: files that were there at the start, and the page itself at every depth."""

from pathlib import Path

from holter.server.pages import find_assets


def test_files_are_found_with_their_compressed_sisters(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    for name in ("index.html", "assets/app.js", "assets/app.js.br", "assets/app.js.gz", "assets/app.js.map", ".stamp"):
        (tmp_path / name).write_text(name)
    found = find_assets(tmp_path)
    assert sorted(found) == ["assets/app.js", "index.html"]
    script = found["assets/app.js"]
    assert (script.is_immutable, sorted(script.sisters), script.media) == (True, ["br", "gzip"], "text/javascript")
    assert not found["index.html"].is_immutable


def test_a_page_that_was_not_built_has_no_files(tmp_path: Path) -> None:
    assert find_assets(tmp_path / "none") == {}
