"""Each guard on invented moments: what it says, and of what it is silent."""

import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from holter.guards.growth import Growth
from holter.guards.limits import Limits
from holter.guards.patrol import guard_ids, in_short
from holter.guards.progress import Progress
from holter.guards.seen import Caution, Death, GpuHolder, Member, Neighbour, Seen, Standing
from holter.model.quota import Quota
from holter.model.warning_records import Noticed

GIB, MIB = 1 << 30, 1 << 20
NAN = float("nan")

Row = Callable[[int], Mapping[str, float]]


def watch(guard: str, row: Row, seconds: int, *, every: int = 1, **more: Any) -> list[tuple[int, str]]:
    """What a guard says of a run that logs twice a second."""
    check = importlib.import_module(f"holter.guards.checks.{guard.replace('-', '_')}").open_check(Limits())
    progress = Progress()
    said = []
    for at in range(0, seconds, every):
        progress.advance(float(at), rows=2 * every, step=2 * at)
        seen = Seen(now_s=float(at), now_ns=at * 10**9, row=row(at), progress=progress, **more)
        said += [(at, each.text) for each in check.look(seen)]
    return said


def steady(values: Mapping[str, float]) -> Row:
    return lambda at: values


def test_every_guard_says_in_a_sentence_what_it_sees() -> None:
    assert all(20 < len(in_short(guard)) < 140 for guard in guard_ids())


@pytest.mark.parametrize("guard", guard_ids())
def test_a_guard_that_sees_nothing_says_nothing(guard: str) -> None:
    assert watch(guard, steady({}), 200, every=10) == []


def test_a_dead_worker_is_named_with_its_cause() -> None:
    death = Death(pid=77, name="pt_data_worker", how="killed by SIGKILL", why="Linux ended it")
    [(_, text)] = watch("workers", steady({}), 1, deaths=[death])
    assert text == "worker 77 (pt_data_worker) died, killed by SIGKILL: Linux ended it"


class Log:
    """A run that logs when it is told to."""

    def __init__(self, guard: str) -> None:
        self.check = importlib.import_module(f"holter.guards.checks.{guard}").open_check(Limits())
        self.progress = Progress()

    def row(self, at_s: float, step: int, **values: float) -> list[str]:
        bad = self.progress.take(values, step, at_s)
        self.progress.advance(at_s, rows=1, step=step)
        return self.look(at_s, bad=bad)

    def look(self, at_s: float, **more: Any) -> list[str]:
        seen = Seen(now_s=at_s, now_ns=int(at_s * 1e9), row={}, progress=self.progress, **more)
        return [each.text for each in self.check.look(seen)]


def test_the_first_step_of_a_nan_is_told_once_with_all_metrics() -> None:
    run = Log("divergence")
    assert [run.row(at, at, loss=1.0, norm=2.0) for at in range(5)] == [[]] * 5
    assert run.row(5, 5, loss=NAN, norm=math.inf) == ["loss, norm became NaN at step 5"]
    assert run.row(6, 6, loss=NAN, norm=math.inf) == []


def test_a_metric_that_never_was_a_number_is_none() -> None:
    run = Log("divergence")
    assert [run.row(at, at, accuracy=NAN) for at in range(5)] == [[]] * 5


def test_an_exploding_loss_is_told_and_noise_is_not() -> None:
    run = Log("divergence")
    for at in range(100):
        assert run.row(at, at, loss=1.0 + at % 3) == []
    [text] = run.row(100, 100, loss=900.0)
    assert text.startswith("loss explodes: 900 at step 100, usually ")


def test_a_scaler_is_spoken_of_at_its_smallest_scale_only() -> None:
    run = Log("divergence")
    assert [run.row(at, at, grad_scale=65536 / 2**at) for at in range(16)] == [[]] * 16
    assert run.row(16, 16, grad_scale=1.0) != []


def silent_for(silent_s: float, standing: Standing | None = None) -> list[str]:
    run = Log("stall")
    for at in range(100):
        run.row(float(at), at)
    return run.look(99 + silent_s, standing=standing)


def test_a_scaler_that_skips_step_after_step_is_told() -> None:
    run, said = Log("divergence"), []
    scales = [2.0**16, 2.0**15, 2.0**14, 2.0**15, *(2.0**power for power in range(15, 5, -1))]
    for at, scale in enumerate(scales):
        said += [(at, text) for text in run.row(at, at, grad_scale=scale)]
    assert said[0] == (12, "grad_scale was halved 8 times in a row, to 128: as many steps were skipped")


