"""What a training program gets from the client, and what it never notices."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from holter.catalog.read.damage import find_damage
from holter.model.records import Alerted, Configured, Finished, Flushed, Lost, Noted, Raised, Signalled
from tests.e2e.programs import data_directory, only_run, records, rows, run, said, sidecars, start, wait_until


def values(key: str) -> list[Any]:
    return [row.values[key] for row in rows(only_run().row.directory) if key in row.values]


def test_every_row_that_log_returned_for_survives_sigkill() -> None:
    program = run(
        """
        import os, signal, holter
        run = holter.init(project="mnist", config={"lr": 3e-4})
        for step in range(1000):
            run.log({"train/loss": 1 / (step + 1), "train/acc": step}, step=step)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    assert program.returncode == -signal.SIGKILL
    loaded = only_run()
    assert [row.step for row in rows(loaded.row.directory)] == list(range(1000))
    assert loaded.row.state == "crashed"
    assert loaded.outcome.status == signal.SIGKILL
    assert loaded.row.config == {"lr": 3e-4}
    assert loaded.row.summary == {"train/loss": 0.001, "train/acc": 999}


def test_a_death_right_after_init_is_seen_with_its_exit_status() -> None:
    run("import os, signal, holter; holter.init(); os.kill(os.getpid(), signal.SIGKILL)")
    loaded = only_run()
    assert (loaded.row.state, loaded.outcome.status) == ("crashed", signal.SIGKILL)
    assert loaded.outcome.source in ("pidfd-info", "zombie-stat")


@pytest.mark.parametrize(
    ("end", "state", "status"),
    [
        ("", "finished", 0),
        ("holter.finish()", "finished", 0),
        ("holter.finish(exit_code=3)", "failed", 0),
        ("raise ValueError('no')", "failed", 1 << 8),
        ("import sys; sys.exit(3)", "failed", 3 << 8),
        ("import sys; sys.exit('text')", "failed", 1 << 8),
        ("os._exit(0)", "finished", 0),
        ("os._exit(4)", "failed", 4 << 8),
        ("os.kill(os.getpid(), 15)", "crashed", 15),
        ("os.kill(os.getpid(), 2); import time; time.sleep(5)", "failed", 2),
        ("import ctypes; ctypes.string_at(0)", "crashed", 11),
        ("holter.mark_preempting(); os.kill(os.getpid(), 15)", "preempted", 15),
    ],
)
def test_the_state_says_how_the_program_ended(end: str, state: str, status: int) -> None:
    run(f"import os, holter\nholter.init()\nholter.log({{'a': 1}})\n{end}")
    loaded = only_run()
    assert loaded.row.state == state
    if "finish(" in end:
        assert loaded.outcome.status is None  # the program said it itself; nobody waited for its exit
    else:
        assert loaded.outcome.status is not None
        assert loaded.outcome.status & ~0x80 == status  # less the bit for a core dump


def test_a_context_manager_ends_the_run_and_tells_an_error_from_success() -> None:
    run("import holter\nwith holter.init() as run: run.log({'a': 1})")
    assert only_run().row.state == "finished"


def test_an_exception_in_the_block_fails_the_run_and_is_kept() -> None:
    program = run("import holter\nwith holter.init() as run: 1 / 0")
    loaded = only_run()
    assert (loaded.row.state, program.returncode) == ("failed", 1)
    (raised,) = loaded.said(Raised)
    assert (raised.type, raised.message) == ("ZeroDivisionError", "division by zero")
    assert "1 / 0" in raised.traceback or "ZeroDivisionError" in raised.traceback


def test_a_program_that_handles_sigterm_and_leaves_is_crashed() -> None:
    run(
        """
        import os, signal, sys, holter
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        holter.init()
        os.kill(os.getpid(), signal.SIGTERM)
        """
    )
    loaded = only_run()
    assert loaded.row.state == "crashed"
    assert [record.signal for record in loaded.said(Signalled)] == [15]


