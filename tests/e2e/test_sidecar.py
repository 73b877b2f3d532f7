"""The process that watches: what it sees, what it survives, and when it leaves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holter.catalog.catalog import Catalog
from holter.model.records import Beat, Exited, Facts, Finished, Opened
from tests.e2e.programs import data_directory, only_run, rows, run, said, sidecars, start, wait_until

CAP_SYS_RESOURCE = 24
LOGS_FOR_EVER = """
import time, holter
run = holter.init()
print(run.dir, flush=True)
i = 0
while True:
    run.log({"i": i}); i += 1; time.sleep(0.002)
"""


def first_line(program: subprocess.Popen[str]) -> str:
    assert program.stdout is not None
    return program.stdout.readline().strip()


def test_it_samples_the_process_and_the_host_every_second_and_beats() -> None:
    run(
        """
        import holter
        from tests.e2e.seen import wait_for_looks
        ballast = bytearray(50_000_000)
        with holter.init() as run:
            run.log({"i": 1})
            wait_for_looks(4)
        """
    )
    directory = only_run().row.directory
    samples = rows(directory, writer="sidecar")
    lasted_s = (samples[-1].at_ns - samples[0].at_ns) / 1e9
    assert 4 <= len(samples) <= lasted_s + 2.5  # the first and the last come when the run begins and ends
    newest = samples[-1].values
    assert newest["system/process/rss_bytes"] > 50_000_000
    assert newest["system/host/memory_total_bytes"] > newest["system/host/memory_available_bytes"] > 0
    assert newest["system/disk/run/free_bytes"] > 0
    groups = {key.split("/")[1] for key in newest}
    assert {"process", "host", "psi", "disk", "network", "cgroup"} <= groups
    beats = said(directory, Beat, writer="sidecar")
    assert beats
    (facts,) = said(directory, Facts, writer="sidecar")
    assert isinstance(facts, Facts)
    assert facts.facts["python"]


def test_it_lives_in_its_own_session_and_directory_and_is_nobodys_child() -> None:
    with start(LOGS_FOR_EVER) as program:
        directory = first_line(program)
        wait_until(lambda: list(Path(directory).glob("sidecar-*.lock")))
        (sidecar,) = sidecars(directory)
        stat = Path(f"/proc/{sidecar}/stat").read_text().rpartition(")")[2].split()
        parent, session = int(stat[1]), int(stat[3])
        directory_of_it = os.readlink(f"/proc/{sidecar}/cwd")
        choice = int(Path(f"/proc/{sidecar}/oom_score_adj").read_text())
        programs_own = {os.readlink(f"/proc/{program.pid}/fd/{number}") for number in (1, 2)}
        descriptors = {os.readlink(link) for link in Path(f"/proc/{sidecar}/fd").iterdir() if os.path.islink(link)}
        program.kill()
    assert parent != program.pid
    assert session != os.getsid(0)
    assert directory_of_it == "/"
    # Where memory is freed it must not go with the program, as far as we may ask for that.
    assert choice == (-1000 if _may_set_limits() else int(Path("/proc/self/oom_score_adj").read_text()))
    # It would keep `python train.py | tee log` waiting for the end of its input.
    assert not programs_own & descriptors


def _may_set_limits() -> bool:
    [capabilities] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff")]
    return bool(int(capabilities.split()[1], 16) & 1 << CAP_SYS_RESOURCE)


def test_signals_to_the_whole_group_do_not_end_it_before_the_program() -> None:
    with start(LOGS_FOR_EVER) as program:
        directory = first_line(program)
        wait_until(lambda: list(Path(directory).glob("sidecar-*.lock")))
        (sidecar,) = sidecars(directory)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(sidecar, number)
        time.sleep(0.2)
        assert sidecars(directory) == [sidecar]
        program.kill()
    assert only_run().outcome.status == signal.SIGKILL


def test_it_leaves_soon_after_the_program_died() -> None:
    run("import os, holter\nrun = holter.init()\nrun.log({'a': 1})\nos.kill(os.getpid(), 9)")
    assert only_run().row.state == "crashed"
    wait_until(lambda: not sidecars(str(data_directory())), within_s=60)


def test_it_leaves_a_living_program_whose_run_has_ended_five_seconds_later_under_a_scheduler() -> None:
    with start(
        "import time, holter\nwith holter.init() as run: run.log({'a': 1})\nprint('done', flush=True)\ntime.sleep(100)",
        SLURM_JOB_ID="7",
    ) as program:
        first_line(program)
        wait_until(lambda: not sidecars(str(data_directory())), within_s=60)
        assert program.poll() is None
        gone_ns = time.time_ns()
        program.kill()
    (ended,) = said(only_run().row.directory, Finished)
    assert gone_ns - ended.at_ns > 4e9


def test_runs_one_after_the_other_share_one_sidecar() -> None:
    with start(
        """
        import time, holter
        for i in range(3):
            with holter.init() as run:
                run.log({"i": i}); time.sleep(0.4)
        print("done", flush=True); time.sleep(10)
        """
    ) as program:
        first_line(program)
        pids = sidecars(str(data_directory()))
        program.kill()
    rows = Catalog(str(data_directory())).rows()
    writers = {pid for row in rows for pid in sidecar_pids(row.directory)}
    assert len(rows) == 3
    assert writers == set(pids)
    assert len(pids) == 1


def sidecar_pids(directory: str) -> set[int]:
    return {record.pid for record in said(directory, Opened, writer="sidecar") if isinstance(record, Opened)}


def test_ranks_on_one_host_share_one_sidecar_and_one_run(tmp_path: Path) -> None:
    source = """
    import os, time, holter
    run = holter.init()
    run.log({"rank": int(os.environ["RANK"])})
    print("logged", flush=True)
    while not os.path.exists(os.environ["MAY_END"]): time.sleep(0.05)
    """
    may_end = tmp_path / "may end"
    ranks = [start(source, RANK=str(rank), HOLTER_RUN_ID="shared", MAY_END=str(may_end)) for rank in range(3)]
    directory = str(data_directory() / "runs" / "shared")
    for rank in ranks:
        first_line(rank)
    wait_until(lambda: len(sidecars(directory)) == 1)  # those of the others have handed over and left
    may_end.touch()
    for rank in ranks:
        assert rank.wait(60) == 0
        rank.communicate()
    loaded = only_run()
    assert (loaded.row.state, loaded.row.rows, loaded.row.attempt) == ("finished", 3, 1)
    assert sorted(row.values["rank"] for row in rows(directory)) == [0, 1, 2]
    assert len(loaded.said(Exited)) == 3


def test_the_death_of_any_rank_is_the_runs_death(tmp_path: Path) -> None:
    source = """
    import os, time, holter
    run = holter.init()
    print("begun", flush=True)
    while not os.path.exists(os.environ["GO"]): time.sleep(0.02)
    """
    go = tmp_path / "go"
    ranks = [start(source, RANK=str(rank), HOLTER_RUN_ID="shared", GO=str(go)) for rank in range(2)]
    for rank in ranks:
        first_line(rank)
    ranks[1].kill()
    wait_until(lambda: [record.pid for record in only_run().said(Exited)] == [ranks[1].pid])
    go.touch()
    for rank in ranks:
        rank.communicate(timeout=60)
    loaded = only_run()
    assert (loaded.row.state, loaded.outcome.status) == ("crashed", signal.SIGKILL)


def test_a_later_command_completes_what_a_dead_sidecar_could_not_write() -> None:
    with start(LOGS_FOR_EVER) as program:
        directory = first_line(program)
        wait_until(lambda: len(list(Path(directory).glob("*.seg"))) == 2)
        (sidecar,) = sidecars(directory)
        os.kill(sidecar, signal.SIGKILL)
        program.kill()
    loaded = only_run()
    assert loaded.row.state == "crashed"
    assert [record.source for record in loaded.said(Exited)] == ["gone"]
    found = [row.values["i"] for row in rows(directory)]
    assert found == list(range(len(found)))
    # The reserved space of the dead is given back.
    assert max(path.stat().st_size for path in Path(directory).glob("*.seg")) < 200_000


def test_a_program_goes_on_and_finishes_when_its_sidecar_is_killed() -> None:
    with start(
        """
        import time, holter
        with holter.init() as run:
            print(run.dir, flush=True)
            for i in range(100): run.log({"i": i}); time.sleep(0.01)
        """
    ) as program:
        directory = first_line(program)
        wait_until(lambda: sidecars(directory))
        os.kill(sidecars(directory)[0], signal.SIGKILL)
        _, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (0, "")
    loaded = only_run()
    assert (loaded.row.state, loaded.row.rows) == ("finished", 100)


def test_a_stopped_sidecar_does_not_keep_a_dead_run_running() -> None:
    with start(LOGS_FOR_EVER) as program:
        directory = first_line(program)
        wait_until(lambda: len(list(Path(directory).glob("*.seg"))) == 2)
        (sidecar,) = sidecars(directory)
        os.kill(sidecar, signal.SIGSTOP)
        program.kill()
    try:
        assert only_run(patience_s=1.0).row.state == "crashed"
    finally:
        os.kill(sidecar, signal.SIGCONT)
    # Awake again it adds what only it could know.
    wait_until(lambda: only_run().outcome.status == signal.SIGKILL)


def test_it_is_started_by_the_client_only() -> None:
    done = subprocess.run([sys.executable, "-m", "holter.sidecar"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("holter: the sidecar is started by holter.init()")


def test_a_program_without_any_privilege_is_recorded_all_the_same() -> None:
    if os.geteuid() != 0:
        pytest.skip("not on this platform: every other test already ran without privileges")
    drop = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
    source = "import os, holter\nrun = holter.init()\nrun.log({'a': 1})\nos.kill(os.getpid(), 9)"
    done = subprocess.run([*drop, sys.executable, "-c", source], check=False)
    assert done.returncode == -signal.SIGKILL
    loaded = only_run()
    assert (loaded.row.state, loaded.outcome.status) == ("crashed", signal.SIGKILL)