def deep_model(factor: float) -> list[list[str]]:
    """What is said of nine layers, each of which gets so much of the gradient of the next, row by row."""
    run = Log("divergence")
    norms = {f"gradients/{layer}.weight/norm": 0.1 * factor ** (8 - layer) for layer in range(9)}
    biases = {f"gradients/{layer}.bias/norm": 0.0 for layer in range(9)}
    return [run.row(float(step), step, **norms, **biases) for step in range(6)]


def test_gradients_that_vanish_are_told_after_some_rows() -> None:
    text = "gradients vanish on their way back: 7.8e-11 in the first layers, 5.0e-03 in the last"
    assert deep_model(0.05) == [[], [], [], [], [text], [text]]


def test_gradients_that_become_smaller_are_none_that_vanish() -> None:
    assert deep_model(0.3) == [[]] * 6


def test_a_run_that_stands_still_is_told_with_what_it_waits_for() -> None:
    stack = (
        "thread MainThread:\n  /lib/python3.11/threading.py:320 wait\n  train.py:12 forward\nthread 7:\n  io.py:1 go"
    )
    [text] = silent_for(90, Standing(pid=5, kind="deadlock", stack=stack))
    assert text == "no row for 90 s, usually one every 1.0 s: its main thread waits for a lock (train.py:12 forward)"


def test_the_rank_that_the_others_wait_for_is_named() -> None:
    behind = Standing(pid=8, kind="busy", stack="thread MainThread:\n  data.py:7 shuffle")
    waiting = Standing(pid=5, kind="collective", ranks=((2, behind),))
    [text] = silent_for(90, waiting)
    assert text.endswith(
        ": the other ranks wait for rank 2 (process 8): it computes without logging (data.py:7 shuffle)"
    )


def test_a_pause_of_less_than_a_minute_is_no_stall_unless_it_was_stopped() -> None:
    assert silent_for(45) == []
    assert "SIGSTOP" in silent_for(45, Standing(pid=5, kind="stopped"))[0]


def test_pauses_as_long_as_earlier_phases_are_no_stall() -> None:
    run = Log("stall")
    for at in range(50):
        run.row(float(at), at)
    run.row(150.0, 50)  # a validation
    for at in range(50):
        run.row(150.0 + at, 51 + at)
    assert run.look(199 + 250.0) == []
    assert run.look(199 + 310.0) != []


def test_a_notebook_in_which_no_cell_runs_stands_not_still() -> None:
    run = Log("stall")
    for at in range(100):
        run.row(float(at), at)
    run.progress.rest(100.0, is_over=False)
    assert run.look(9000.0) == []
    run.progress.rest(9001.0, is_over=True)
    assert run.look(9050.0) == []
    assert run.look(9200.0) != []


def test_nobody_knows_how_often_a_run_logs_that_has_just_begun() -> None:
    run = Log("stall")
    run.row(0.0, 0)
    assert run.look(3600.0) == []


def test_steps_that_become_slower_are_told_with_what_changed() -> None:
    check = importlib.import_module("holter.guards.checks.slower_steps").open_check(Limits())
    progress, said, step = Progress(), [], 0
    for at in range(1200):
        if at < 600 or at % 3 == 0:
            step += 1
            progress.advance(float(at), rows=1, step=step)
        row = {"system/psi/cpu_some_avg10": 2.0 if at < 600 else 70.0}
        said += [each.text for each in check.look(Seen(now_s=float(at), now_ns=at, row=row, progress=progress))]
    assert said[0].startswith("steps take ")
    assert "waiting for CPU: 70 % of the time, 2 before" in said[-1]


def test_a_leak_is_told_long_before_memory_is_full() -> None:
    said = watch("leak", lambda at: {"system/process/anon_bytes": GIB + at * MIB}, 1500, every=3)
    assert said[0][0] >= 600
    assert said[0][1].startswith("memory leaks in the program: ")
    assert watch("leak", lambda at: {"system/process/anon_bytes": GIB + min(at, 300) * MIB}, 1500, every=3) == []


def test_thrashing_needs_two_signs() -> None:
    def row(at: int) -> Mapping[str, float]:
        return {"system/psi/memory_full_avg10": 40.0, "system/process/major_faults": at * 2000.0}

    assert "everything waits for memory 40 % of the time" in watch("thrash", row, 60)[0][1]
    assert watch("thrash", steady({"system/psi/memory_full_avg10": 40.0}), 60) == []


