"""Which kernels of a notebook died, and who shows that."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from holter.client.notebook.place import Place
from holter.client.notebook.predecessors import Registry
from holter.probes.identity import ProcessIdentity, identify

BOOK = Place("/home/ada/book.ipynb", is_notebook=True)


def dead_process() -> ProcessIdentity:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        found = identify(process.pid)
    assert found is not None
    return found


def living_process() -> ProcessIdentity:
    found = identify(os.getpid())
    assert found is not None
    return found


def test_a_dead_kernel_is_found_and_claimed_by_one(tmp_path: Path) -> None:
    gone = dead_process()
    Registry(str(tmp_path), BOOK).write(gone, ["run1", "run2"])
    first, second = Registry(str(tmp_path), BOOK), Registry(str(tmp_path), BOOK)
    [entry], [same] = first.dead(), second.dead()
    assert (entry.process, entry.runs) == (gone, ["run1", "run2"])
    assert (first.claim(entry), second.claim(same)) == (True, False)
    assert Registry(str(tmp_path), BOOK).dead() == []


def test_a_living_kernel_and_one_of_another_host_are_none_of_our_business(tmp_path: Path) -> None:
    registry = Registry(str(tmp_path), BOOK)
    registry.write(living_process(), ["run1"])
    registry.write(msgspec.structs.replace(dead_process(), host="elsewhere"), ["run2"])
    assert registry.dead() == []


def test_a_kernel_of_an_earlier_boot_is_dead(tmp_path: Path) -> None:
    registry = Registry(str(tmp_path), BOOK)
    registry.write(msgspec.structs.replace(living_process(), boot_id="of-yesterday"), ["run1"])
    assert [entry.runs for entry in registry.dead()] == [["run1"]]


def test_notebooks_and_directories_are_kept_apart(tmp_path: Path) -> None:
    Registry(str(tmp_path), BOOK).write(dead_process(), ["run1"])
    assert Registry(str(tmp_path), Place("/home/ada/other.ipynb", is_notebook=True)).dead() == []
    assert Registry(str(tmp_path), Place(BOOK.path, is_notebook=False)).dead() == []


def test_a_kernel_without_runs_is_forgotten(tmp_path: Path) -> None:
    registry, gone = Registry(str(tmp_path), BOOK), dead_process()
    registry.write(gone, ["run1"])
    registry.write(gone, [])
    registry.write(gone, [])
    assert registry.dead() == []


def test_what_makes_no_sense_is_passed_over(tmp_path: Path) -> None:
    registry = Registry(str(tmp_path), BOOK)
    registry.write(dead_process(), ["run1"])
    [folder] = (tmp_path / "kernels").iterdir()
    (folder / "1-2-3.json").write_text("{")
    assert [entry.runs for entry in registry.dead()] == [["run1"]]


def test_a_directory_that_cannot_be_written_costs_the_card_only(tmp_path: Path) -> None:
    (tmp_path / "kernels").write_text("a file")
    registry = Registry(str(tmp_path), BOOK)
    registry.write(living_process(), ["run1"])
    assert registry.dead() == []