def test_commit_false_adds_to_the_current_step_and_is_kept_at_once() -> None:
    run(
        """
        import os, holter
        holter.init()
        holter.log({"a": 1}, commit=False)
        holter.log({"b": 2})
        holter.log({"c": 3}, step=10)
        holter.log({"d": 4})
        holter.log({"e": 5}, commit=False)
        os._exit(0)
        """
    )
    found = [(row.step, row.values) for row in rows(only_run().row.directory)]
    assert found == [(0, {"a": 1}), (0, {"b": 2}), (10, {"c": 3}), (10, {"d": 4}), (11, {"e": 5})]


def test_steps_may_come_in_any_order() -> None:
    run("import holter\nrun = holter.init()\nfor step in (5, 3, 9, 0): run.log({'x': step}, step=step)")
    assert [row.step for row in rows(only_run().row.directory)] == [5, 3, 9, 0]


def test_numbers_of_numpy_and_look_alikes_are_kept_by_value() -> None:
    run(
        """
        import numpy as np, holter
        class Tensor:
            shape = ()
            def __init__(self, value): self.value = value
            def item(self): return self.value
        run = holter.init()
        tensor = Tensor(1.5)
        for _ in range(3):
            row = {"f32": np.float32(0.5), "i64": np.int64(7), "one": np.array([2.5]), "t": tensor, "b": np.bool_(True)}
            run.log(row)
        tensor.value = 99.0
        """
    )
    assert [row.values for row in rows(only_run().row.directory)] == [
        {"f32": 0.5, "i64": 7, "one": 2.5, "t": 1.5, "b": True}
    ] * 3


def test_nan_and_infinity_are_values() -> None:
    run("import holter\nrun = holter.init()\nfor x in ('nan', 'inf', '-inf'): run.log({'x': float(x)})")
    assert repr(values("x")) == "[nan, inf, -inf]"


def test_what_has_no_place_in_a_row_is_described_and_said_once() -> None:
    program = run(
        """
        import holter
        run = holter.init()
        class Broken:
            def __repr__(self): raise RuntimeError("no")
        circle = {}
        circle["again"] = circle
        for _ in range(3):
            run.log({"object": object, "broken": Broken(), "circle": circle})
            run.log({"text": "x" * 1_000_000, 7: 1, "huge": 10**30})
        run.log({f"key{i}": i for i in range(100_000)})
        run.log([1, 2])
        run.log({"a": 1}, step="soon")
        run.log({"after": 1})
        """,
        HOLTER_STRICT="",
    )
    assert program.returncode == 0
    assert all(line.startswith("holter: ") for line in program.stderr.splitlines())
    assert program.stderr.count("'object' is a type") == 1
    assert "log() takes a dict" in program.stderr
    assert "step 'soon' (str) is no whole number" in program.stderr
    assert "its row is recorded as the next one, step 8" in program.stderr
    found = rows(only_run().row.directory)
    assert [len(row.values) for row in found] == [3, 3, 3, 3, 3, 3, 100_000, 1, 1]
    assert len(str(found[1].values["text"])) == 65_536
    assert found[1].values["7"] == 1


def test_a_step_out_of_range_is_said_once_and_its_row_has_the_next_one() -> None:
    program = run(
        """
        import holter
        run = holter.init()
        for step in (2**63 - 1, -(2**63), 2**62, -(2**62), 2**63, 2**200, 10**5000, 1e300):
            run.log({"given": 1}, step=step)
        run.log({"next": 1})
        run.log({"below": 1}, step=-5)
        run.log({"last": 1}, step=2**62 - 1, commit=True)
        run.log({"beyond": 1})
        run.log({"first": 1}, step=-(2**62) + 1)
        run.finish(exit_code=2**64)
        """,
        HOLTER_STRICT="",
    )
    assert program.returncode == 0
    assert program.stderr.count("is no whole number from") == 2  # the second time because no step was left
    assert "9223372036854775807" in program.stderr
    found = rows(only_run().row.directory)
    assert [(row.step, *row.values) for row in found] == [
        *((at, "given") for at in range(8)),
        (8, "next"),
        (-5, "below"),
        (2**62 - 1, "last"),
        (-(2**62) + 1, "first"),
    ]
    assert only_run().row.state == "failed"


