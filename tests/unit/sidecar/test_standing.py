"""What a process does that logs nothing, seen on real ones."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.guards.seen import Standing
from holter.sidecar.standing import Witness
from tests.e2e.programs import wait_until

OWN = "thread MainThread:\n  train.py:3 step"


@pytest.mark.parametrize(
    ("code", "stack", "kind"),
    [
        ("import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()", OWN, "deadlock"),
        ("while True: sum(range(1000))", OWN, "busy"),
        ("import time; time.sleep(600)", "thread MainThread:\n  torch/utils/data/dataloader.py:1 _get", "slow-data"),
        ("import os; os.kill(os.getpid(), 19)", "", "stopped"),
    ],
)
def test_what_a_silent_program_does_is_seen(code: str, stack: str, kind: str) -> None:
    program = subprocess.Popen([sys.executable, "-c", code])
    witness, seen = Witness(program.pid, lambda: None), list[Standing | None]()
    witness.hear(stack)

    def is_seen() -> bool:
        time.sleep(0.3)
        seen.append(witness.look(time.monotonic(), lost_worker=False))
        last = seen[-1]
        return last is not None and last.kind == kind

    try:
        wait_until(is_seen, within_s=60)
    finally:
        program.kill()
        program.wait()


def test_a_pool_whose_worker_is_gone_is_told_from_a_lock() -> None:
    program = subprocess.Popen(["sleep", "600"])
    witness = Witness(program.pid, lambda: None)
    witness.hear("thread MainThread:\n  /lib/python3.11/threading.py:1 wait\n  /lib/multiprocessing/pool.py:9 get")
    try:
        for lost, kind in ((True, "pool"), (False, "")):
            found = witness.look(1.0, lost_worker=lost)
            assert found is not None
            assert found.kind == kind
    finally:
        program.kill()
        program.wait()


HOLDS_THE_LOCK = """
import ctypes, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
def native():
    ctypes.PyDLL(None).sleep(600)
native()
"""


def test_of_a_program_that_does_not_answer_py_spy_tells_the_stacks_and_native_code_is_still_known() -> None:
    program = subprocess.Popen([sys.executable, "-c", HOLDS_THE_LOCK])
    try:
        found = seen_of(program.pid, lambda found: "native" in found.stack)
    finally:
        program.kill()
        program.wait()
    first, *others = found.stack.split("\nthread ")
    assert first == "thread MainThread:\n  <string>:5 native\n  <string>:6 <module>"
    assert len(others) == 1
    assert found.kind == "gil"


def test_what_py_spy_tells_is_put_into_the_form_that_programs_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = tmp_path / "py-spy"
    threads = (
        '[{"thread_id": 9, "thread_name": null, "frames": [{"name": "wait", "filename": "queue.py", "line": 3}]}, '
        '{"thread_id": 7, "thread_name": "MainThread", "frames": [{"name": "step", "filename": "a.py", "line": 5}]}]'
    )
    spy.write_text(f"#!/bin/sh\necho '{threads}'\n")
    spy.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program = subprocess.Popen(["sleep", "600"])
    try:
        found = seen_of(program.pid, lambda found: bool(found.stack))
    finally:
        program.kill()
        program.wait()
    assert found.stack == "thread MainThread:\n  a.py:5 step\nthread 9:\n  queue.py:3 wait"


def seen_of(pid: int, claim: Callable[[Standing], bool]) -> Standing:
    """What is seen of a program that does not answer, once the claim is true of it."""
    witness, began = Witness(pid, lambda: None), time.monotonic()
    seen = []

    def is_seen() -> bool:
        found = witness.look(10 * (time.monotonic() - began), lost_worker=False)
        assert found is not None
        seen.append(found)
        time.sleep(0.1)
        return claim(found)

    wait_until(is_seen, within_s=60)
    return seen[-1]
