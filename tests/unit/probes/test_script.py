"""How the source of a program is found from its command line."""

import json
from pathlib import Path

import pytest

from holter.probes.script import Main, Source, find_source, parse_command


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("python train.py --lr 3", Main("file", "train.py")),
        ("/usr/bin/python3.11 -u -X faulthandler -W error train.py", Main("file", "train.py")),
        ("python -Xdev -Wd train.py", Main("file", "train.py")),
        ("python -m pkg.train --lr 3", Main("module", "pkg.train")),
        ("python -um pkg.train", Main("module", "pkg.train")),
        ("python -c print(1) x", Main("text", "print(1)")),
        ("python -Ic print(1)", Main("text", "print(1)")),
        ("python --check-hash-based-pycs always train.py", Main("file", "train.py")),
        ("python -", None),
        ("python", None),
        ("bash train.sh", None),
        ("", None),
    ],
)
def test_an_interpreter_is_asked_for_a_file_a_module_or_a_text(command: str, expected: Main | None) -> None:
    assert parse_command(command.split()) == expected


def test_a_script_is_read_from_where_the_process_is(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(b"print(1)\n")
    source = Source("file", str(tmp_path / "train.py"), b"print(1)\n")
    assert find_source(["python", "train.py"], {}, cwd=str(tmp_path)) == source
    assert find_source(["python", "gone.py"], {}, cwd=str(tmp_path)) is None


def test_a_module_is_looked_for_in_the_directory_and_on_the_path(tmp_path: Path) -> None:
    (tmp_path / "lib" / "pkg" / "train").mkdir(parents=True)
    (tmp_path / "lib" / "pkg" / "train" / "__main__.py").write_bytes(b"main\n")
    found = find_source(["python", "-m", "pkg.train"], {"PYTHONPATH": f"/none:{tmp_path}/lib"}, cwd=str(tmp_path))
    assert found is not None
    assert (found.kind, found.text) == ("module", b"main\n")


def test_a_text_is_its_own_source() -> None:
    assert find_source(["python", "-c", "print(1)"], {}) == Source("text", "", b"print(1)")


def test_of_a_notebook_the_code_is_kept(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": "# Title"},
        {"cell_type": "code", "source": ["import holter\n", "run = holter.init()\n"], "outputs": [{"data": "x"}]},
        {"cell_type": "code", "source": "run.log({'a': 1})"},
    ]
    notebook = tmp_path / "train.ipynb"
    notebook.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    environment = {"JPY_SESSION_NAME": str(notebook)}
    found = find_source(["python", "-m", "ipykernel_launcher", "-f", "kernel.json"], environment, cwd="/")
    code = b"# %%\nimport holter\nrun = holter.init()\n\n# %%\nrun.log({'a': 1})\n"
    assert found == Source("notebook", str(notebook), code)
    assert find_source(["python", "x"], {}, main_file=str(notebook)) == found


def test_a_kernel_without_a_notebook_has_no_source(tmp_path: Path) -> None:
    assert find_source(["python", "-m", "ipykernel_launcher"], {}, cwd=str(tmp_path)) is None


def test_a_long_script_is_cut_and_a_binary_one_is_none(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_bytes(b"x = 1\n" * 1_000_000)
    (tmp_path / "app.pyz").write_bytes(b"#!python\nPK\x03\x04\0\0\0")
    found = find_source(["python", "long.py"], {}, cwd=str(tmp_path))
    assert found is not None
    assert (len(found.text), found.is_cut) == (1 << 20, True)
    assert find_source(["python", "app.pyz"], {}, cwd=str(tmp_path)) is None
    assert find_source(["python", "."], {}, cwd=str(tmp_path)) is None