@pytest.mark.parametrize("code", ["2**64", "-(2**80)", "'oops'", "object()", "float('nan')", "1.0"])
def test_whatever_is_given_for_an_exit_code_the_run_has_failed_and_the_program_has_not(code: str) -> None:
    program = run(f"import holter\nrun = holter.init()\nrun.finish(exit_code={code})")
    assert program.returncode == 0
    assert only_run().row.state == "failed"


def test_log_after_finish_is_said_once_and_changes_nothing() -> None:
    program = run(
        "import holter\nrun = holter.init()\nrun.finish()\nrun.log({'a': 1})\nrun.log({'a': 2})\nholter.log({'a': 3})"
    )
    assert program.returncode == 0
    assert program.stderr.count("after finish()") == 1
    assert only_run().row.rows == 0


def test_rows_logged_by_atexit_functions_are_kept() -> None:
    run("import atexit, holter\nrun = holter.init()\natexit.register(lambda: run.log({'late': 1}))")
    assert values("late") == [1]
    assert only_run().row.state == "finished"


def test_module_level_calls_before_init_say_what_to_do() -> None:
    program = run("import holter\nholter.log({'a': 1})")
    assert "holter.log() needs a run: call holter.init() first" in program.stderr
    program = run("import holter\nholter.config['lr'] = 1")
    assert "holter.config needs a run: call holter.init() first" in program.stderr


def test_config_and_summary_keep_every_change() -> None:
    run(
        """
        import argparse, holter
        run = holter.init(config=argparse.Namespace(lr=0.1, model={"width": 3}))
        run.config.batch = 64
        run.config.model.width = 4
        holter.config.update({"seed": 1})
        run.log({"acc": 0.5})
        assert run.summary["acc"] == 0.5 and holter.summary.acc == 0.5
        run.summary["best"] = 0.9
        run.log({"best": 0.1})
        assert run.summary["best"] == 0.9
        run.name = "renamed"
        run.tags = ("a", "b")
        run.alert("look", "here", level="WARN")
        """
    )
    loaded = only_run()
    assert loaded.row.config == {"lr": 0.1, "model": {"width": 4}, "batch": 64, "seed": 1}
    assert loaded.row.summary == {"acc": 0.5, "best": 0.9}
    assert (loaded.row.name, loaded.row.tags) == ("renamed", ("a", "b"))
    assert [(alert.title, alert.level) for alert in loaded.said(Alerted)] == [("look", "WARN")]
    assert len(said(loaded.row.directory, Configured)) == 4


def test_flush_waits_for_the_disk_and_leaves_a_mark() -> None:
    run("import holter\nrun = holter.init()\nrun.log({'a': 1})\nrun.flush()\nholter.log.flush()\nholter.flush()")
    assert [mark.step for mark in said(only_run().row.directory, Flushed)] == [1, 1, 1]  # type: ignore[attr-defined]  # Flushed


def test_a_flush_that_failed_says_so_leaves_no_mark_and_is_made_good_by_the_next_one() -> None:
    program = run(
        """
        import errno, os, holter
        run = holter.init()
        run.log({"a": 1})
        real, failures = os.fdatasync, 2
        def fdatasync(fd):
            global failures
            failures -= 1
            if failures >= 0: raise OSError(errno.EIO, "Input/output error")
            real(fd)
        os.fdatasync = fdatasync
        os.fsync = lambda fd, fsync=os.fsync: fdatasync(fd) if failures > 0 else fsync(fd)
        print(run.flush(), run.flush(), run.flush())
        run.log({"a": 2})
        print(holter.flush(), holter.log.flush())
        """
    )
    directory = only_run().row.directory
    assert program.stdout.split() == ["False", "False", "True", "True", "True"]
    (line,) = program.stderr.splitlines()
    assert line.startswith(f"holter: flush() failed: Input/output error ({directory}): what was logged survives")
    assert [mark.step for mark in said(directory, Flushed)] == [1, 2, 2]  # type: ignore[attr-defined]  # Flushed
    assert [row.values["a"] for row in rows(directory)] == [1, 2]


