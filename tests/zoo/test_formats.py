"""Every released format stays readable: recorded files, and what they say written out."""

import math
from pathlib import Path
from typing import Any

import pytest

from holter.journal.columns import merge_rows, read_tables
from holter.journal.decoding import LoggedRow
from holter.journal.digest import Digest, digest
from holter.journal.frame import VERSION
from holter.journal.rundir import list_segments
from holter.model.record import Record
from holter.model.records import (
    KINDS,
    Alerted,
    Beat,
    CauseMarked,
    CellEnded,
    CellStarted,
    ChildExited,
    Console,
    Described,
    Edited,
    Exited,
    Facts,
    Finished,
    Flushed,
    HeldVariable,
    Judged,
    KernelAsked,
    Launched,
    Looked,
    Lost,
    Marked,
    Noted,
    Opened,
    Preempting,
    Raised,
    Saved,
    Signalled,
)
from tests.unit.journal.recording import read
from tests.zoo.formats.later import STORY

FORMATS = Path(__file__).parent / "formats"
CLIENT, SIDECAR, COMMAND, LATER = "c1" * 16, "5c" * 16, "cd" * 16, "1a" * 16

every_format = pytest.mark.parametrize("version", [path.name for path in sorted(FORMATS.glob("v*"))])


def decoded(version: str, journal: str) -> list[Record | LoggedRow]:
    everything: list[Record | LoggedRow] = []
    for path in list_segments(str(FORMATS / version))[journal]:
        everything += read(Path(path).read_bytes())
    return everything


def digested(version: str, journal: str) -> Digest:
    found = digest(journal, list_segments(str(FORMATS / version))[journal])
    assert found is not None
    return found


def merged(version: str, journal: str) -> list[dict[str, Any]]:
    return list(merge_rows([read_tables(list_segments(str(FORMATS / version))[journal])]))


def test_the_format_of_this_holter_is_recorded() -> None:
    assert (FORMATS / f"v{VERSION}").is_dir(), "record it: python -m tests.zoo.formats.record"


@every_format
def test_a_recorded_run_has_all_its_journals(version: str) -> None:
    found = {journal: len(paths) for journal, paths in list_segments(str(FORMATS / version)).items()}
    assert found == {CLIENT: 2, SIDECAR: 1, COMMAND: 1, LATER: 1}


@every_format
@pytest.mark.parametrize(
    ("journal", "writer"), [(CLIENT, "client"), (SIDECAR, "sidecar"), (COMMAND, "command")], ids=lambda name: name[:7]
)
def test_each_journal_says_who_wrote_it(version: str, journal: str, writer: str) -> None:
    assert digested(version, journal).opened == Opened(
        at_ns=1,
        run="zoo",
        writer=writer,
        host="node-1",
        boot_id="5e0a",
        pid=4711,
        process_started=99,
        holter="0.1.0",
        attempt=2,
        rank=0,
        pid_namespace="4026531836",
    )


@every_format
def test_the_rows_of_a_recorded_run(version: str) -> None:
    rows = merged(version, CLIENT)
    assert [row["_step"] for row in rows] == list(range(32))
    assert rows[0] == {"_step": 0, "_timestamp": 1_700_000_002.0, "loss": 1.0, "seen": 0}
    assert rows[2] == {"_step": 2, "_timestamp": 1_700_000_004.0, "loss": 0.3333333333333333, "seen": 128}
    assert rows[29] == {"_step": 29, "_timestamp": 1_700_000_031.0, "loss": 0.03333333333333333, "seen": 1856}
    assert [type(row["seen"]) for row in rows] == [int, int, int, float, *[int] * 27, float]


@every_format
def test_a_row_that_was_written_again_has_its_last_values(version: str) -> None:
    assert merged(version, CLIENT)[3] == {"_step": 3, "_timestamp": 1_700_000_036.0, "loss": 0.125, "seen": 2048.0}


@every_format
def test_rows_with_odd_values(version: str) -> None:
    *_, packed, last = merged(version, CLIENT)
    assert math.isnan(packed.pop("loss"))
    assert packed == {"_step": 30, "_timestamp": 1_700_000_032.0, "seen": -9223372036854775808}
    assert last == {
        "_step": 31,
        "_timestamp": 1_700_000_034.0,
        "loss": -math.inf,
        "seen": 0.5,
        "phase": "validation",
        "is_best": True,
        "none": None,
        "list": [1, 2.5, "x"],
    }