@pytest.mark.parametrize(
    ("ran", "waited", "threads", "text"),
    [
        (0.3, 0.6, 12, "the main thread waits for a core 67 % of the time that it wants to run"),
        (0.3, 0.6, 64, "; the run itself has 64 threads for 4 cores"),
        (0.8, 0.2, 64, ""),
        (0.02, 0.1, 64, ""),
    ],
)
def test_a_loop_that_gets_no_core_is_told_after_a_minute(ran: float, waited: float, threads: int, text: str) -> None:
    check = importlib.import_module("holter.guards.checks.thrash").open_check(Limits())
    member = Member(
        pid=5, name="", rss_bytes=0, own_bytes=0, state="R", cpu_ticks=0, threads=threads, open_files=0, is_root=True
    )
    said = []
    for at in range(150):
        seen = Seen(
            now_s=float(at),
            now_ns=at * 10**9,
            row={},
            progress=Progress(),
            members={5: member},
            facts={"cores": 4},
            ran_s=ran * at,
            waited_s=waited * at,
        )
        said += [(at, each.text) for each in check.look(seen)]
    assert bool(said) == bool(text)
    if said:
        assert 60 <= said[0][0] <= 70
        assert text in said[0][1]


def test_a_neighbour_is_named_where_memory_is_short() -> None:
    host = {"system/host/memory_total_bytes": 64.0 * GIB, "system/host/memory_available_bytes": 2.0 * GIB}
    hog = Neighbour(pid=9, name="matlab", owner="ada", bytes=40.0 * GIB)
    [(_, text)] = watch("thrash", steady(host), 1, neighbours=[hog])
    assert text == "process 9 (matlab) of ada holds 40.0 GiB of the machine's 64.0 GiB"


def disk(free: Callable[[int], float], inodes: float = 1e6) -> Row:
    return lambda at: {
        "system/disk/run/free_bytes": free(at),
        "system/disk/run/total_bytes": 100.0 * GIB,
        "system/disk/run/free_inodes": inodes,
    }


def test_a_disk_that_fills_is_told_with_its_time() -> None:
    said = watch("disk", disk(lambda at: 20 * GIB - at * 20 * MIB), 700)
    assert said[0][1].startswith("the disk where the run is kept will be full in about ")
    assert watch("disk", disk(lambda at: 20.0 * GIB), 700, every=5) == []


