"""What the witnesses on the host say when programs really die, and what can still be learnt when nobody watched."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from holter.model.evidence import ALL_ASKED, Counters, Job, KernelLog, MemoryLevel, ProcessTable, Surroundings
from holter.model.records import ChildExited, Exited, Looked
from holter.probes.cgroups import find_chain
from holter.probes.postmortem.asking import look_again
from holter.probes.postmortem.connector import open_connector
from tests.e2e.programs import Program, only_run, said, sidecars, start, wait_until
from tests.zoo.users import become, uid_of_lane

MIB = 1 << 20
TRAINS = """
import os, time, holter
run = holter.init()
print(run.dir, flush=True)
while True: run.log({"a": 1}); time.sleep(0.01)
"""
EATS = """
import time
kept = []
while True: kept.append(bytearray(b"x" * 4_000_000)); time.sleep(0.005)
"""
TRAINS_AND_EATS = f"""
import holter
run = holter.init()
print(run.dir, flush=True)
from tests.e2e.seen import wait_for_looks; wait_for_looks(1)
{EATS}
"""
TRAINS_UNTIL_TOLD = """
import os, time, holter
run = holter.init()
print(run.dir, flush=True)
while not os.path.exists(os.environ["GO"]): time.sleep(0.02)
"""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: to make cgroups and to become others")


class SmallCgroup:
    """A real memory cgroup below that of the test."""

    def __init__(self, limit_bytes: int) -> None:
        chain = find_chain(os.getpid(), "memory")
        if not chain.directories or chain.is_unified:
            pytest.skip("not on this platform: needs the memory controller of cgroup v1")
        self.path = Path(chain.directories[0]) / f"holter-test-{uuid4().hex[:8]}"
        self.path.mkdir()
        (self.path / "memory.limit_in_bytes").write_text(str(limit_bytes))

    def enter(self) -> str:
        """Code with which a program enters it."""
        return f"open({str(self.path / 'cgroup.procs')!r}, 'w').write('0')\n"

    def close(self) -> None:
        wait_until(lambda: not (self.path / "cgroup.procs").read_text(), within_s=60)
        self.path.rmdir()


@pytest.fixture
def small() -> Iterator[SmallCgroup]:
    cgroup = SmallCgroup(150 * MIB)
    yield cgroup
    cgroup.close()


def started(source: str, **environment: str) -> tuple[Program, str]:
    """A program that runs, and its run's directory, once the sidecar has had a look at it."""
    program = start(source, **environment)
    return program, directory_of(program)


def directory_of(program: Program) -> str:
    assert program.stdout is not None
    directory = program.stdout.readline().strip()
    assert directory, program.communicate()[1]
    wait_until(lambda: looked(directory, "counters"))
    return directory


def looked(directory: str, source: str) -> list[Looked]:
    found = said(directory, Looked, writer="sidecar")
    return [record for record in found if isinstance(record, Looked) and record.source == source]


def await_answers(directory: str, within_s: float = 60) -> None:
    wait_until(lambda: looked(directory, ALL_ASKED), within_s=within_s)


def counters_at_the_end(directory: str, pid: int) -> Counters:
    found = [msgspec.convert(each.found, Counters) for each in looked(directory, "counters") if each.pid == pid]
    return [each for each in found if not each.is_first][-1]


def own_level(counters: Counters) -> MemoryLevel:
    return counters.levels[0]


def exit_of(directory: str) -> Exited:
    (exited,) = said(directory, Exited, writer="sidecar")
    assert isinstance(exited, Exited)
    return exited


@needs_root
def test_a_kill_for_memory_is_counted_where_it_happened_and_named_in_the_kernel_log(small: SmallCgroup) -> None:
    program, directory = started(small.enter() + TRAINS_AND_EATS)
    with program:
        assert program.wait(60) == -signal.SIGKILL
    await_answers(directory)
    own = own_level(counters_at_the_end(directory, program.pid))
    assert (own.kills, own.kills_lately, own.limit_bytes) == (1, 1, 150 * MIB)
    log = msgspec.convert(looked(directory, "kernel-log")[-1].found, KernelLog)
    (kill,) = [kill for kill in log.kills if kill.pid == program.pid]
    assert kill.constraint == "CONSTRAINT_MEMCG"
    assert kill.limited_cgroup == own.path
    table = msgspec.convert(looked(directory, "process-table")[-1].found, ProcessTable)
    (ours,) = [holder for holder in table.holders if holder.pid == program.pid]
    assert ours.is_ours
    assert ours.is_within
    assert ours.rss_bytes > 100 * MIB