@every_format
def test_the_samples_of_a_recorded_run(version: str) -> None:
    assert merged(version, SIDECAR) == [
        {"_step": 0, "_timestamp": 1_700_000_002.0, "system/cpu": 0.0, "system/rss_bytes": 1073741824},
        {"_step": 1, "_timestamp": 1_700_000_003.0, "system/cpu": 0.5, "system/rss_bytes": 1073741824},
        {"_step": 2, "_timestamp": 1_700_000_004.0, "system/cpu": 1.0, "system/rss_bytes": 1073741824},
    ]


@every_format
def test_the_last_segment_sums_up_a_recorded_run(version: str) -> None:
    found = digested(version, CLIENT)
    assert found.described == Described(
        at_ns=10, project="zoo", name="quiet-otter", started_ns=5, tags=("a", "b"), heartbeat_s=2.5
    )
    assert found.config == {"lr": 0.1, "layers": [64, 32], "data": {"name": "mnist"}}
    assert found.summary == {"best": 0.25}
    assert (found.rows, found.last_step, found.last_at_ns) == (34, 3, 1_700_000_036_000_000_000)
    assert found.last == {
        "loss": 0.125,
        "seen": 2048.0,
        "phase": "validation",
        "is_best": True,
        "none": None,
        "list": [1, 2.5, "x"],
    }
    assert found.unknown == 1


@every_format
def test_what_the_program_said_in_a_recorded_run(version: str) -> None:
    assert digested(version, CLIENT).said == [
        Alerted(at_ns=14, title="loss is high", text="look at it", level="WARN"),
        Noted(at_ns=15, text="one value could not be stored"),
        Preempting(at_ns=16),
        Signalled(at_ns=17, signal=15),
        Raised(at_ns=18, type="ValueError", message="bad", traceback="Traceback: …", thread="worker", where="thread"),
        Lost(at_ns=19, records=7, since_ns=18, because="No space left on device"),
        Finished(at_ns=20, exit_code=3, how="context"),
    ]
    assert Flushed(at_ns=12, step=31) in decoded(version, CLIENT)


@every_format
def test_what_others_said_in_a_recorded_run(version: str) -> None:
    sidecar = digested(version, SIDECAR)
    assert sidecar.beat == Beat(at_ns=31, monotonic_ns=77, pids=(4711,))
    assert sidecar.said == [
        Facts(at_ns=30, facts={"cpus": 8, "git": {"commit": "abc"}}),
        Exited(at_ns=32, journal=CLIENT, pid=4711, source="pidfd", status=139),
        ChildExited(at_ns=33, pid=4712, source="pidfd-info", status=9, command="worker"),
    ]
    assert Saved(at_ns=34, pattern="*.pt", base="/data", policy="end", files=2) in decoded(version, SIDECAR)
    assert digested(version, COMMAND).said == [
        Marked(at_ns=40, state="failed", reason="wrong data", by="ann"),
        Launched(at_ns=41, pid=4713, process_started=98, command=("python", "train.py")),
        Console(at_ns=42, stdout="terminal", stderr="pipe", transcript="output.log"),
        Looked(at_ns=43, source="counters", pid=4711, found={"host_kills": 1}),
        Edited(at_ns=44, by="ann", name="better", tags=("kept",)),
        KernelAsked(at_ns=47, kind="restart", is_busy=True),
        CauseMarked(at_ns=49, cause="disk-full", reason="df", by="ann", verdict="nonzero-exit"),
        Judged(at_ns=50, weighed="2 1 3", found={"rules": "0.1.0-00000000-00000000"}),
    ]


@every_format
def test_what_was_masked_in_a_recorded_run(version: str) -> None:
    assert digested(version, COMMAND).masked == {"api_key in config": 1}


@every_format
def test_what_a_notebook_said_in_a_recorded_run(version: str) -> None:
    found = digested(version, COMMAND)
    assert found.cell == CellStarted(at_ns=45, ordinal=2, number=7, source="train()", rss_bytes=1048576)
    held = HeldVariable(name="cache", type="dict", what="3 items", host_bytes=4096, gpu_bytes=1)
    assert found.cell_ended == CellEnded(
        at_ns=46, ordinal=2, number=7, peak_bytes=2097152, error="E", variables=(held,)
    )


@every_format
def test_what_is_newer_than_the_format_in_a_recorded_run(version: str) -> None:
    assert decoded(version, LATER)[1:] == STORY


def test_every_kind_of_record_is_in_the_newest_recording() -> None:
    told = {type(each) for journal in (CLIENT, SIDECAR, COMMAND, LATER) for each in decoded(f"v{VERSION}", journal)}
    assert told == {*KINDS.values(), LoggedRow}
