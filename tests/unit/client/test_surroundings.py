"""What is read of the process's surroundings when an exception comes, and that it never makes things worse."""

import errno
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
import pytest

from holter.client.capture import surroundings
from holter.client.capture.surroundings import look_around
from holter.model.evidence import Surroundings


def look(error: BaseException | None = None, *directories: str) -> Surroundings:
    looked = look_around(error or ValueError("x"), list(directories), at_ns=5)
    assert (looked.at_ns, looked.source, looked.pid, looked.because) == (5, "surroundings", os.getpid(), "")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(looked.found)) == looked.found
    return msgspec.convert(looked.found, Surroundings, strict=True)


def test_what_is_kept_has_the_form_of_the_evidence() -> None:
    seen = look()
    assert set(look_around(ValueError(), [], at_ns=0).found) <= set(Surroundings.__struct_fields__)
    assert seen.open_files is not None
    assert seen.open_files_limit == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert seen.open_files < seen.open_files_limit
    assert seen.threads is not None
    assert seen.threads >= 1
    assert seen.address_space_bytes is not None
    assert seen.address_space_bytes > 1 << 20


def test_each_file_system_is_told_once_and_that_of_the_error_always(tmp_path: Path) -> None:
    error = RuntimeError("could not write")
    error.__cause__ = OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "gone" / "model.pt"))
    (tmp_path / "gone").mkdir()
    disks = look(error, str(tmp_path)).disks
    assert disks is not None
    assert disks[0].what == "run directory"
    assert disks[0].path == str(tmp_path)
    assert disks[0].total_bytes is not None
    assert disks[0].free_bytes is not None
    assert 0 < disks[0].free_bytes <= disks[0].total_bytes
    (named,) = [disk for disk in disks if disk.what == "error"]
    assert named.path.endswith("gone/model.pt")


def test_a_file_system_that_does_not_answer_holds_up_nobody(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answers = threading.Event()
    ask = os.statvfs

    def statvfs(where: str) -> os.statvfs_result:
        if where == "/dev/shm":
            answers.wait(60)
        return ask(where)

    monkeypatch.setattr(os, "statvfs", statvfs)
    began = time.monotonic()
    seen = look(None, str(tmp_path))
    assert time.monotonic() - began < 50
    answers.set()
    assert seen.disks is not None
    assert [disk.what for disk in seen.disks] == ["run directory"]
    assert seen.open_files is not None


def test_without_file_descriptors_that_is_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", _refuse)
    monkeypatch.setattr("builtins.open", _refuse)
    seen = look()
    assert seen.open_files == seen.open_files_limit
    assert seen.disks


def _refuse(*_: object, **__: object) -> None:
    raise OSError(errno.EMFILE, "Too many open files")


def test_whatever_fails_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    for name in ("_read_limits", "_read_memory", "_count_threads", "_read_disks"):
        with monkeypatch.context() as patch:
            patch.setattr(surroundings, name, fails)
            assert look().open_files is not None


def test_without_threads_it_is_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    assert look(RuntimeError("can't start new thread")).disks


def test_children_that_were_waited_for_leave_a_trace() -> None:
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert (look().children_rss_bytes or 0) > 1 << 20