def test_a_kill_by_hand_leaves_the_counters_alone_and_all_is_written_soon() -> None:
    program, directory = started(TRAINS)
    with program:
        program.kill()
    await_answers(directory)
    counters = counters_at_the_end(directory, program.pid)
    assert own_level(counters).kills == 0
    assert looked(directory, "process-table")
    surroundings = msgspec.convert(looked(directory, "surroundings")[-1].found, Surroundings)
    assert surroundings.open_files_limit is None or surroundings.open_files_limit > 0
    wait_until(lambda: not sidecars(directory), within_s=60)


@needs_root
def test_a_neighbour_that_is_killed_for_memory_does_not_count_as_ours(small: SmallCgroup) -> None:
    program, directory = started(TRAINS)
    with program:
        neighbour = subprocess.run([sys.executable, "-c", small.enter() + EATS], check=False)
        program.kill()
    assert neighbour.returncode == -signal.SIGKILL
    await_answers(directory)
    counters = counters_at_the_end(directory, program.pid)
    assert own_level(counters).kills == 0
    assert counters.host_kills is not None
    assert counters.host_kills >= 1


@needs_root
def test_a_child_that_is_killed_for_memory_is_asked_about_while_its_parent_lives(small: SmallCgroup) -> None:
    source = f"""
import subprocess, sys, time, holter
run = holter.init()
print(run.dir, flush=True)
subprocess.run([sys.executable, "-c", {small.enter() + "import time; time.sleep(3)" + EATS!r}])
while True: run.log({{"a": 1}}); time.sleep(0.01)
"""
    program, directory = started(source)
    with program:
        wait_until(lambda: looked(directory, "kernel-log"), within_s=60)
        (child,) = said(directory, ChildExited, writer="sidecar")
        program.kill()
    assert isinstance(child, ChildExited)
    assert child.status == signal.SIGKILL
    assert own_level(counters_at_the_end(directory, child.pid)).kills == 1
    await_answers(directory)
    assert own_level(counters_at_the_end(directory, program.pid)).kills == 0


def test_normal_ends_are_nobodys_business() -> None:
    source = "import holter\nrun = holter.init()\nrun.log({'a': 1})"
    with start(f"{source}\nfrom tests.e2e.seen import wait_for_looks; wait_for_looks(1)") as program:
        program.wait(60)
    wait_until(lambda: said(only_run().row.directory, Exited, writer="sidecar"))
    directory = only_run().row.directory
    wait_until(lambda: not sidecars(directory), within_s=60)
    assert {record.source for record in looked(directory, "counters")} == {"counters"}
    assert looked(directory, "kernel-log") == []
    assert looked(directory, ALL_ASKED) == []


def started_as_nobody(place: Path, without: str = "") -> tuple[Program, str]:
    """The program as an ordinary user, with a place for its runs."""
    uid = uid_of_lane(0)
    place.mkdir()
    os.chown(place, uid, uid)
    for parent in place.parents:
        if "pytest" in str(parent):
            parent.chmod(0o755)
    program = Program(
        [*become(uid), sys.executable, "-c", TRAINS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "HOLTER_QUIET": "1",
            "HOLTER_DIR": str(place),
            "HOLTER_WITHOUT": without,
            "HOME": str(place),
        },
    )
    return program, directory_of(program)


