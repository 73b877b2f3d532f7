"""What is gathered about the end of a run, from journals and files that were written for the purpose."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holter.catalog.judge.gathering import gather
from holter.catalog.read.loaded_run import load_run, outcome_of_attempt
from holter.model.evidence import (
    ALL_ASKED,
    Counters,
    Disk,
    Evidence,
    KernelLog,
    MemoryLevel,
    OomKill,
    Surroundings,
    Unseen,
)
from holter.model.records import Beat, ChildExited, Exited, Facts, Finished, Looked, Preempting, Raised, Signalled
from holter.model.state import Lateness
from tests.unit.catalog.journals import BEGAN_NS, Journal, dead, elsewhere, named

SECOND = 1_000_000_000
KILLED = int(signal.SIGKILL)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "r1"


def evidence(directory: Path) -> Evidence:
    loaded = load_run(str(directory), now_ns=time.time_ns(), lateness=Lateness(), is_patient=False)
    assert loaded is not None
    return gather(loaded)


def program(directory: Path, *records: Any, **options: Any) -> Journal:
    return Journal(directory, dead(), **options).say(named("otter"), *records)


def exited(journal: Journal, status: int | None, *, after_s: float = 10.0, pid: int | None = None) -> Exited:
    at_ns = BEGAN_NS + int(after_s * SECOND)
    return Exited(at_ns=at_ns, journal=journal.id, pid=pid or dead().pid, source="pidfd-info", status=status)


def sidecar(directory: Path, *records: Any, **options: Any) -> Journal:
    return Journal(directory, dead(), kind="sidecar", **options).say(*records)


def raised(where: str = "main", **changes: Any) -> Raised:
    fields = {"type": "ValueError", "message": "bad batch", "traceback": "", "where": where, **changes}
    return Raised(at_ns=BEGAN_NS + 9 * SECOND, **fields)


def child(pid: int, status: int | None, **changes: Any) -> ChildExited:
    return ChildExited(**{"at_ns": BEGAN_NS + SECOND, "pid": pid, "source": "pidfd-info", "status": status, **changes})


def test_the_subject_is_the_process_whose_end_is_the_runs(directory: Path) -> None:
    journal = program(directory, raised(), raised("thread", type="KeyError"), Signalled(at_ns=BEGAN_NS, signal=15))
    journal.log(range(42)).close()
    sidecar(
        directory, exited(journal, 1 << 8), Facts(at_ns=BEGAN_NS, facts={"command": ["python", "train.py"]})
    ).close()
    found = evidence(directory)
    subject = found.subject
    assert (subject.pid, subject.role, subject.code, subject.signal) == (dead().pid, "program", 1, None)
    assert (subject.name, subject.source, subject.is_alive) == ("python train.py", "pidfd-info", False)
    assert (subject.at_ns, subject.last_step) == (BEGAN_NS + 10 * SECOND, 41)
    assert subject.raised is not None
    assert [each.type for each in (subject.raised, *subject.others_raised)] == ["ValueError", "KeyError"]
    assert (subject.handled, found.state, found.ended_ns) == ((15,), "crashed", BEGAN_NS + 10 * SECOND)
    assert (found.ranks, found.children, found.is_late) == ((subject,), (), False)


def test_only_the_newest_attempt_counts(directory: Path) -> None:
    old = program(directory, raised(), Preempting(at_ns=BEGAN_NS), attempt=1).log(range(3), loss=float("nan")).close()
    sidecar(directory, exited(old, 1 << 8), child(7, KILLED)).close()
    new = program(directory, attempt=2).log(range(3, 6)).close()
    sidecar(directory, exited(new, KILLED), attempt=2).close()
    found = evidence(directory)
    assert (found.subject.raised, found.children, found.was_preempting, found.non_finite) == (None, (), False, ())
    assert len(found.ranks) == 1


def test_each_attempt_tells_its_own_end(directory: Path) -> None:
    killed = program(directory).log(range(3)).close()
    sidecar(directory, exited(killed, KILLED)).close()
    program(directory, Finished(at_ns=BEGAN_NS, exit_code=1), attempt=2).log(range(3, 6)).close()
    program(directory, Finished(at_ns=BEGAN_NS, exit_code=0), attempt=3).log(range(6, 9)).close()
    now: dict[str, Any] = {"now_ns": time.time_ns(), "lateness": Lateness()}
    loaded = load_run(str(directory), **now, is_patient=False)
    assert loaded is not None
    ends = [outcome_of_attempt(loaded, number, **now) for number in (1, 2, 3)]
    assert [each.state for each in ends] == ["crashed", "failed", "finished"]
    assert ends[0].ended_at_ns == BEGAN_NS + 10 * SECOND


def test_ranks_are_in_the_order_of_their_deaths(directory: Path) -> None:
    ranks = [program(directory, rank=rank).log(range(rank + 1)).close() for rank in range(3)]
    deaths = [
        exited(ranks[0], 1 << 8, after_s=12),
        exited(ranks[1], KILLED, after_s=10),
        exited(ranks[2], 15, after_s=11),
    ]
    sidecar(directory, *deaths).close()
    found = evidence(directory)
    assert [(end.rank, end.role, end.last_step) for end in found.ranks] == [
        (1, "rank", 1),
        (2, "rank", 2),
        (0, "rank", 0),
    ]


def test_what_holter_run_was_told_its_command_was_told_too(directory: Path) -> None:
    told = Signalled(at_ns=BEGAN_NS + SECOND, signal=15, code=0, sender_pid=7, sender_uid=1000, sender="bash")
    journal = program(directory, told, kind="launcher").close()
    sidecar(directory, exited(journal, 0)).close()
    found = evidence(directory)
    [caught] = found.subject.signals
    assert (caught.signal, caught.sender_pid, caught.sender, caught.is_handled) == (15, 7, "bash", True)
    assert (found.subject.role, found.subject.handled, found.state) == ("command", (15,), "crashed")


def test_a_signal_that_ended_the_command_was_not_handled(directory: Path) -> None:
    told = Signalled(at_ns=BEGAN_NS + SECOND, signal=15, code=0, sender_pid=7)
    journal = program(directory, told, kind="launcher").close()
    sidecar(directory, exited(journal, 15)).close()
    subject = evidence(directory).subject
    assert (subject.signals[0].is_handled, subject.handled) == (False, ())


def test_children_that_did_not_end_well_are_told_once(directory: Path) -> None:
    by_parent = child(900, KILLED, source="multiprocessing", name="Process-3")
    journal = program(directory, by_parent, child(901, 0)).close()
    again = child(900, KILLED, at_ns=BEGAN_NS + SECOND // 2, command="python train.py", process_started=5)
    sidecar(directory, again, child(902, None, source="gone"), exited(journal, 1 << 8)).close()
    [found] = evidence(directory).children
    assert (found.pid, found.role, found.name, found.signal) == (900, "child", "Process-3", KILLED)
    assert (found.at_ns, found.source) == (BEGAN_NS + SECOND // 2, "multiprocessing")


def test_what_a_worker_raised_is_with_its_end_or_with_its_parent(directory: Path) -> None:
    worker = msgspec.structs.replace(dead(), pid=900)
    journal = program(directory, child(900, 1 << 8)).close()
    failures = [raised("child", type="OSError"), raised("pool", type="MemoryError")]
    Journal(directory, worker, kind="worker").say(*failures).close()
    sidecar(directory, exited(journal, 1 << 8)).close()
    found = evidence(directory)
    assert found.children[0].raised is not None
    assert found.children[0].raised.type == "OSError"
    assert [each.type for each in found.subject.others_raised] == ["MemoryError"]


def looked(source: str, finding: msgspec.Struct, *, pid: int = 0, after_s: float = 10.0) -> Looked:
    at_ns = BEGAN_NS + int(after_s * SECOND)
    return Looked(at_ns=at_ns, source=source, pid=pid, found=msgspec.to_builtins(finding))


def test_what_sources_said_comes_back_in_its_form(directory: Path) -> None:
    kill = OomKill(at_ns=BEGAN_NS, pid=77, name="python", constraint="CONSTRAINT_MEMCG")
    journal = program(directory).close()
    ours = Surroundings(open_files=1024, open_files_limit=1024)
    sidecar(
        directory,
        looked("surroundings", ours, pid=dead().pid),
        looked("surroundings", Surroundings(open_files=3), pid=900, after_s=11),
        looked("kernel-log", KernelLog(kills=(kill,))),
        looked("kernel-log", KernelLog(kills=(kill,)), after_s=11),
        looked("of-a-newer-holter", ours),
        Looked(at_ns=BEGAN_NS, source="oom-daemon", because="no permission", remedy="join the group adm"),
        Looked(at_ns=BEGAN_NS, source="kernel-log", because="not yet readable"),
        exited(journal, KILLED),
    ).close()
    found = evidence(directory)
    assert found.surroundings == ours
    assert found.kernel_log == KernelLog(kills=(kill,))
    assert found.unseen["oom-daemon"] == Unseen(because="no permission", remedy="join the group adm")
    assert "kernel-log" not in found.unseen


def test_what_was_last_seen_of_a_process_completes_what_it_saw_itself(directory: Path) -> None:
    journal = program(directory)
    own = Surroundings(open_files=9, disks=(Disk(path="/scratch", what="error", free_bytes=0),))
    seen = Surroundings(open_files=5, heeded=(2, 15), disks=(Disk(path="/home", what="working directory"),))
    sidecar(
        directory,
        exited(journal, 1 << 8),
        looked("surroundings", own, pid=dead().pid, after_s=9.0),
        looked("last-seen", seen, pid=dead().pid),
        Looked(at_ns=BEGAN_NS, source=ALL_ASKED, pid=dead().pid, found={"hears_exits": True}),
    )

    found = evidence(directory)

    assert found.surroundings == msgspec.structs.replace(own, heeded=(2, 15))
    assert found.is_watched


def sample(own: float, **changes: Any) -> dict[str, Any]:
    return {
        "system/process/anon_bytes": own,
        "system/host/memory_total_bytes": 16e9,
        "system/host/memory_available_bytes": 9e9,
        "system/host/oom_kill": 5.0,
        "system/cgroup/0/oom_kill": 2.0,
        "system/cgroup/0/usage_bytes": 900.0,
        "system/cgroup/0/inactive_file_bytes": 100.0,
        "system/cgroup/0/limit_bytes": 1000.0,
        "system/cgroup/0/peak_bytes": 950.0,
        "system/cgroup/0/limit_hits": 3.0,
        "system/cgroup/1/oom_kill": 2.0,
        "system/psi/memory_full_avg10": 12.5,
        **changes,
    }


def watched(directory: Path, *samples: dict[str, Any]) -> Journal:
    journal = sidecar(directory)
    for second, values in enumerate(samples):
        journal.rows.append(values, second, BEGAN_NS + second * SECOND)
    return journal


def test_memory_is_that_of_the_last_sample_and_its_growth_that_of_the_curve(directory: Path) -> None:
    journal = program(directory).close()
    hits = {"system/cgroup/0/limit_hits": 10.0}
    samples = [sample(1000.0 + 50 * second, **(hits if second == 9 else {})) for second in range(10)]
    watched(directory, *samples).say(exited(journal, KILLED)).close()
    memory = evidence(directory).memory
    assert (memory.total_bytes, memory.available_bytes, memory.own_bytes) == (16e9, 9e9, 1450.0)
    assert memory.growth_bytes_per_s == pytest.approx(50.0)
    assert (memory.growth_s, memory.full_pressure_percent, memory.sampled_ns) == (9.0, 12.5, BEGAN_NS + 9 * SECOND)
    own, above = memory.levels
    assert own == MemoryLevel(level=0, limit_bytes=1000.0, usage_bytes=800.0, peak_bytes=950.0, limit_hits=7)
    assert above == MemoryLevel(level=1)


def test_a_counter_that_stood_still_before_the_end_proves_nothing(directory: Path) -> None:
    journal = program(directory).close()
    watched(directory, sample(1.0), sample(1.0)).say(exited(journal, KILLED)).close()
    memory = evidence(directory).memory
    assert (memory.levels[0].kills, memory.host_kills) == (None, None)


def test_a_counter_that_stood_still_proves_nothing_where_the_sidecar_died_with_the_program(directory: Path) -> None:
    """It beats every few seconds and measures each second: the program lived when it last measured."""
    program(directory).close()
    beat = Beat(at_ns=BEGAN_NS, monotonic_ns=1, pids=(dead().pid,))
    watched(directory, sample(1.0), sample(1.0), sample(1.0)).say(beat).close()
    found = evidence(directory)
    assert found.subject.at_ns == found.ended_ns == BEGAN_NS + 2 * SECOND
    assert (found.memory.levels[0].kills, found.memory.host_kills) == (None, None)


def test_the_counters_at_the_death_decide(directory: Path) -> None:
    journal = program(directory).close()
    at_death = Counters(levels=(MemoryLevel(level=0, path="/job", kills=0),), host_kills=1)
    watched(directory, sample(1.0), sample(1.0)).say(looked("counters", at_death), exited(journal, KILLED)).close()
    memory = evidence(directory).memory
    assert (memory.levels[0].kills, memory.levels[0].path, memory.host_kills) == (0, "/job", 1)
    assert memory.levels[0].limit_bytes == 1000.0


def test_the_metrics_that_are_not_numbers_any_more_are_found(directory: Path) -> None:
    journal = program(directory).log(range(100), loss=0.5, gain=1.0, norm=1.0)
    journal.log(range(100, 110), loss=float("nan"), gain=float("inf"), norm=2.0).log([110], gain=3.0).close()
    sidecar(directory, exited(journal, 1 << 8)).close()
    found = {each.key: each for each in evidence(directory).non_finite}
    assert found.keys() == {"loss", "gain"}
    assert (found["loss"].value, found["loss"].step, found["loss"].is_last) == ("NaN", 100, True)
    assert (found["loss"].last_finite, found["loss"].last_finite_step) == (0.5, 99)
    assert (found["gain"].value, found["gain"].is_last) == ("Infinity", False)


def test_the_first_bad_value_is_looked_for_further_back(directory: Path) -> None:
    journal = program(directory).log(range(100), loss=0.5)
    journal.log(range(100, 8000), loss=float("nan")).close()
    sidecar(directory, exited(journal, 1 << 8)).close()
    [found] = evidence(directory).non_finite
    assert (found.step, found.last_finite_step) == (100, 99)


def test_the_stacks_of_the_last_fault_are_kept(directory: Path) -> None:
    journal = program(directory).close()
    sidecar(directory, exited(journal, int(signal.SIGSEGV))).close()
    faults = "Fatal Python error: Aborted\n\nold\n\nFatal Python error: Segmentation fault\n\n  File train.py\n"
    (directory / "faults.log").write_text(faults)
    assert evidence(directory).subject.fault_log == "Fatal Python error: Segmentation fault\n\n  File train.py\n"


def test_faults_of_an_earlier_attempt_are_not_this_ones(directory: Path) -> None:
    journal = program(directory).close()
    sidecar(directory, exited(journal, int(signal.SIGSEGV))).close()
    (directory / "faults.log").write_text("Fatal Python error: Aborted\n")
    os.utime(directory / "faults.log", ns=(0, BEGAN_NS - SECOND))
    assert evidence(directory).subject.fault_log == ""


def test_a_run_that_fell_silent_elsewhere_is_late_and_its_status_out_of_sight(directory: Path) -> None:
    Journal(directory, elsewhere()).say(named("otter")).log(range(3)).close()
    found = evidence(directory)
    assert (found.is_late, found.subject.is_alive, found.state) == (True, None, "crashed")
    assert "can't see from here" in found.unseen["exit-status"].because


def test_a_run_that_nobody_was_with_says_what_is_missing(directory: Path) -> None:
    program(directory).close()
    found = evidence(directory)
    assert found.unseen.keys() == {"exit-status", "samples"}
    assert found.subject.status is None


def test_a_program_that_lives_on_after_its_run_is_neither_dead_nor_alive(directory: Path) -> None:
    program(directory, Finished(at_ns=BEGAN_NS + SECOND, exit_code=3)).close()
    found = evidence(directory)
    assert (found.subject.is_alive, found.state, found.ended_ns) == (None, "failed", BEGAN_NS + SECOND)
