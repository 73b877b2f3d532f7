"""Checkpoints that two real processes of JAX write with Orbax, in the background."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("orbax.checkpoint")

from holter.artifacts.ocdbt import needed_files
from holter.artifacts.wholeness import judge

SAVING = """
import os, sys
import jax
folder, rank, port = sys.argv[1], int(sys.argv[2]), sys.argv[3]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", num_processes=2, process_id=rank)
import numpy as np, orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
placed = NamedSharding(Mesh(np.array(jax.devices()), ("x",)), PartitionSpec("x"))
state = {"w": jax.make_array_from_callback((2000, 500), placed, lambda part: np.random.rand(2000, 500)[part])}
saver = ocp.AsyncCheckpointer(ocp.StandardCheckpointHandler())
for step in (10, 20):
    saver.save(f"{folder}/{step}", args=ocp.args.StandardSave(state))
    if step == 10:
        saver.wait_until_finished()
print("under way", flush=True)
sys.stdin.read()
"""


def test_what_two_ranks_wrote_is_whole_and_what_they_are_at_is_not(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", SAVING, str(tmp_path), str(rank), port],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for rank in ranks:
        assert rank.stdout is not None
        while rank.stdout.readline() != "under way\n":
            assert rank.poll() is None
        rank.send_signal(signal.SIGKILL)
    for rank in ranks:
        rank.communicate()
    found = judge(str(tmp_path / "10"))
    assert (found.saver, found.trouble, found.step) == ("orbax", "", 10)
    for left in tmp_path.glob("20*"):  # it was killed at any moment: torn, or just finished
        assert judge(str(left)).trouble or left.name == "20"
    for part in ("ocdbt.process_1", "manifest.ocdbt", "array_metadatas/process_1"):
        shutil.copytree(tmp_path / "10", copy := tmp_path / "copy")
        gone = copy / part
        shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
        assert "missing" in judge(str(copy)).trouble
        shutil.rmtree(copy)
    needed = needed_files(str(tmp_path / "10"))
    ranks_with_data = {Path(place).relative_to(tmp_path / "10").parts[0] for place in needed}
    assert {"ocdbt.process_0", "ocdbt.process_1"} <= ranks_with_data
    for place in needed:
        name = Path(place).relative_to(tmp_path / "10")
        for size in (None, needed[place] - 1):
            shutil.copytree(tmp_path / "10", copy := tmp_path / "copy")
            (copy / name).unlink() if size is None else os.truncate(copy / name, size)
            assert "missing" in judge(str(copy)).trouble
            shutil.rmtree(copy)