def test_a_row_of_too_many_keys_is_cut_with_one_word_and_the_rest_can_be_logged_to_the_same_step() -> None:
    program = run(
        """
        import holter
        run = holter.init()
        row = {f"k{i}": i for i in range(150_000)}
        run.log(row); run.log(row)
        run.log({"k149999": 1}, step=0)
        """
    )
    assert program.stderr == (
        "holter: a row has more than 100,000 values: the first 100,000 are kept, 50,000 or more are not; "
        "log them in other calls with the same step\n"
    )
    directory = only_run().row.directory
    assert [(row.step, len(row.values)) for row in rows(directory)] == [(0, 100_000), (1, 100_000), (0, 1)]
    (noted,) = only_run().said(Noted)
    assert "50,000 or more are not" in noted.text


def test_very_many_remarks_end_in_one_that_says_so() -> None:
    program = run("import holter\nrun = holter.init()\nrun.log({f'k{i}': {i} for i in range(500)})")
    lines = program.stderr.splitlines()
    assert len(lines) == 101
    assert lines[0] == "holter: 'k0' is a set, which has no place in a row: its repr is kept"
    assert lines[-1] == "holter: after 100 remarks like these no more are made"
    assert len(rows(only_run().row.directory)[0].values) == 500


def test_disabled_mode_leaves_nothing_and_starts_nothing() -> None:
    program = run(
        """
        import sys, threading, holter
        hooks = sys.excepthook
        with holter.init(mode="disabled", config={"lr": 1}) as run:
            run.log({"a": 1}); holter.log({"a": object()}); run.flush(); run.alert("x"); run.name = "other"
            run.config.more = 2; run.summary["x"] = 1
            assert run.config.as_dict() == {"lr": 1, "more": 2}, run.config
            assert threading.active_count() == 1 and sys.excepthook is hooks
        """
    )
    assert (program.returncode, program.stderr) == (0, "")
    assert not data_directory().exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("holter.init(id='../etc')", "the run id '../etc' can't name a directory"),
        ("holter.init(id='')", "the run id '' can't name a directory"),
        ("holter.init(mode='sometimes')", "mode must be one of online, offline, disabled; got 'sometimes'"),
        ("holter.init(config=3)", "config must be a dict of names and values, got int '3'"),
        ("holter.init(projekt='a')", "init() has no argument 'projekt'"),
        ("holter.init(settings={'disk_limt': 1})", "unknown setting 'disk_limt'"),
        ("holter.init(resume='must', id='none')", "there is no run none"),
        ("holter.init(reinit='maybe')", "reinit must be"),
        ("holter.init(tags=3)", "tags must be a list"),
        ("holter.init(project=['a'])", "project must be text, got list"),
        ("holter.init(settings={'disk_limit': 'lots'})", "a size must be a number of bytes"),
    ],
)
def test_bad_input_to_init_is_refused_with_what_and_why(call: str, message: str) -> None:
    program = run(f"import holter\n{call}")
    assert message in program.stderr
    assert program.returncode == 1


def test_wandb_users_arguments_are_accepted() -> None:
    program = run(
        """
        import holter as wandb
        run = wandb.init(project="p", entity="team", reinit=True, tags=["a"], save_code=True, sync_tensorboard=False)
        wandb.log({"a": 1}, step=3)
        wandb.finish()
        assert wandb.run is None
        """
    )
    assert (program.returncode, program.stderr) == (0, "")
    assert only_run().row.entity == "team"


