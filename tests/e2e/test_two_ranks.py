"""Two real ranks of torch: what is told of them, and what is asked of them together."""

import json
import socket

import pytest

from holter.catalog.catalog import Catalog
from holter.cli.main import main
from tests.e2e.programs import data_directory, start, wait_until

pytest.importorskip("torch")
RANK = """
    import os, time, holter, torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    run = holter.init(project="ranks")
    ones = torch.ones(4)
    for _ in range(100):
        dist.all_reduce(ones)
        run.log({"loss": 1.0})
        time.sleep(0.1)
    if dist.get_rank() == 0:
        dist.all_reduce(ones)
    else:
        dist.broadcast(ones, src=0)
"""


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def test_ranks_that_wait_in_collectives_that_do_not_match_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": "2", "HOLTER_RUN_ID": "apart"}

    def said() -> list[str]:
        wait_until(lambda: Catalog(str(data_directory())).rows(), within_s=60)
        capsys.readouterr()
        assert main(["show", "apart", "--json"]) == 0
        return [each["text"] for each in json.loads(capsys.readouterr().out)["warnings"] if each["guard"] == "stall"]

    with start(RANK, RANK="0", **group) as first, start(RANK, RANK="1", **group) as second:
        wait_until(said, within_s=180)
        [text] = said()
        first.kill()
        second.kill()
    assert "its ranks wait in collectives that do not match: rank 0 is in all_reduce (" in text
    assert ", rank 1 is in broadcast (" in text


PRESSED = """
    import os, threading, time, holter, torch
    import torch.distributed as dist
    from holter.client import active
    from holter.wire.way_back import Warn
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    run = holter.init(project="ranks", guard="interrupt")
    called = []
    holter.on_pressure(lambda: called.append(rank))
    ones = torch.ones(1)
    for step in range(2000):
        dist.all_reduce(ones)
        run.log({"loss": 1.0})
        if step == 20 and rank == 0:
            warn = Warn(run=run.id, guard="memory-forecast", text="memory will reach its limit", is_pressing=True)
            thread = threading.Thread(target=active._link._understand, args=(warn,))
            thread.start()
            thread.join()
        if run.should_stop:
            break
    dist.barrier()
    # Longer than where nobody logs a function would be called, or somebody interrupted.
    time.sleep(6)
    print(step, called, flush=True)
"""


def test_with_a_process_group_nothing_is_called_on_one_rank_and_all_stop_in_the_same_step() -> None:
    group = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": "2", "HOLTER_RUN_ID": "pressed"}
    with start(PRESSED, RANK="0", **group) as first, start(PRESSED, RANK="1", **group) as second:
        printed, errors = zip(*(each.communicate(timeout=120) for each in (first, second)), strict=True)
    assert (first.returncode, second.returncode) == (0, 0), errors
    assert printed[0] == printed[1]
    step, called = printed[0].split()
    assert 20 < int(step) < 25
    assert called == "[]"
    assert errors[0].count("guard='interrupt' is left out: with a process group") == 1
    assert "with a process group nothing is called on one rank alone" in errors[0]
