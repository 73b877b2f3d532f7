"""The descendants of a process."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.probes.tree import FindTree, ParentTree, ThreadTree, find_portably, open_tree
from tests.unit.probes.recordings import stat_line, write_files

# A child that starts a grandchild from another thread than its first.
FAMILY = """
import subprocess, sys, threading
def start():
    global grandchild
    grandchild = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    print(grandchild.pid, flush=True)
    ended.wait()
ended = threading.Event()
threading.Thread(target=start).start()
input()
ended.set()
grandchild.communicate()
"""


@pytest.fixture
def family() -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-c", FAMILY]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        yield child.pid, int(child.stdout.readline())
        child.communicate("\n")


@pytest.mark.skipif(sys.platform != "linux", reason="not on this platform: it has no /proc")
@pytest.mark.parametrize(
    "find", [ThreadTree().find, ParentTree().find, find_portably], ids=["threads", "parents", "psutil"]
)
def test_each_way_finds_the_grandchild_of_another_thread(find: FindTree, family: tuple[int, int]) -> None:
    assert find([family[0]]) == family


@pytest.mark.parametrize("find", [open_tree(), find_portably], ids=["here", "psutil"])
def test_the_watcher_itself_is_not_part_of_what_it_watches(find: FindTree, family: tuple[int, int]) -> None:
    found = find([os.getppid()])
    assert os.getppid() in found
    assert not {os.getpid(), *family} & set(found)


@pytest.mark.parametrize("find", [open_tree(), find_portably], ids=["here", "psutil"])
def test_a_process_that_is_gone_has_no_descendants(find: FindTree) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    assert find([child.pid]) == (child.pid,)


def test_a_child_of_one_thread_in_a_hundred_is_found_within_four_ticks(tmp_path: Path) -> None:
    children = {f"10/task/{thread}/children": "" for thread in range(10, 110)}
    tree = ThreadTree(write_files(tmp_path, children))
    tree.find([10])
    write_files(tmp_path, {"10/task/87/children": "500 ", "500/task/500/children": ""})
    assert [500 in tree.find([10]) for _ in range(4)].count(True) >= 1


def test_a_child_of_the_first_thread_is_found_at_once(tmp_path: Path) -> None:
    children = {f"10/task/{thread}/children": "" for thread in range(10, 110)}
    tree = ThreadTree(write_files(tmp_path, children))
    tree.find([10])
    write_files(tmp_path, {"10/task/10/children": "500 ", "500/task/500/children": ""})
    assert tree.find([10]) == (10, 500)


def test_a_kernel_without_lists_of_children_is_asked_for_parents(tmp_path: Path) -> None:
    processes = {"self/stat": "", "10/stat": stat_line(), "11/stat": stat_line(parent=10), "9/stat": stat_line()}
    assert open_tree(write_files(tmp_path, processes))([10]) == (10, 11)
