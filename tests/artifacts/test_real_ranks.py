"""Checkpoints that two real ranks of torch write together are whole only with the files of both."""

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import holter
from holter.artifacts.wholeness import judge

# What the second rank writes last is cut off by its death: its file is there, and nobody says that all is written.
RANK = """
    import os, sys, torch, torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint import FileSystemWriter

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    folder, rank = sys.argv[1], int(sys.argv[2])
    store = dist.FileStore(os.path.join(folder, "meeting"), 2)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)

    class Dies(FileSystemWriter):
        def write_data(self, plan, planner):
            super().write_data(plan, planner).wait()
            os._exit(9)

    def state(step):
        return {f"weights-of-{rank}": torch.full((1000,), float(step)), "both": torch.zeros(10)}

    dcp.save(state(1), checkpoint_id=os.path.join(folder, "step-1"))
    dcp.async_save(state(2), checkpoint_id=os.path.join(folder, "step-2")).result()
    writer = (Dies if rank else FileSystemWriter)(os.path.join(folder, "step-3"))
    try:
        dcp.save(state(3), storage_writer=writer)
    except Exception:
        os._exit(7)
"""


def test_a_save_in_which_a_rank_dies_is_torn_and_the_one_before_it_is_gone_on_from(tmp_path: Path) -> None:
    (folder := tmp_path / "out").mkdir()
    ranks = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(RANK), str(folder), str(rank)]) for rank in range(2)
    ]
    codes = [rank.wait(240) for rank in ranks]
    assert codes == [7, 9]
    for step in (1, 2):
        assert {f"__{rank}_0.distcp" for rank in range(2)} < set(os.listdir(folder / f"step-{step}"))
        assert (judge(str(folder / f"step-{step}")).saver, judge(str(folder / f"step-{step}")).trouble) == ("dcp", "")
    assert "__1_0.distcp" in os.listdir(folder / "step-3")
    assert "not all ranks have written" in judge(str(folder / "step-3")).trouble
    with holter.init(project="p", mode="offline") as run:
        for step in (1, 2):
            run.checkpoint(folder / f"step-{step}", step=step, artifact=False)
        run.save(str(folder / "step-3" / "*"), base_path=folder)
        last = run.last_checkpoint()
    assert last is not None
    assert (last.step, last.path) == (2, str(folder / "step-2"))
    shutil.copytree(folder / "step-2", folder / "copy")
    (folder / "copy" / "__1_0.distcp").unlink()
    assert judge(str(folder / "copy")).trouble == "__1_0.distcp is missing"
