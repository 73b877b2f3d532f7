"""What a Jupyter server and the holter inside its kernel tell each other."""

import os
from pathlib import Path

from holter.recording.kernels import Joined, Kernel, as_variable, join, read_joined, read_kernel, server_pid

KERNEL = Kernel("k3j9x2ab", "0" * 32, 4242, "/data/runs/with:colon")


def test_a_kernel_finds_the_run_that_its_server_made() -> None:
    assert read_kernel({"HOLTER_KERNEL": as_variable(KERNEL), "JPY_PARENT_PID": "4242"}) == KERNEL


def test_a_kernel_of_another_manager_that_inherited_the_variable_is_not_that_run() -> None:
    assert read_kernel({"HOLTER_KERNEL": as_variable(KERNEL), "JPY_PARENT_PID": "5000"}) is None
    assert read_kernel({"HOLTER_KERNEL": as_variable(KERNEL)}) is None


def test_what_makes_no_sense_is_no_kernel() -> None:
    for text in ("", "k3j9x2ab", "k3j9x2ab:00:x:/data", "k3j9x2ab:00:4242:"):
        assert read_kernel({"HOLTER_KERNEL": text, "JPY_PARENT_PID": "4242"}) is None


def test_only_the_process_that_the_server_started_has_it_as_its_server() -> None:
    assert server_pid({"JPY_PARENT_PID": str(os.getppid())}) == os.getppid()
    assert server_pid({"JPY_PARENT_PID": str(os.getpid())}) == 0
    assert server_pid({"JPY_PARENT_PID": "somebody"}) == 0
    assert server_pid({}) == 0


def test_runs_that_join_are_read_in_their_order_and_a_torn_line_is_passed_over(tmp_path: Path) -> None:
    kernel = Kernel("k3j9x2ab", "0" * 32, 4242, str(tmp_path))
    assert read_joined(str(tmp_path)) == []
    join(kernel, directory="/data/runs/one", journal="a" * 32)
    with (tmp_path / "joined.jsonl").open("a") as file:
        file.write('{"directory": "/da\n')
    join(kernel, directory="/data/runs/two", journal="b" * 32)
    assert read_joined(str(tmp_path)) == [Joined("/data/runs/one", "a" * 32), Joined("/data/runs/two", "b" * 32)]