def test_directories_are_private_to_their_owner() -> None:
    run("import os, holter\nos.umask(0)\nholter.init()\nholter.log({'a': 1})")
    directory = Path(only_run().row.directory)
    made = [data_directory(), directory.parent, directory]
    assert [stat.S_IMODE(path.stat().st_mode) for path in made] == [0o700] * 3
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


def test_a_directory_that_cannot_be_made_is_replaced_by_a_private_temporary_one(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    program = run(
        "import holter\nrun = holter.init()\nrun.log({'a': 1})\nprint(run.dir)", HOLTER_DIR=str(blocked / "x")
    )
    directory = Path(program.stdout.strip())
    assert program.returncode == 0
    assert "can't record in" in program.stderr
    assert str(directory) in program.stderr
    assert [row.values for row in rows(str(directory))] == [{"a": 1}]
    assert stat.S_IMODE(directory.parent.parent.stat().st_mode) == 0o700


def test_a_read_only_file_system_is_replaced_by_a_private_temporary_directory(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("not on this platform: only root can mount a file system")
    source = "import holter\nrun = holter.init()\nrun.log({'a': 1})\nprint(run.dir)"
    mount = f'mount -t tmpfs -o ro none {tmp_path} && exec "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", mount, sys.executable, source],
        env={**os.environ, "HOLTER_DIR": str(tmp_path / "holter")},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "Read-only file system" in done.stderr
    assert [row.values for row in rows(done.stdout.strip())] == [{"a": 1}]


def test_a_deleted_directory_comes_back_with_all_its_rows() -> None:
    program = run(
        """
        import shutil, time, holter
        run = holter.init()
        for i in range(100): run.log({"i": i})
        shutil.rmtree(run.dir)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            i += 1
            run.log({"i": i})
            time.sleep(0.01)
        print(i)
        """
    )
    assert values("i") == list(range(int(program.stdout) + 1))


def test_the_disk_limit_stops_rows_and_says_so_once() -> None:
    program = run(
        """
        import holter
        run = holter.init()
        for i in range(50_000): run.log({"i": i, "x": 0.5})
        """,
        HOLTER_DISK_LIMIT="600kB",
    )
    assert program.returncode == 0
    assert program.stderr.count("disk limit of 600,000 bytes") == 1
    assert only_run().row.state == "finished"
    loaded = only_run()
    used = sum(path.stat().st_size for path in Path(loaded.row.directory).iterdir())
    assert used <= 600_000
    kept = values("i")
    assert kept == list(range(len(kept)))
    assert sum(record.records for record in loaded.said(Lost)) >= 50_000 - len(kept)


def test_a_clock_set_back_does_not_change_the_order_of_rows() -> None:
    run(
        """
        import time, holter
        run = holter.init()
        run.log({"i": 0})
        time.time_ns = lambda: 1_000_000_000
        time.time = lambda: 1.0
        run.log({"i": 1})
        """
    )
    first, second = rows(only_run().row.directory)
    assert 0 < second.at_ns - first.at_ns < 10**9


def test_random_seed_does_not_repeat_run_ids() -> None:
    source = "import random\nrandom.seed(0)\nimport holter\nprint(holter.init().id)"
    ids = {run(source).stdout for _ in range(3)}
    assert len(ids) == 3


def test_resume_auto_continues_the_run_that_did_not_end_well() -> None:
    source = "import os, holter\nrun = holter.init(resume='auto', project='p')\nrun.log({'a': 1})\n"
    say = "print(run.id, run.resumed, run.step, flush=True)\n"
    first, second, third = run(source + say + "os._exit(1)"), run(source + say), run(source + say)
    assert second.stdout.split() == [first.stdout.split()[0], "True", "2"]
    assert third.stdout.split()[1] == "False"


def test_a_requeued_job_continues_its_run_as_another_attempt() -> None:
    source = (
        "import os, holter\nrun = holter.init(config={'lr': 1})\nrun.log({'a': run.step})\nprint(run.id, run.step)\n"
    )
    job = {"SLURM_JOB_ID": "42", "SLURM_CLUSTER_NAME": "c", "SLURM_JOB_NAME": "train"}
    first = run(source + "os.kill(os.getpid(), 9)", **job)
    second = run(source, **job, SLURM_RESTART_COUNT="1")
    assert first.stdout.split()[0] == second.stdout.split()[0]
    loaded = only_run()
    assert (loaded.row.attempt, loaded.row.state, loaded.row.rows) == (2, "finished", 2)
    assert values("a") == [0, 1]


def test_runs_one_after_the_other_in_one_process_are_runs_of_their_own() -> None:
    source = "import holter\nfor i in range(3):\n  with holter.init() as run: run.log({'i': i}); print(run.id)"
    program = run(source, SLURM_JOB_ID="43", SLURM_JOB_NAME="sweep")
    assert len(set(program.stdout.split())) == 3


def test_reinit_follows_wandb() -> None:
    run(
        """
        import holter
        a = holter.init()
        assert holter.init() is a
        b = holter.init(reinit=True)
        assert b is not a and holter.run is b
        c = holter.init(reinit="create_new")
        c.log({"x": 1}); b.log({"x": 2})
        b.finish(); assert holter.run is c
        """
    )


def test_hooks_are_chained_and_restored() -> None:
    program = run(
        """
        import signal, sys, threading, holter
        seen = []
        sys.excepthook = lambda *args: seen.append("main")
        threading.excepthook = lambda args: seen.append("thread")
        sys.unraisablehook = lambda args: seen.append("unraisable")
        handler = lambda *args: seen.append("term")
        signal.signal(signal.SIGTERM, handler)
        before = sys.excepthook, threading.excepthook, sys.unraisablehook
        run = holter.init()
        thread = threading.Thread(target=lambda: 1 / 0, name="worker"); thread.start(); thread.join()
        class Bad:
            def __del__(self): 1 / 0
        bad = Bad()
        del bad
        sys.excepthook(ValueError, ValueError("no"), None)
        signal.raise_signal(signal.SIGTERM)
        assert seen == ["thread", "unraisable", "main", "term"], seen
        run.finish()
        assert (sys.excepthook, threading.excepthook, sys.unraisablehook) == before
        assert signal.getsignal(signal.SIGTERM) is handler
        """
    )
    assert (program.returncode, program.stderr) == (0, "")
    assert [(raised.where, raised.thread) for raised in only_run().said(Raised)] == [
        ("thread", "worker"),
        ("unraisable", "MainThread"),
        ("shown", "MainThread"),
    ]


PROGRAMS = {
    "silent": "pass",
    "prints": "import sys\nprint('out'); print('err', file=sys.stderr); sys.stdout.write('no newline')",
    "raises": "def f():\n    raise KeyError('x')\nf()",
    "exits": "import sys\nsys.exit(7)",
    "exits with text": "import sys\nsys.exit('text')",
    "thread": "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start(); t.join(); print('on')",
    "unraisable": "class A:\n    def __del__(self): 1 / 0\na = A(); del a",
    "tqdm": "from tqdm import tqdm\nfor i in tqdm(range(5), mininterval=0, bar_format='{n}/{total}'): LOG",
    "killed": "import os\nos.kill(os.getpid(), 9)",
    "terminated": "import os\nos.kill(os.getpid(), 15)",
    "interrupted": "import os, time\nos.kill(os.getpid(), 2); time.sleep(5)",
    "waits for all children": (
        "import os\nif os.fork() == 0: os._exit(3)\nwhile True:\n    try: print(os.wait()[1])"
        "\n    except ChildProcessError: break"
    ),
    "atexit order": "import atexit\natexit.register(print, 'bye')",
    "warnings": "import warnings\nwarnings.warn('careful')",
    "closed stderr": "import sys\nsys.stderr.close(); print('still')",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_behaves_the_same_with_and_without_holter(name: str, tmp_path: Path) -> None:
    results = []
    for prelude, log in (
        ("", "pass"),
        ("import holter\nholter.init()\nholter.log({'a': 1})\n", "holter.log({'i': i})"),
    ):
        script = tmp_path / "train.py"
        # As many lines before it in both: tracebacks name line numbers.
        script.write_text((prelude or "\n\n\n") + PROGRAMS[name].replace("LOG", log if prelude else "pass"))
        environment = {key: value for key, value in os.environ.items() if key != "HOLTER_STRICT"}
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, env=environment, timeout=60, check=False
        )
        ours = [line for line in done.stderr.splitlines(keepends=True) if line.startswith(b"holter: ")]
        stderr = b"".join(line for line in done.stderr.splitlines(keepends=True) if line not in ours)
        results.append((done.returncode, done.stdout, re.sub(b"0x[0-9a-f]+", b"0x", stderr)))
    assert results[1] == results[0]


def test_an_init_before_the_sidecar_can_start_is_not_slower(tmp_path: Path) -> None:
    slow = tmp_path / "python"
    slow.write_text("#!/bin/sh\nexec sleep 40\n")
    slow.chmod(0o755)
    program = run(
        f"""
        import sys, time, holter
        sys.executable = {str(slow)!r}
        began = time.monotonic()
        run = holter.init()
        run.log({{"a": 1}})
        print(time.monotonic() - began)
        run.finish()
        print(time.monotonic() - began)
        """
    )
    assert max(map(float, program.stdout.split())) < 30


def test_an_interpreter_that_is_not_there_costs_only_the_sidecar() -> None:
    program = run("import sys, holter\nsys.executable = '/nonexistent'\nwith holter.init() as run: run.log({'a': 1})")
    assert program.returncode == 0
    assert only_run().row.state == "finished"


def test_finish_returns_within_its_deadline_when_the_disk_hangs() -> None:
    program = run(
        """
        import time, holter
        from holter.journal.segment import MappedSegment, WrittenSegment
        run = holter.init()
        MappedSegment.close = WrittenSegment.close = lambda self, end: time.sleep(50)
        began = time.monotonic()
        run.finish()
        print(time.monotonic() - began, flush=True)
        """
    )
    assert float(program.stdout) < 40


def test_a_forked_child_that_logs_gets_its_own_journal_in_the_same_run() -> None:
    run(
        """
        import os, holter
        run = holter.init()
        run.log({"who": "parent"})
        if (pid := os.fork()) == 0:
            run.log({"who": "child"}, step=5)
            run.finish()
            os._exit(0)
        os.waitpid(pid, 0)
        run.log({"who": "parent again"})
        """
    )
    loaded = only_run()
    assert [row.values["who"] for row in rows(loaded.row.directory)] == ["parent", "parent again"]
    assert [row.values["who"] for row in rows(loaded.row.directory, writer="worker")] == ["child"]
    assert (loaded.row.state, loaded.row.rows) == ("finished", 3)


def test_a_forked_child_never_writes_into_its_parents_journal_even_while_threads_log() -> None:
    run(
        """
        import os, threading, holter
        run = holter.init()
        stop = threading.Event()
        def log():
            while not stop.is_set(): run.log({"thread": 1})
        threads = [threading.Thread(target=log) for _ in range(4)]
        for thread in threads: thread.start()
        for _ in range(20):
            if (pid := os.fork()) == 0:
                run.log({"child": 1})
                os._exit(0)
            os.waitpid(pid, 0)
        stop.set()
        for thread in threads: thread.join()
        """
    )
    directory = only_run().row.directory
    assert all("child" not in row.values for row in rows(directory))
    assert len(rows(directory, writer="worker")) == 20
    assert find_damage(only_run()) == []


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_run_handed_to_a_worker_process_goes_on_there(method: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        f"""
import multiprocessing, holter
def work(run, i):
    run.log({{"worker": i}}, step=i)
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    with holter.init() as run:
        workers = [context.Process(target=work, args=(run, i)) for i in range(3)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
        assert [worker.exitcode for worker in workers] == [0, 0, 0]
"""
    )
    subprocess.run([sys.executable, str(script)], check=True, timeout=60)
    loaded = only_run()
    assert sorted(row.values["worker"] for row in rows(loaded.row.directory, writer="worker")) == [0, 1, 2]
    assert loaded.row.state == "finished"


def test_threads_that_log_without_a_step_never_share_one() -> None:
    run(
        """
        import sys, threading, holter
        sys.setswitchinterval(1e-5)
        run = holter.init()
        def log():
            for _ in range(500): run.log({"a": 1})
        threads = [threading.Thread(target=log) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """
    )
    assert sorted(row.step for row in rows(only_run().row.directory)) == list(range(2000))


def test_a_signal_handler_that_logs_inside_log_does_not_deadlock() -> None:
    program = run(
        """
        import itertools, signal, holter
        run = holter.init()
        count = itertools.count()
        def handler(*_):
            run.log({"inner": next(count)}, step=0)  # which the next signal may interrupt
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
        for i in range(20_000): run.log({"outer": i}, step=i)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(next(count))
        """
    )
    assert program.returncode == 0
    assert values("outer") == list(range(20_000))
    assert sorted(map(int, values("inner"))) == list(range(int(program.stdout)))
    assert int(program.stdout) > 10


def test_a_stopped_or_dead_sidecar_changes_nothing_for_the_program() -> None:
    with start(
        """
        import sys, time, holter
        run = holter.init()
        print(run.dir, flush=True)
        sys.stdin = open(0)
        for i in range(300):
            run.log({"i": i}); time.sleep(0.005)
        began = time.monotonic()
        run.finish()
        print(time.monotonic() - began, flush=True)
        """
    ) as program:
        assert program.stdout is not None
        directory = program.stdout.readline().strip()
        wait_until(lambda: sidecars(directory))
        (sidecar,) = sidecars(directory)
        os.kill(sidecar, signal.SIGSTOP)
        try:
            finish_s = float(program.stdout.readline())
            assert program.wait(60) == 0
        finally:
            os.kill(sidecar, signal.SIGKILL)
    assert finish_s < 20
    assert values("i") == list(range(300))
    assert only_run().row.state == "finished"


def test_nothing_is_said_on_stdout_and_little_on_stderr() -> None:
    program = run("import holter\nwith holter.init(project='p', name='n') as run: run.log({'a': 1})", HOLTER_QUIET="")
    assert program.stdout == ""
    assert [line.split(" ")[0] for line in program.stderr.splitlines()] == ["holter:", "holter:"]
    silent = run("import holter\nwith holter.init() as run: run.log({'a': object()})", HOLTER_SILENT="1")
    assert silent.stderr == ""


def test_finished_is_the_last_record_of_a_run_that_ended_in_order() -> None:
    run("import holter\nwith holter.init() as run: run.log({'a': 1})")
    last = records(only_run().row.directory)[-1]
    assert isinstance(last, Finished)
    assert (last.exit_code, last.how) == (0, "context")


def test_what_holter_could_not_store_is_noted_in_the_journal() -> None:
    run("import holter\nwith holter.init() as run: run.log({'x': object()})")
    (note,) = only_run().said(Noted)
    assert "'x' is an object" in note.text


def test_import_time_stays_out_of_the_way() -> None:
    began = time.monotonic()
    assert run("import holter").returncode == 0
    assert time.monotonic() - began < 30


def test_a_resumed_run_goes_on_behind_its_highest_step_also_when_that_was_not_the_last() -> None:
    run("import holter\nrun = holter.init(id='r')\nfor step in (0, 500, 3): run.log({'a': step}, step=step)")
    resumed = run("import holter\nrun = holter.init(id='r', resume='must')\nprint(run.step)\nrun.log({'a': 1})")
    assert resumed.stdout.strip() == "501"
    assert (only_run().row.steps, only_run().row.last_step) == (502, 501)