@needs_root
@pytest.mark.parametrize(
    ("without", "sources"),
    [
        ("", {"pidfd-info", "zombie-stat"}),
        ("pidfd-info", {"connector", "zombie-stat"}),
        ("pidfd-info,connector", {"zombie-stat", "gone"}),
    ],
    ids=["a new kernel", "with the connector", "an old kernel"],
)
def test_an_ordinary_user_learns_how_it_ended(tmp_path: Path, without: str, sources: set[str]) -> None:
    connector = open_connector()
    if connector is None:
        pytest.skip("not on this platform: the connector needs the first namespaces and, before Linux 6.6, root")
    connector.close()
    program, directory = started_as_nobody(tmp_path / "runs", without)
    with program:
        program.kill()
    await_answers(directory)
    exited = exit_of(directory)
    assert exited.source in sources
    assert exited.status == (None if exited.source == "gone" else signal.SIGKILL)


@needs_root
def test_with_the_connector_alone_the_status_is_heard_even_after_somebody_waited() -> None:
    program, directory = started(
        "import os, holter\nrun = holter.init()\nprint(run.dir, flush=True)\n"
        "from tests.e2e.seen import wait_until_seen; wait_until_seen(os.getpid())\nos._exit(7)",
        HOLTER_WITHOUT="pidfd-info",
    )
    with program:
        program.wait(30)
    wait_until(lambda: said(directory, Exited, writer="sidecar"))
    exited = exit_of(directory)
    assert exited.source in ("connector", "zombie-stat")
    assert exited.status is not None
    assert os.waitstatus_to_exitcode(exited.status) == 7


@needs_root
def test_an_ordinary_user_who_may_not_read_the_kernel_log_is_told_what_would_help(tmp_path: Path) -> None:
    if Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() != "1":
        pytest.skip("not on this platform: everybody may read the kernel log")
    program, directory = started_as_nobody(tmp_path / "runs")
    with program:
        program.kill()
    await_answers(directory)
    (log,) = looked(directory, "kernel-log")
    assert "can be read" in log.because
    assert "dmesg_restrict" in log.remedy


def test_the_kernel_log_can_be_done_without() -> None:
    program, directory = started(TRAINS, HOLTER_WITHOUT="kernel-log")
    with program:
        program.kill()
    await_answers(directory)
    (log,) = looked(directory, "kernel-log")
    assert "HOLTER_WITHOUT" in log.because


@needs_root
def test_what_a_killed_sidecar_could_not_ask_is_asked_later(small: SmallCgroup, tmp_path: Path) -> None:
    program, directory = started(small.enter() + TRAINS_UNTIL_TOLD + EATS, GO=str(tmp_path / "go"))
    with program:
        for sidecar in sidecars(directory):
            os.kill(sidecar, signal.SIGKILL)
        (tmp_path / "go").touch()
        assert program.wait(60) == -signal.SIGKILL
    # What the cgroup has counted goes with the cgroup: a mere listing writes it down, and has the cause of it.
    loaded = only_run()
    assert loaded.row.cause == "cgroup-out-of-memory"
    counters = msgspec.convert(loaded.said(Looked)[-1].found, Counters)
    assert own_level(counters).kills == 1
    answers = {record.source: record for record in look_again(loaded.digests, time.time_ns())}
    assert "counters" not in answers
    log = msgspec.convert(answers["kernel-log"].found, KernelLog)
    assert program.pid in [kill.pid for kill in log.kills]
    assert answers["host"].found["boot_id"] == answers["host"].found["boot_id_now"]


def test_who_has_answered_is_not_asked_again() -> None:
    program, directory = started(TRAINS)
    with program:
        program.kill()
    await_answers(directory)
    asked_again = {record.source for record in look_again(only_run().digests, time.time_ns())}
    assert asked_again <= {"host"}


def test_inside_a_job_it_is_written_down_which_one_and_a_scheduler_that_is_silent_delays_nothing() -> None:
    program, directory = started(TRAINS, SLURM_JOB_ID="7", SLURM_RESTART_COUNT="1", SLURM_CONF="/nowhere")
    with program:
        wait_until(lambda: looked(directory, "job"), within_s=60)
        program.kill()
    await_answers(directory)
    job = msgspec.convert(looked(directory, "job")[0].found, Job)
    assert (job.scheduler, job.job, job.restarts, job.state) == ("slurm", "7", 1, "")
    assert exit_of(directory).status == signal.SIGKILL
