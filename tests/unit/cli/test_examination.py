"""What `holter doctor` finds with and without a witness."""

from pathlib import Path

import pytest

from holter.cli.commands import doctor
from holter.cli.examination import Witness, examine
from holter.cli.stdout import Look


def found(**environ: str) -> dict[str, Witness]:
    return {each.name: each for each in examine(environ)}


def test_every_witness_is_looked_at(tmp_path: Path) -> None:
    names = ["runs", "exit status", "signals", "memory", "Linux kernel log", "pressure", "GPUs", "scheduler"]
    assert list(found(HOLTER_DIR=str(tmp_path))) == names


def test_what_is_missing_comes_with_a_remedy(tmp_path: Path) -> None:
    without = found(HOLTER_DIR=str(tmp_path), HOLTER_WITHOUT="pidfd-info,connector,signals,kernel-log")
    missing = {name: each.remedy for name, each in without.items() if not each.is_there}
    assert {"exit status", "signals", "Linux kernel log"} <= missing.keys()
    assert "holter run" in missing["exit status"]
    assert "dmesg_restrict" in missing["Linux kernel log"]


def test_a_directory_that_can_t_be_used_is_said_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    runs = found(HOLTER_DIR=str(tmp_path / "file" / "runs"))["runs"]
    assert not runs.is_there
    assert "Not a directory" in runs.text
    assert "HOLTER_DIR" in runs.remedy


def test_a_job_is_named(tmp_path: Path) -> None:
    assert found(HOLTER_DIR=str(tmp_path), SLURM_JOB_ID="7")["scheduler"].text == "slurm"


@pytest.mark.parametrize("width", [40, 80])
def test_the_lines_fit_a_narrow_terminal(width: int) -> None:
    long = Witness(name="Linux kernel log", is_there=False, text="word " * 30, remedy="more " * 20)
    lines = doctor._witness(long, Look(width=max(width, 49), has_unicode=False))
    assert lines[0].startswith("x Linux kernel log")
    assert max(map(len, lines)) <= max(width, 49)
