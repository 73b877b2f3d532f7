"""All about one run, section by section."""

from pathlib import Path
from typing import Any

import pytest

from holter.catalog.catalog import Catalog
from holter.catalog.read.damage import Damage
from holter.cli.figures import moment
from holter.cli.report import headline, render, sections
from holter.cli.stdout import Look
from holter.model.records import Alerted, Configured, Exited, Facts, Finished, Lost, Noted
from tests.unit.catalog.journals import BEGAN_NS, Journal, dead, elsewhere, named

FACTS: dict[str, Any] = {
    "os": "Debian",
    "kernel": "6.1",
    "container": None,
    "cpu_count": 8,
    "memory_total_bytes": 64_000_000_000,
    "cgroup_memory_limit_bytes": 16_000_000_000,
    "gpus": {"driver": "550", "devices": [{"name": "H200", "memory_total_bytes": 150_000_000_000}]},
    "command": ["python", "train.py", "--name=a b"],
    "cwd": "/home/ada",
    "git": {"commit": "0123456789abcdef", "branch": "main", "is_dirty": True},
    "python": {"version": "3.12.1", "executable": "/usr/bin/python3"},
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


def shown(directory: Path, *damage: Damage) -> dict[str, list[str]]:
    loaded = Catalog(str(directory.parents[1])).load(directory.name, patience_s=0.0)
    found = sections(loaded, damage, used_bytes=13_900_000, now=BEGAN_NS / 1e9 + 7200)
    return {section.title: section.lines for section in found}


def test_a_plain_run_has_only_the_sections_that_say_something(directory: Path) -> None:
    Journal(directory, dead()).say(named("otter"), Finished(at_ns=BEGAN_NS + 10**9, exit_code=0)).close()
    found = shown(directory)
    assert list(found) == ["run", "host", "processes", "files"]
    assert found["run"] == [
        "id       r1",
        "name     otter",
        "project  tests",
        f"started  {moment(BEGAN_NS / 1e9)} (2h ago), took 1.0s",
        "rows     0",
    ]
    assert found["files"] == [f"directory  {directory}", "size       13.9 MB"]


def test_configuration_and_summary_are_named_values(directory: Path) -> None:
    config = Configured(at_ns=BEGAN_NS, config={"lr": 3e-4, "model": {"width": 64}})
    Journal(directory, dead()).say(named("otter"), config).log(range(3)).close()
    found = shown(directory)
    assert found["config"] == ["lr           0.0003", "model.width  64"]
    assert found["summary"] == ["loss  0.333333"]


def test_a_thousand_values_do_not_fill_the_screen(directory: Path) -> None:
    config = Configured(at_ns=BEGAN_NS, config={f"key{number}": number for number in range(1000)})
    Journal(directory, dead()).say(named("otter"), config).close()
    lines = shown(directory)["config"]
    assert len(lines) == 61
    assert lines[-1] == "and 940 more; --json has all"


def test_host_and_program_are_told_in_short(directory: Path) -> None:
    Journal(directory, dead()).say(named("otter")).close()
    Journal(directory, dead(), kind="sidecar").say(Facts(at_ns=BEGAN_NS, facts=FACTS)).close()
    found = shown(directory)
    assert found["host"][1:] == [
        "system  Debian, 6.1",
        "CPUs    8",
        "memory  64.0 GB, limited to 16.0 GB",
        "GPUs    H200 (150 GB)",
        "driver  550",
    ]
    assert found["program"] == [
        "command    python train.py '--name=a b'",
        "directory  /home/ada",
        "git        0123456789ab on main, with changes",
        "python     3.12.1 /usr/bin/python3",
    ]


def test_the_limits_that_hold_and_the_job_are_told(directory: Path) -> None:
    facts = {
        "cpu_count": 64,
        "cgroup_cpu_limit": 1.5,
        "shared_memory_bytes": 64 << 20,
        "gpus": {"driver": "550", "cuda": "12.8"},
        "schedulers": {"slurm": {"job_id": "77"}, "torchrun": {"rank": "0"}},
    }
    Journal(directory, dead()).say(named("otter")).close()
    Journal(directory, dead(), kind="sidecar").say(Facts(at_ns=BEGAN_NS, facts=facts)).close()
    assert shown(directory)["host"][1:] == [
        "CPUs      64, limited to 1.5",
        "/dev/shm  67.1 MB",
        "driver    550, CUDA 12.8",
        "job       slurm 77, torchrun 0",
    ]


def test_every_attempt_and_process_has_a_line(directory: Path) -> None:
    first = Journal(directory, elsewhere(), attempt=1, rank=0).say(named("otter")).log(range(2)).close()
    Journal(directory, elsewhere(), attempt=2, rank=1).say(Finished(at_ns=BEGAN_NS, exit_code=0)).close()
    killed = Exited(at_ns=BEGAN_NS, journal=first.id, pid=1, source="zombie-stat", status=9)
    Journal(directory, dead(), kind="sidecar").say(killed).close()
    where = f"process {elsewhere().pid} on another-machine"
    assert sorted(shown(directory)["processes"]) == [
        f"attempt 1, rank 0: {where}, 2 rows, SIGKILL (signal 9): the sidecar read it in /proc",
        f"attempt 2, rank 1: {where}, 0 rows, ended the run",
    ]


def test_alerts_notes_and_losses_are_told(directory: Path) -> None:
    Journal(directory, dead()).say(
        named("otter"),
        Alerted(at_ns=BEGAN_NS, title="loss is NaN", text="since step 3", level="WARN"),
        Noted(at_ns=BEGAN_NS, text="'x' is a Figure, which has no place in a row"),
        Lost(at_ns=BEGAN_NS, records=12, since_ns=BEGAN_NS, because="No space left on device"),
    ).close()
    found = shown(directory)
    when = moment(BEGAN_NS / 1e9)
    assert found["alerts"] == [f"{when}  WARN loss is NaN: since step 3"]
    assert found["notes"] == [f"{when}  'x' is a Figure, which has no place in a row"]
    assert found["lost"] == [f"12 records could not be kept since {when}: No space left on device"]


def test_damage_is_told(directory: Path) -> None:
    Journal(directory, dead()).say(named("otter")).close()
    damage = Damage(file="abc-000001.seg", bytes=37, is_torn=True, because="it was being written when the process died")
    assert shown(directory, damage)["damage"] == [
        "37 bytes of abc-000001.seg can't be read: it was being written when the process died"
    ]


def test_a_name_cannot_paint_the_terminal(directory: Path) -> None:
    Journal(directory, dead()).say(named("\x1b[31mred\n")).close()
    loaded = Catalog(str(directory.parents[1])).load(directory.name, patience_s=0.0)
    found = render(sections(loaded, [], used_bytes=0, now=0.0), Look())
    assert "\x1b" not in "\n".join(found)


def test_the_state_stands_in_one_line(directory: Path) -> None:
    Journal(directory, dead()).say(named("otter"), Finished(at_ns=BEGAN_NS, exit_code=3)).close()
    loaded = Catalog(str(directory.parents[1])).load(directory.name, patience_s=0.0)
    assert (
        headline(loaded, Look(has_unicode=False))
        == "x failed: The program ended the run with exit code 3 (nonzero-exit)"
    )