def test_the_next_checkpoint_that_does_not_fit_is_told() -> None:
    said = watch("disk", disk(lambda at: 12 * GIB - at // 300 * 5 * GIB), 900, every=2)
    assert "the next checkpoint will not fit: 2.0 GiB left" in said[-1][1]


def test_few_inodes_are_told() -> None:
    assert "has 12 inodes left" in watch("disk", disk(lambda at: 20.0 * GIB, 12.0), 20)[0][1]


def quota(free: float, *, group: str = "", inodes: float = NAN) -> Quota:
    return Quota(path="/data", group=group, total_bytes=50.0 * GIB, free_bytes=free, free_inodes=inodes)


def watch_quota(free: Callable[[int], float], seconds: int, **more: Any) -> list[tuple[int, Caution]]:
    """What is said of a disk with 20 GiB left, of which a user may have so much."""
    check = importlib.import_module("holter.guards.checks.disk").open_check(Limits())
    said = []
    for at in range(0, seconds, 2):
        quotas = {"run": [quota(free(at), **more)], "cwd": [quota(free(at), **more)]}
        row = disk(lambda at: 20.0 * GIB)(at)
        seen = Seen(now_s=float(at), now_ns=at * 10**9, row=row, progress=Progress(), quotas=quotas)
        said += [(at, each) for each in check.look(seen)]
    return said


def test_a_quota_that_is_nearly_used_up_is_told_once_as_such_with_who_helps() -> None:
    said = [each for at, each in watch_quota(lambda at: 100.0 * MIB, 12)]
    assert [each.text for each in said] == ["your quota on /data (50.0 GiB) has 100 MiB left"]
    assert said[0].advice[0].startswith("delete old checkpoints, caches and environments of yours anywhere on /data")
    assert said[0].advice[1].startswith("ask who runs this machine for a larger quota")
    assert watch_quota(lambda at: 5.0 * GIB, 600) == []


def test_the_quota_of_a_group_names_it() -> None:
    [(_, said)] = watch_quota(lambda at: 5.0 * GIB, 12, group="vision", inodes=12.0)
    assert said.text == "the quota of group vision on /data (50.0 GiB) has 12 inodes left"
    assert "yours and others of group vision" in said.advice[0]


def test_a_quota_that_fills_is_told_with_its_time_and_no_curve_of_the_disk() -> None:
    at, said = watch_quota(lambda at: 10 * GIB - at * 10 * MIB, 700)[0]
    assert said.text.startswith("your quota on /data (50.0 GiB) will be used up in about ")
    assert said.eta_s == pytest.approx((10 * GIB - at * 10 * MIB) / (10 * MIB), rel=0.1)
    assert "series" not in said.figures


def test_the_next_checkpoint_that_a_quota_does_not_allow_is_told() -> None:
    texts = [each.text for _, each in watch_quota(lambda at: 12 * GIB - at // 300 * 5 * GIB, 900)]
    assert texts[-1].startswith("the next checkpoint will not fit: 2.0 GiB left of your quota on /data (50.0 GiB)")


def test_files_and_tasks_near_their_limits_are_told() -> None:
    member = Member(pid=4, name="python", rss_bytes=1, own_bytes=1, state="S", cpu_ticks=0, threads=2, open_files=1000)
    row = steady({"system/cgroup/pids_current": 95.0, "system/cgroup/pids_max": 100.0})
    said = watch("near-limits", row, 1, members={4: member}, facts={"files_limit": 1024})
    assert [text for _, text in said] == [
        "process 4 has 1,000 files open, it may have 1,024",
        "there are 95 processes and threads, the container may have 100",
    ]


def gpu(**values: float) -> Row:
    usual = {
        "memory_used_bytes": 10.0 * GIB,
        "memory_total_bytes": 80.0 * GIB,
        "tree_memory_bytes": 10.0 * GIB,
        "other_processes": 0.0,
        "utilization_percent": 90.0,
        "temperature_celsius": 60.0,
        "clocks_event_reasons": 4.0,
        "ecc_uncorrected": 0.0,
        "is_lost": 0.0,
    }
    return steady({f"system/gpu/0/{name}": value for name, value in (usual | values).items()})


@pytest.mark.parametrize("guard", ["gpu-health", "gpu-use"])
def test_a_gpu_at_work_is_fine_also_at_its_power_cap(guard: str) -> None:
    assert watch(guard, gpu(), 300) == []


@pytest.mark.parametrize(
    ("guard", "values", "text"),
    [
        ("gpu-health", {"temperature_celsius": 91.0}, "GPU 0 is at 91 °C"),
        ("gpu-health", {"clocks_event_reasons": 0x24}, "GPU 0 runs slower: heat"),
        ("gpu-health", {"is_lost": 1.0}, "the driver has lost GPU 0"),
        (
            "gpu-use",
            {"other_processes": 2.0, "memory_used_bytes": 50.0 * GIB},
            "GPU 0 is shared: 40.0 GiB of its 80.0 GiB are held by 2 other processes",
        ),
        ("gpu-use", {"utilization_percent": 1.0}, "GPU 0 is idle (at most 5 % for two minutes), it waits for data"),
    ],
)
def test_what_is_wrong_with_a_gpu_is_told(guard: str, values: dict[str, float], text: str) -> None:
    assert watch(guard, gpu(**values), 300)[0][1] == text


def test_memory_errors_of_a_gpu_count_from_the_beginning_of_the_run() -> None:
    said = watch("gpu-health", lambda at: gpu(ecc_uncorrected=7.0 if at < 10 else 9.0)(at), 20)
    assert said[0] == (10, "GPU 0 had 2 uncorrected memory errors since the run began")


def others(*held: GpuHolder) -> dict[int, list[GpuHolder]]:
    return {0: [*held]}


COLLEAGUE = GpuHolder(pid=47, name="python", owner="ada", bytes=60.0 * GIB)
NOTEBOOK = GpuHolder(pid=48, name="python", owner="eve", bytes=0.5 * GIB, run="fast-owl")
LEFT = GpuHolder(pid=49, name="python", owner="eve", bytes=20.0 * GIB, run="old-owl", is_left_over=True)


@pytest.mark.parametrize(
    ("holder", "who"),
    [
        (COLLEAGUE, "60.0 GiB of its 80.0 GiB by process 47 (python of ada)"),
        (NOTEBOOK, "512 MiB of its 80.0 GiB by process 48 (python of eve, run fast-owl)"),
        (LEFT, "20.0 GiB of its 80.0 GiB by process 49 (python of eve, left over from old-owl)"),
    ],
)
def test_who_is_on_a_gpu_is_said_when_a_run_begins_which_uses_none_yet(holder: GpuHolder, who: str) -> None:
    said = watch("gpu-use", gpu(tree_memory_bytes=0.0), 60, gpu_others=others(holder))
    assert said == [(0, f"GPU 0 is taken already: {who}")]


def test_a_process_that_has_little_of_a_gpu_is_no_news() -> None:
    small = GpuHolder(pid=50, name="Xorg", owner="root", bytes=0.3 * GIB)
    assert watch("gpu-use", gpu(tree_memory_bytes=0.0), 60, gpu_others=others(small)) == []


def test_who_shares_a_gpu_is_named() -> None:
    row = gpu(memory_used_bytes=70.0 * GIB, other_processes=1.0)
    texts = [text for _, text in watch("gpu-use", row, 60, gpu_others=others(COLLEAGUE))]
    assert texts[-1] == "GPU 0 is shared: 60.0 GiB of its 80.0 GiB are held by process 47 (python of ada)"


def test_a_library_that_takes_the_whole_gpu_is_recognised() -> None:
    row = gpu(tree_memory_bytes=60.0 * GIB, memory_used_bytes=60.0 * GIB)
    said = watch("gpu-use", row, 3, takes_whole_gpu="JAX")
    assert said[0][1] == "JAX has taken 60.0 GiB of GPU 0's 80.0 GiB at once, whatever it needs of it"
    assert watch("gpu-use", row, 3) == []


HABITS = [
    (
        Noticed(at_ns=1, habit="gc-collect", where="train.py:7 in step()", times=10, took_s=0.05, share=0.25),
        "gc.collect() (train.py:7 in step()) is called in each step and takes 50 ms, 25 % of the time",
    ),
    (
        Noticed(at_ns=1, habit="clear-session", times=3),
        (
            "clear_session() was called 3 times while the same models are trained: what they hold stays, and each call"
            " makes Keras trace its functions anew"
        ),
    ),
    (
        Noticed(at_ns=1, habit="eager-loop", where="train.py:9", times=20),
        "the training step (train.py:9) runs eagerly, one operation of TensorFlow after the other",
    ),
    (
        Noticed(at_ns=1, habit="forked-gpu"),
        "a process was forked after TensorFlow had taken a GPU: it hangs as soon as it uses it",
    ),
    (
        Noticed(at_ns=1, habit="commit-false", what="loss", times=10, step=1000),
        "log(…, commit=False) wrote loss 10 times at step 1,000: each replaced the one before",
    ),
    (
        Noticed(at_ns=1, habit="array-on-gpu", what="images (8.0 GiB)", share=0.5),
        "images (8.0 GiB) lies on the GPU as a whole, 50 % of its memory",
    ),
]


@pytest.mark.parametrize(("noticed", "text"), HABITS, ids=[each.habit for each, _ in HABITS])
def test_a_habit_is_told_once_however_often_it_is_noticed(noticed: Noticed, text: str) -> None:
    assert watch("habits", steady({}), 3, noticed=[noticed]) == [(0, text)]


def growth(*moments: tuple[float, float, float]) -> str:
    """Where it grows: of the program, and of each of four workers what Linux counts and what only they have."""
    found = Growth()
    for number, (program, own, private) in enumerate(moments):
        root = member(1, program, is_root=True)
        workers = {pid: member(pid, own, private) for pid in range(2, 6)}
        at_s = 60.0 * number
        found.take(Seen(now_s=at_s, now_ns=0, row={}, progress=Progress(), members={1: root, **workers}))
    return found.where(0.0)


def member(pid: int, own: float, private: float = NAN, *, is_root: bool = False) -> Member:
    return Member(
        pid=pid,
        name="",
        rss_bytes=own,
        own_bytes=own,
        private_bytes=private,
        state="S",
        cpu_ticks=0,
        threads=1,
        open_files=1.0,
        is_root=is_root,
    )


@pytest.mark.parametrize(
    ("moments", "where"),
    [
        (((4 * GIB, GIB, 0.0), (5 * GIB, GIB, 0.0)), "the program"),
        (((4 * GIB, GIB, 0.0), (4 * GIB, 2 * GIB, GIB)), "4 workers, 2.0 GiB each"),
        (
            ((4 * GIB, GIB, 0.0), (4 * GIB, GIB, GIB)),
            "4 workers, which copy what they share with the program, 1.0 GiB each",
        ),
        (((4 * GIB, GIB, NAN), (4 * GIB, GIB, NAN)), ""),
    ],
    ids=["program", "workers", "copies", "unknown"],
)
def test_it_is_told_where_memory_grows_also_where_workers_copy_what_they_share(
    moments: tuple[tuple[float, float, float], ...], where: str
) -> None:
    assert growth(*moments) == where
