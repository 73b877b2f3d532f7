"""A torn checkpoint is never chosen."""

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holter
from holter.artifacts.ocdbt import needed_files
from holter.artifacts.wholeness import judge, step_in
from holter.errors import UsageError
from tests.artifacts.files import write_ocdbt, write_safetensors, write_torch_zip
from tests.artifacts.test_logging import WITHIN_S

WEIGHTS = {"0": bytes(100_000)}


def torch_file(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_torch_zip(path, WEIGHTS)


def dcp(folder: Path) -> None:
    folder.mkdir()
    for rank in range(2):
        (folder / f"__{rank}_0.distcp").write_bytes(b"x")
    (folder / ".metadata").write_bytes(b"\x80 __0_0.distcp .. __1_0.distcp .")


def deepspeed(folder: Path) -> None:
    tag = folder / "global_step40"
    torch_file(tag / "mp_rank_00_model_states.pt")
    for rank in range(2):
        torch_file(tag / f"zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
    (folder / "latest").write_text("global_step40")


def huggingface(folder: Path) -> None:
    folder.mkdir()
    for part in (1, 2):
        write_safetensors(folder / f"model-0000{part}-of-00002.safetensors", WEIGHTS)
    names = {str(part): f"model-0000{part}-of-00002.safetensors" for part in (1, 2)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    (folder / "trainer_state.json").write_text('{"global_step": 40}')
    (folder / "optimizer.pt").write_bytes(b"x")


def orbax(folder: Path) -> None:
    """As two ranks of 0.12 leave it."""
    item = folder / "default"
    for inner in ("", "ocdbt.process_0/", "ocdbt.process_1/"):
        (item / inner / "d").mkdir(parents=True)
        (item / inner / "d" / "a1310fdc").write_bytes(b"x")
        write_ocdbt(item / inner, [f"ocdbt.process_{rank}/d/a1310fdc" for rank in range(2)] if not inner else [])
    (item / "array_metadatas").mkdir()
    for rank in range(2):
        (item / "array_metadatas" / f"process_{rank}").write_text("{}")
    (item / "_METADATA").write_text('{"use_ocdbt": true}')
    about = {"item_handlers": {"default": "StandardCheckpointHandler"}, "commit_timestamp_nsecs": 1}
    (folder / "_CHECKPOINT_METADATA").write_text(json.dumps(about))


def tensorflow(folder: Path) -> None:
    folder.mkdir()
    for name in ("ckpt-40.index", "ckpt-40.data-00000-of-00002", "ckpt-40.data-00001-of-00002"):
        (folder / name).write_bytes(b"x")


def megatron(folder: Path) -> None:
    (folder / "iter_0000040").mkdir(parents=True)
    (folder / "latest_checkpointed_iteration.txt").write_text("40")


def ranks(folder: Path) -> None:
    for rank in range(2):
        torch_file(folder / f"model_rank{rank}_of_2.pt")


def safetensors(path: Path) -> None:
    write_safetensors(path, WEIGHTS)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5000])


TORN: list[tuple[str, Callable[[Path], None], str, str]] = [
    ("torch", torch_file, "", "its end is missing"),
    ("safetensors", safetensors, "", "bytes"),
    ("dcp", dcp, ".metadata", "not all ranks have written"),
    ("dcp", dcp, "__1_0.distcp", "__1_0.distcp is missing"),
    ("deepspeed", deepspeed, "global_step40/zero_pp_rank_0_mp_rank_00_optim_states.pt", "ranks are missing"),
    ("deepspeed", deepspeed, "global_step40/mp_rank_00_model_states.pt!", "its end is missing"),
    ("huggingface", huggingface, "model-00002-of-00002.safetensors", "is missing"),
    ("huggingface", huggingface, "trainer_state.json", "still writing"),
    ("tensorflow", tensorflow, "ckpt-40.data-00001-of-00002", "part 1 of 2 is missing"),
    ("tensorflow", tensorflow, "ckpt-40.index", "index is missing"),
    ("megatron", megatron, "iter_0000040", "is missing"),
    ("orbax", orbax, "default/array_metadatas/process_1", "what rank 1 wrote is missing"),
    ("orbax", orbax, "default/manifest.ocdbt", "manifest.ocdbt is missing"),
    ("orbax", orbax, "default/ocdbt.process_1/d/a1310fdc", "ocdbt.process_1/d/a1310fdc is missing or cut off"),
    ("orbax", orbax, "default/ocdbt.process_0/d/a1310fdc!", "ocdbt.process_0/d/a1310fdc is missing or cut off"),
    ("orbax", orbax, "default/d/node", "d/node is missing or cut off"),
    ("orbax", orbax, "default/manifest.ocdbt!", "manifest.ocdbt can't be read"),
    ("ranks", ranks, "model_rank1_of_2.pt", "rank 1 of 2 is missing"),
]


@pytest.mark.parametrize(("saver", "make", "broken", "trouble"), TORN, ids=lambda value: str(value)[:20])
def test_what_lacks_a_part_is_torn(
    tmp_path: Path, saver: str, make: Callable[[Path], None], broken: str, trouble: str
) -> None:
    path = tmp_path / ("w.safetensors" if make is safetensors else "w.pt" if make is torch_file else "checkpoint-40")
    make(path)
    assert (judge(str(path)).saver, judge(str(path)).trouble) == (saver, "")
    part = path / broken.rstrip("!") if broken else path
    if not broken or broken.endswith("!"):
        cut(part)
    elif part.is_dir():
        part.rmdir()
    else:
        part.unlink()
    assert trouble in judge(str(path)).trouble


def test_a_folder_that_its_saver_has_not_named_yet_is_torn(tmp_path: Path) -> None:
    orbax(tmp_path / "40.orbax-checkpoint-tmp-1")
    assert judge(str(tmp_path / "40.orbax-checkpoint-tmp-1")).trouble == "its saver has not finished it"
    orbax(tmp_path / "40")
    assert (judge(str(tmp_path / "40")).trouble, judge(str(tmp_path / "40")).step) == ("", 40)


def test_a_trainer_that_has_written_its_model_only_is_not_done(tmp_path: Path) -> None:
    for name in ("checkpoint-6", "best"):
        (tmp_path / name).mkdir()
        write_safetensors(tmp_path / name / "model.safetensors", WEIGHTS)
        (tmp_path / name / "training_args.bin").write_bytes(b"x")
    assert "trainer_state.json is missing" in judge(str(tmp_path / "checkpoint-6")).trouble
    assert judge(str(tmp_path / "best")).trouble == ""  # save_model() writes no more than that


def test_a_folder_of_orbax_that_was_not_committed_is_torn(tmp_path: Path) -> None:
    orbax(tmp_path / "40")
    about = tmp_path / "40" / "_CHECKPOINT_METADATA"
    about.write_text('{"item_handlers": null, "commit_timestamp_nsecs": null}')
    assert judge(str(tmp_path / "40")).trouble == "its saver has not finished it"
    about.write_text('{"item_handlers": {"default": "", "data": ""}, "commit_timestamp_nsecs": 1}')
    assert judge(str(tmp_path / "40")).trouble == "data is missing"


@pytest.mark.parametrize("form", [{}, {"is_packed": True}, {"levels": 3}, {"levels": 3, "above": "inner/"}], ids=str)
def test_an_array_whose_data_file_is_gone_is_missed_however_its_database_is_made(
    tmp_path: Path, form: dict[str, Any]
) -> None:
    write_ocdbt(tmp_path, ["x/one", "x/two"], **form)
    data = tmp_path / form.get("above", "") / "x"
    needed = {str(data / "one"): 1, str(data / "two"): 1}
    found = needed_files(str(tmp_path))
    assert {path: size for path, size in found.items() if not path.endswith("node")} == needed
    assert found[str(data.parent / "d" / "node")] == (data.parent / "d" / "node").stat().st_size


def test_a_database_whose_versions_lie_elsewhere_is_not_judged(tmp_path: Path) -> None:
    write_ocdbt(tmp_path, ["x/one"], kind=1)
    assert needed_files(str(tmp_path)) == {}


@pytest.mark.parametrize(
    ("name", "step"),
    [("checkpoint-1200", 1200), ("epoch=3-step=900.ckpt", 900), ("iter_0000040", 40), ("best.pt", None), ("ckpt_7", 7)],
)
def test_a_step_is_read_from_a_name(name: str, step: int | None) -> None:
    assert step_in(f"/x/{name}") == step


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[holter.Run]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    with holter.init(project="p", mode="offline", id="r") as run:
        yield run


def test_a_state_becomes_a_file_and_an_artifact_and_the_newest_is_the_last(run: holter.Run) -> None:
    for step in (10, 20):
        path = run.checkpoint({"w": step}, step, metrics={"loss": 1 / step})
    last = run.last_checkpoint()
    assert last is not None
    assert (last.step, last.path, last.trouble) == (20, path, "")
    with open(path, "rb") as file:
        assert pickle.load(file) == {"w": 20}
    assert run.use_artifact(wait_for("checkpoint-r", 2)).metadata["step"] == 20


class Odd:
    """A part of a state that can't be saved."""

    def __reduce__(self) -> str:
        raise ValueError("it can't be saved")


def test_a_state_that_can_not_be_saved_leaves_the_one_before_it_and_nothing_half(run: holter.Run) -> None:
    path = run.checkpoint({"w": 1}, 10, artifact=False)
    with pytest.raises(ValueError, match="can't be saved"):
        run.checkpoint({"w": [bytes(100_000), Odd()]}, 20, artifact=False)
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    last = run.last_checkpoint()
    assert last is not None
    assert (last.step, last.path) == (10, path)


SAVING = """
import sys, holter
sys.modules["torch"] = None
run = holter.init(project="p", mode="offline", id="killed", resume="allow", settings={"silent": True})
for step in range(run.step, run.step + 1000):
    print(step, flush=True)
    run.checkpoint({"w": bytes([step % 256]) * 3_000_000, "step": step}, step, artifact=False)
"""


def test_whenever_a_program_is_killed_the_last_checkpoint_is_whole(tmp_path: Path) -> None:
    for step in range(1, 6):
        with subprocess.Popen([sys.executable, "-c", SAVING], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [int(process.stdout.readline()) for _ in range(step)]
            process.kill()
            said += map(int, process.stdout.read().split())  # it went on until it was dead
        with holter.init(project="p", mode="offline", id="killed", resume="allow") as run:
            last = run.last_checkpoint()
        assert step == 1 or last is not None
        if last is not None:
            with open(last.path, "rb") as file:
                state = pickle.load(file)
            assert last.step in (said[-1] - 1, said[-1])
            assert state == {"w": bytes([state["step"] % 256]) * 3_000_000, "step": last.step}


def test_a_torn_or_replaced_file_is_passed_over(run: holter.Run, tmp_path: Path) -> None:
    torch_file(tmp_path / "a.pt")
    torch_file(tmp_path / "b.pt")
    run.checkpoint("a.pt", 10, artifact=False)
    run.checkpoint("b.pt", 20, artifact=False)
    cut(tmp_path / "b.pt")
    last = run.last_checkpoint()
    assert last is not None
    assert last.step == 10


def test_a_folder_that_is_written_over_in_place_is_passed_over(run: holter.Run, tmp_path: Path) -> None:
    for step in (10, 20):
        ranks(folder := tmp_path / f"at-{step}")
        for part in folder.iterdir():
            os.utime(part, ns=(step, step))  # not in the moment in which it is written over
        run.checkpoint(folder, step, artifact=False)
    torch_file(tmp_path / "at-20" / "model_rank1_of_2.pt")  # of step 30, which did not come further
    last = run.last_checkpoint()
    assert last is not None
    assert (last.step, last.path) == (10, str(tmp_path / "at-10"))


def test_what_is_added_to_a_folder_later_does_not_matter(run: holter.Run, tmp_path: Path) -> None:
    ranks(folder := tmp_path / "at-10")
    for part in folder.iterdir():
        os.utime(part, ns=(10, 10))
    run.checkpoint(folder, 10, artifact=False)
    torch_file(folder / "rng_state_1.pt")
    last = run.last_checkpoint()
    assert last is not None
    assert last.step == 10


def test_a_checkpoint_whose_file_is_gone_comes_from_its_artifact(run: holter.Run, tmp_path: Path) -> None:
    torch_file(tmp_path / "a.pt")
    wanted = (tmp_path / "a.pt").read_bytes()
    run.checkpoint("a.pt", 10)
    wait_for("checkpoint-r", 1)
    (tmp_path / "a.pt").unlink()
    last = run.last_checkpoint()
    assert last is not None
    assert Path(last.path).read_bytes() == wanted


def test_files_that_a_framework_wrote_and_save_keeps_are_seen(run: holter.Run, tmp_path: Path) -> None:
    torch_file(tmp_path / "out" / "epoch=3-step=900.ckpt")
    run.save("out/*.ckpt")
    last = run.last_checkpoint()
    assert last is not None
    assert (last.step, os.path.basename(last.path), last.saver) == (900, "epoch=3-step=900.ckpt", "torch")


def test_a_torn_checkpoint_is_not_kept_and_that_is_said(run: holter.Run, tmp_path: Path) -> None:
    torch_file(tmp_path / "a.pt")
    cut(tmp_path / "a.pt")
    with pytest.raises(UsageError, match="is no whole checkpoint, and is not kept: its end is missing"):
        run.checkpoint("a.pt", 10)


def test_resume_takes_what_the_variable_names(run: holter.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert holter.resume() is None
    torch_file(tmp_path / "step-30.pt")
    monkeypatch.setenv("HOLTER_RESUME_FROM", str(tmp_path / "step-30.pt"))
    found = holter.resume()
    assert found is not None
    assert (found.step, found.path) == (30, str(tmp_path / "step-30.pt"))
    cut(tmp_path / "step-30.pt")
    with pytest.raises(UsageError, match="which is torn"):
        holter.resume()


def test_a_job_that_is_started_anew_goes_on_from_what_it_kept_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)

    def start(count: str, *steps: int) -> tuple[int | None, list[str]]:
        """One start of the job; the step from which it goes on, and what it keeps."""
        monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", count)
        with holter.init(project="p", mode="offline", id="r", resume="allow") as run:
            last = holter.resume()
            return last.step if last else None, [run.checkpoint({"w": step}, step, artifact=False) for step in steps]

    _, [chosen, _] = start("0", 10, 40)
    monkeypatch.setenv("HOLTER_RESUME_FROM", chosen)  # and not from step 40, which somebody did not like
    assert start("0")[0] == 10
    assert start("1", 20, 30)[0] == 10
    assert start("2")[0] == 30


def wait_for(name: str, count: int) -> str:
    """Until so many wishes are answered, which is the last thing that happens to each."""
    answers = Path(os.environ["HOLTER_DIR"]) / "artifacts" / "answers"
    until = time.monotonic() + WITHIN_S
    while not answers.is_dir() or len(list(answers.glob("*.json"))) < count:
        assert time.monotonic() < until
        time.sleep(0.02)
    return f"{name}:v{count - 1}"


DYING = """
import os, sys, holter
sys.modules["torch"] = None
run = holter.init(project="p", mode="offline", settings={"silent": True})
last = holter.resume()
print("from", last and last.step, flush=True)
for step in (10, 20):
    path = run.checkpoint({"w": bytes(100_000)}, step, artifact=False)
os.truncate(path, 10) if last is None else None
os.kill(os.getpid(), 9) if last is None else run.finish()
"""


def test_why_names_the_last_whole_checkpoint_and_a_command_that_goes_on_from_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(DYING)
    holter_command = [sys.executable, "-m", "holter"]
    watched = [*holter_command, "run", "--", sys.executable, "train.py"]
    died = subprocess.run(watched, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (died.returncode, "from None" in died.stdout) == (137, True)
    said = subprocess.run([*holter_command, "why"], cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert "step 10, written" in said
    assert "not from step 20" in said
    [line] = [line.strip() for line in said.splitlines() if "HOLTER_RESUME_FROM=" in line]
    again = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (again.returncode, "from 10" in again.stdout) == (0, True), again.stderr
