"""What a run keeps of its program besides rows: exceptions, crashes, children; and that the program never notices."""

import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from holter.catalog.catalog import Catalog
from holter.model.records import ChildExited, Exited, Finished, Raised
from tests.e2e.programs import data_directory, only_run, run, said, wait_until

METHODS = ("fork", "spawn", "forkserver")
INIT = "import holter; run = holter.init(); holter.log({'a': 1})"


def run_script(folder: Path, source: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a program from a file: a spawned child imports it again."""
    script = folder / "train.py"
    script.write_text(textwrap.dedent(source))
    return subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "HOLTER_QUIET": "1", **environment},
        timeout=60,
        check=False,
    )


def raised(writer: str = "client") -> list[Raised]:
    return [each for each in said(only_run().row.directory, Raised, writer) if isinstance(each, Raised)]


def children(writer: str) -> list[ChildExited]:
    return [each for each in said(only_run().row.directory, ChildExited, writer) if isinstance(each, ChildExited)]


def faults(name: str = "faults.log") -> str:
    path = Path(only_run().row.directory) / name
    return path.read_text() if path.exists() else ""


# Each runs with and without `INIT`.
SAME: dict[str, str] = {
    "segmentation fault": "INIT\nimport ctypes\nprint('before', flush=True)\nctypes.string_at(0)",
    "stack overflow": """
        INIT
        import sys
        sys.setrecursionlimit(10**6)
        def deeper(_): return list(map(deeper, [0]))
        deeper(0)
    """,
    "abort": "INIT\nimport os\nos.abort()",
    "segmentation fault, faulthandler of the user": """
        import faulthandler, ctypes
        faulthandler.enable(all_threads=False)
        INIT
        ctypes.string_at(0)
    """,
    "segmentation fault, faulthandler of the user afterwards": """
        INIT
        import faulthandler, ctypes
        faulthandler.enable(all_threads=False)
        ctypes.string_at(0)
    """,
    "a native handler of the user": """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.signal(11, libc._exit)
        INIT
        ctypes.string_at(0)
    """,
    "a native handler of the user afterwards, and a finished run": """
        import ctypes
        libc = ctypes.CDLL(None)
        INIT
        libc.signal(11, libc._exit)
        FINISH
        ctypes.string_at(0)
    """,
    "interrupted with arrays": """
        INIT
        import os, time
        import numpy as np
        def train():
            array = np.zeros((3, 3))
            os.kill(os.getpid(), 2)
            time.sleep(5)
        train()
    """,
    "causes": """
        INIT
        try: {}['x']
        except KeyError as error: raise ValueError('no') from error
    """,
    "a task that nobody awaits": """
        import asyncio
        INIT
        async def fail(): raise ValueError('lost')
        async def main():
            task = asyncio.create_task(fail())
            await asyncio.sleep(0)
        asyncio.run(main())
        print('on')
    """,
    "a handler of the user's for tasks": """
        import asyncio
        INIT
        async def main():
            loop = asyncio.get_running_loop()
            loop.set_exception_handler(lambda loop, context: print(sorted(context), context['exception']))
            async def fail(): raise ValueError('lost')
            task = asyncio.create_task(fail())
            await asyncio.sleep(0)
        asyncio.run(main())
    """,
    "children by METHOD": """
        import multiprocessing, os, sys
        def fail(): raise ValueError('no')
        def leave(): sys.exit('text')
        def die(): os.kill(os.getpid(), 9)
        if __name__ == '__main__':
            INIT
            context = multiprocessing.get_context('METHOD')
            for target in (fail, leave, die):
                child = context.Process(target=target)
                child.start(); child.join()
                print(child.exitcode, child)
    """,
    "an executor by METHOD": """
        import multiprocessing, os
        from concurrent.futures import ProcessPoolExecutor
        def fail(x): raise ValueError(x)
        def die(x): os._exit(3)
        if __name__ == '__main__':
            INIT
            context = multiprocessing.get_context('METHOD')
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                print(repr(pool.submit(fail, 1).exception()))
                print(repr(pool.submit(die, 1).exception()))
            with context.Pool(1) as pool:
                pool.map(fail, [2])
    """,
    "what cannot be pickled": """
        import multiprocessing
        if __name__ == '__main__':
            INIT
            multiprocessing.get_context('spawn').Process(target=lambda: None).start()
    """,
    "interrupted while it waits for a child": """
        import multiprocessing, os, threading, time
        def work():
            time.sleep(1)
            os.kill(os.getppid(), 2)
            time.sleep(0.3)
        if __name__ == '__main__':
            INIT
            child = multiprocessing.get_context('fork').Process(target=work)
            child.start(); child.join()
    """,
    "the insides of multiprocessing": """
        import multiprocessing, os
        from multiprocessing import popen_fork
        INIT
        popen = popen_fork.Popen.__new__(popen_fork.Popen)
        print(hasattr(popen, 'returncode'), hasattr(popen_fork.Popen, 'returncode'))
        popen.returncode = 3
        print(popen.returncode, vars(popen))
        del popen.returncode
        print(hasattr(popen, 'returncode'))
        print(len(os.environ))
    """,
}


def variants() -> list[str]:
    return [name.replace("METHOD", method) for name in SAME for method in (METHODS if "METHOD" in name else ("",))]


@pytest.mark.parametrize("name", variants())
def test_a_program_behaves_the_same_with_and_without_holter(name: str, tmp_path: Path) -> None:
    method = name.rpartition(" ")[2]
    source = SAME.get(name) or SAME[name.replace(method, "METHOD")].replace("METHOD", method)
    results = []
    for init, finish in (("pass", "pass"), (INIT, "run.finish()")):
        done = run_script(tmp_path, source.replace("INIT", init).replace("FINISH", finish), HOLTER_STRICT="")
        text = re.sub(r"(pid|parent)=\d+|0x[0-9a-f]+|\n\nExtension modules: .*", "", done.stdout + done.stderr)
        results.append((done.returncode, text))
    assert results[1] == results[0]
    row = only_run().row
    assert (row.rows, bool(row.state)) == (1, True)


def test_a_crash_in_native_code_leaves_the_stacks_of_all_threads() -> None:
    program = run(
        """
        import ctypes, threading, holter
        holter.init()
        threading.Thread(target=threading.Event().wait, daemon=True, name="other").start()
        def crash(): ctypes.string_at(0)
        crash()
        """
    )
    assert (program.returncode, program.stderr) == (-signal.SIGSEGV, "")
    text = faults()
    assert text.startswith("Fatal Python error: Segmentation fault")
    assert " in crash\n" in text
    assert " in wait\n" in text
    assert only_run().row.state == "crashed"


def test_a_faulthandler_of_the_users_stays_theirs() -> None:
    program = run(
        """
        import ctypes, faulthandler, holter
        faulthandler.enable()
        holter.init()
        ctypes.string_at(0)
        """
    )
    assert "Fatal Python error" in program.stderr
    assert faults() == ""


def test_each_rank_and_each_run_has_its_own_file_of_faults() -> None:
    run("import ctypes, holter\nholter.init()\nctypes.string_at(0)", RANK="3", WORLD_SIZE="4", HOLTER_RUN_ID="shared")
    assert "Segmentation fault" in faults("faults-3.log")
    run(
        """
        import ctypes, holter
        holter.init(id="first").finish()
        holter.init(id="second")
        ctypes.string_at(0)
        """
    )
    runs = data_directory() / "runs"
    assert (runs / "first" / "faults.log").read_text() == ""
    assert "Segmentation fault" in (runs / "second" / "faults.log").read_text()


def test_faulthandler_is_off_again_after_the_last_run_and_on_with_the_next() -> None:
    program = run(
        """
        import faulthandler, holter
        before = faulthandler.is_enabled()
        def fatal():
            caught = next(int(line.split()[1], 16) for line in open("/proc/self/status") if line.startswith("SigCgt"))
            return [number for number in (4, 6, 7, 8, 11) if caught >> (number - 1) & 1]
        assert not fatal()
        first, second = holter.init(id="first"), holter.init(id="second", reinit="create_new")
        first.finish()
        assert faulthandler.is_enabled()
        second.finish()
        assert not before and not faulthandler.is_enabled() and not fatal()
        third = holter.init(id="third")
        assert faulthandler.is_enabled()
        faulthandler.enable()
        third.finish()
        assert faulthandler.is_enabled()
        """
    )
    assert (program.returncode, program.stderr) == (0, "")


def test_faulthandler_stays_where_somebody_set_a_handler_since() -> None:
    program = run(
        """
        import ctypes, faulthandler, holter
        run = holter.init()
        libc = ctypes.CDLL(None)
        libc.signal.restype = ctypes.c_void_p
        libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        mine = ctypes.cast(libc.abs, ctypes.c_void_p).value
        libc.signal(11, mine)
        run.finish()
        assert libc.signal(11, None) == mine
        """
    )
    assert (program.returncode, program.stderr) == (0, "")


def test_a_crash_of_a_forked_child_leaves_its_stack_too() -> None:
    run(
        """
        import ctypes, os, holter
        holter.init()
        if os.fork() == 0:
            def crash_in_child(): ctypes.string_at(0)
            crash_in_child()
        os.wait()
        """
    )
    assert " in crash_in_child\n" in faults()
    assert only_run().row.state == "finished"


FAKE_TORCH = """
class Tensor:
    def __init__(self, *shape): self._shape = shape
    shape = property(lambda self: self._shape)
    dtype = property(lambda self: "torch.float16")
    device = property(lambda self: "cuda:0")
    nbytes = property(lambda self: 2 * self._shape[0])
    def __repr__(self): raise AssertionError("the values were asked for")
"""


def test_arrays_in_the_users_frames_are_described_without_calling_their_code(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "torch"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text(FAKE_TORCH)
    done = run_script(
        tmp_path,
        """
        import numpy, torch, holter
        class Mine(torch.Tensor):
            @property
            def shape(self):
                print("called")
        def forward(batch):
            hidden = torch.Tensor(1000)
            mine = Mine(3)
            history = [hidden, hidden]
            raise RuntimeError("CUDA out of memory")
        holter.init()
        images = numpy.zeros((32, 3, 8, 8), dtype=numpy.float32)
        forward(images)
        """,
        PYTHONPATH=str(tmp_path / "site-packages"),
    )
    assert (done.returncode, done.stdout) == (1, "")
    (error,) = raised()
    outer, inner = error.frames
    assert [(each.name, each.shape, each.dtype, each.device, each.size_bytes) for each in outer.arrays] == [
        ("images", (32, 3, 8, 8), "float32", "cpu", 24576)
    ]
    assert (inner.function, Path(inner.file).name, inner.line) == ("forward", "train.py", 11)
    assert [(each.name, each.type, each.size_bytes, each.count) for each in inner.arrays] == [
        ("batch", "numpy.ndarray", 24576, None),
        ("history", "list", 4000, 2),
        ("hidden", "torch.Tensor", 2000, None),
        ("mine", "__main__.Mine", None, None),
    ]


def test_what_led_to_an_exception_is_kept() -> None:
    run(
        """
        import holter
        with holter.init():
            try: open("/nonexistent")
            except OSError as error: raise RuntimeError("no data") from error
        """
    )
    (error,) = raised()
    assert [(cause.type, cause.how) for cause in error.causes] == [("FileNotFoundError", "cause")]
    assert "/nonexistent" in error.causes[0].message


def test_exceptions_that_end_nothing_are_kept_but_not_a_flood_of_them() -> None:
    run(
        """
        import threading, holter
        holter.init()
        def fail(): raise ValueError("again")
        for _ in range(50):
            thread = threading.Thread(target=fail); thread.start(); thread.join()
        """
    )
    assert [each.times for each in raised()] == [1, 2, 3, 4, 8, 16, 32]
    assert only_run().row.state == "finished"


TASK = """
async def fail(): raise ValueError("lost")
async def main():
    task = asyncio.create_task(fail())
    await asyncio.sleep(0)
asyncio.run(main())
"""


@pytest.mark.parametrize(
    "beginning",
    [
        "import asyncio, holter\nholter.init()",
        # Imported after init(): seen by the first row that comes a second later.
        "import holter\nholter.init().log({'a': 1})\nimport asyncio, time\ntime.sleep(1.1)\nholter.log({'a': 2})",
    ],
)
def test_the_exception_of_a_task_that_nobody_awaits_is_kept(beginning: str) -> None:
    program = run(beginning + "\n" + TASK)
    assert "Task exception was never retrieved" in program.stderr
    (error,) = raised()
    assert (error.type, error.message, error.where) == ("ValueError", "lost", "asyncio")
    assert only_run().row.state == "finished"


@pytest.mark.parametrize("method", METHODS)
def test_the_exception_and_the_exit_code_of_each_child_are_kept(method: str, tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        f"""
        import multiprocessing, os, holter
        import numpy as np
        def fail():
            batch = np.zeros((2, 2))
            raise ValueError("bad batch")
        def die(): os.kill(os.getpid(), 9)
        def log(): holter.log({{"worker": 1}})
        if __name__ == "__main__":
            holter.init()
            context = multiprocessing.get_context({method!r})
            workers = [context.Process(target=each, name=each.__name__) for each in (fail, die, log)]
            for worker in workers: worker.start()
            for worker in workers: worker.join()
        """,
    )
    assert done.returncode == 0
    (error,) = raised("worker")
    assert (error.type, error.where, error.frames[-1].arrays[0].name) == ("ValueError", "child", "batch")
    statuses = {each.name: each.status for each in children("client")}
    assert statuses == {"fail": 1 << 8, "die": 9, "log": 0}
    row = only_run().row
    assert (row.state, row.rows) == ("finished", 1)


@pytest.mark.parametrize("method", METHODS)
def test_whether_a_child_was_ended_by_its_parent_is_kept(method: str, tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        f"""
        import multiprocessing, os, time, holter
        def stay(): time.sleep(60)
        def die(): os.kill(os.getpid(), 9)
        if __name__ == "__main__":
            holter.init()
            context = multiprocessing.get_context({method!r})
            stayed, died = workers = [context.Process(target=each, name=each.__name__) for each in (stay, die)]
            for worker in workers: worker.start()
            stayed.kill()
            for worker in workers: worker.join()
        """,
    )
    assert done.returncode == 0
    assert {each.name: each.parent_signal for each in children("client")} == {"stay": 9, "die": 0}


@pytest.mark.parametrize("method", METHODS)
def test_the_exception_of_a_task_in_a_pool_is_kept_with_its_own_frames(method: str, tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        f"""
        import multiprocessing, holter
        from concurrent.futures import ProcessPoolExecutor
        import numpy as np
        def fail(x):
            array = np.zeros(x)
            raise ValueError(x)
        if __name__ == "__main__":
            holter.init()
            context = multiprocessing.get_context({method!r})
            with ProcessPoolExecutor(1, mp_context=context) as pool:
                assert isinstance(pool.submit(fail, 3).exception(), ValueError)
            with context.Pool(1) as pool:
                try: pool.map(fail, [4])
                except ValueError: pass
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")
    kept = [(each.where, each.message, each.frames[-1].arrays[0].shape) for each in raised("worker")]
    assert kept == [("pool", "3", (3,)), ("pool", "4", (4,))]


def test_what_a_data_loader_or_a_launcher_of_torch_catches_in_a_child_is_kept(tmp_path: Path) -> None:
    library = tmp_path / "site-packages" / "torch"
    library.mkdir(parents=True)
    (library / "__init__.py").touch()
    (library / "_utils.py").write_text("class ExceptionWrapper:\n    def __init__(self, where): self.where = where")
    done = run_script(
        tmp_path,
        """
        import multiprocessing, sys, torch._utils, holter
        def load():
            try: raise ValueError("bad sample")
            except Exception: torch._utils.ExceptionWrapper(where="in a worker")
        def rank():
            try: raise ValueError("bad rank")
            except Exception: sys.exit(1)
        def fine():
            try: raise ValueError("never mind")
            except Exception: sys.exit(0)
        holter.init()
        for target in (load, rank, fine):
            child = multiprocessing.get_context("fork").Process(target=target)
            child.start(); child.join()
        """,
        PYTHONPATH=str(tmp_path / "site-packages"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [(each.where, each.message) for each in raised("worker")] == [("pool", "bad sample"), ("child", "bad rank")]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_program_that_imports_multiprocessing_after_init_is_followed_all_the_same(
    method: str, tmp_path: Path
) -> None:
    run_script(
        tmp_path,
        f"""
        import time, holter
        def fail(): raise ValueError("bad batch")
        if __name__ == "__main__":
            holter.init()
            import multiprocessing
            time.sleep(1.1)
            holter.log({{"a": 1}})
            child = multiprocessing.get_context({method!r}).Process(target=fail, name="late")
            child.start(); child.join()
        """,
    )
    assert [each.where for each in raised("worker")] == ["child"]
    assert [(each.name, each.status) for each in children("client")] == [("late", 1 << 8)]


def test_children_that_fail_again_and_again_do_not_fill_the_directory() -> None:
    program = run(
        """
        import multiprocessing, os, holter
        from holter.client.capture import program
        program.MOST_FILES = 20
        def fail(): raise ValueError("again")
        run = holter.init()
        context = multiprocessing.get_context("fork")
        for _ in range(40):
            child = context.Process(target=fail); child.start(); child.join()
        sizes = sorted(entry.stat().st_size for entry in os.scandir(run.dir) if entry.name.endswith(".seg"))
        print(len(sizes), sizes[-3])
        """
    )
    segments, third_largest = map(int, program.stdout.split())
    assert 5 <= segments <= 20
    # Those of the children are cut when they end; those of the program and its sidecar are not.
    assert third_largest < 10_000
    assert [each.times for each in children("client")] == [1, 2, 3, 4, 8, 16, 32]


def test_an_exception_in_a_child_by_fork_is_not_the_programs_own() -> None:
    run(
        """
        import os, holter
        holter.init()
        if os.fork() == 0: raise ValueError("in the child")
        os.wait()
        """
    )
    assert raised() == []
    assert [each.where for each in raised("worker")] == ["child"]
    assert only_run().row.state == "finished"


def test_everything_is_put_back_with_the_last_run() -> None:
    program = run(
        """
        import asyncio, multiprocessing, multiprocessing.pool, multiprocessing.popen_fork, sys, threading
        from concurrent.futures import process as executor
        import holter
        def insides():
            import asyncio.base_events as events, multiprocessing.process as process
            return [
                sys.excepthook, threading.excepthook, sys.unraisablehook, events.BaseEventLoop.call_exception_handler,
                process._cleanup, multiprocessing.util._exit_function, executor._ExceptionWithTraceback.__init__,
                multiprocessing.pool.ExceptionWithTraceback.__init__, dict(vars(multiprocessing.popen_fork.Popen)),
                dict(multiprocessing.current_process()._config),
            ]
        before = insides()
        first, second = holter.init(), holter.init(reinit="create_new")
        during = insides()
        assert not [old for old, new in zip(before, during) if old == new], during
        first.finish()
        assert insides()[:9] == during[:9]
        second.finish()
        assert insides() == before
        """
    )
    assert (program.returncode, program.stderr) == (0, "")


def test_a_disabled_run_touches_nothing() -> None:
    program = run(
        """
        import multiprocessing, os, holter
        holter.init(mode="disabled")
        import faulthandler
        def work(): os._exit(0)
        child = multiprocessing.get_context("fork").Process(target=work); child.start(); child.join()
        assert not faulthandler.is_enabled()
        assert "holter" not in multiprocessing.current_process()._config
        """
    )
    assert (program.returncode, program.stderr) == (0, "")


def test_the_text_of_sys_exit_in_the_block_is_kept() -> None:
    program = run("import sys, holter\nwith holter.init(): sys.exit('no data left')")
    assert (program.returncode, program.stderr) == (1, "no data left\n")
    (finished,) = said(only_run().row.directory, Finished)
    assert isinstance(finished, Finished)
    assert (finished.exit_code, finished.exit_text, finished.how) == (1, "no data left", "context")


def test_what_sys_exit_was_given_outside_a_block_is_in_the_status_and_in_the_console() -> None:
    program = run("import sys, holter\nholter.init()\nsys.exit('no data left')")
    assert (program.returncode, program.stderr) == (1, "no data left\n")
    loaded = only_run()
    assert loaded.row.state == "failed"
    assert (Path(loaded.row.directory) / "output.log").read_text() == "no data left\n"


def test_the_number_given_to_sys_exit_outside_a_block_is_the_exit_code() -> None:
    program = run("import sys, holter\nholter.init()\nsys.exit(7)")
    assert program.returncode == 7
    wait_until(lambda: said(only_run().row.directory, Exited, "sidecar"))
    (exited,) = said(only_run().row.directory, Exited, "sidecar")
    assert isinstance(exited, Exited)
    assert (exited.status, only_run().row.state) == (7 << 8, "failed")


def test_the_sidecar_keeps_how_each_child_ended_with_its_command() -> None:
    program = run(
        """
        import os, signal, subprocess, sys, holter
        from tests.e2e.seen import wait_for_child_of, wait_until_seen
        run = holter.init()
        sleep = "import time, sys; time.sleep(float(sys.argv[1])); sys.exit(7)"
        read = "import sys; sys.stdin.read(); sys.exit(7)"
        children = [
            subprocess.Popen([sys.executable, "-c", sleep, "60", "--api-key", "hunter2"]),
            subprocess.Popen(["sh", "-c", "sleep 61; true"]),
            subprocess.Popen([sys.executable, "-c", read], stdin=subprocess.PIPE),
        ]
        grandchild = wait_for_child_of(children[1].pid)
        wait_until_seen(grandchild, *[child.pid for child in children])
        children[0].send_signal(signal.SIGSEGV)
        os.kill(grandchild, signal.SIGKILL)
        children[2].stdin.close()
        print([child.wait() for child in children])
        """
    )
    assert program.stdout.strip() == "[-11, 0, 7]"
    ends = {each.command.removeprefix(sys.executable): each for each in children("sidecar")}
    statuses = {command.split("; ")[-1][:40]: (each.status or 0) & ~0x80 for command, each in ends.items()}
    assert statuses["sleep 61"] == signal.SIGKILL
    assert statuses['sys.exit(7)" 60 --api-key …'.replace('"', "")] == signal.SIGSEGV
    assert statuses["sys.exit(7)"] == 7 << 8
    assert {each.source for each in ends.values()} <= {"pidfd-info", "zombie-stat", "connector"}
    assert not [command for command in ends if "hunter2" in command]


def test_the_sidecar_does_not_keep_every_one_of_many_children() -> None:
    run(
        """
        import subprocess, holter
        from tests.e2e.seen import wait_until_seen
        run = holter.init()
        for _ in range(3):
            children = [subprocess.Popen(["cat"], stdin=subprocess.PIPE) for _ in range(20)]
            wait_until_seen(*[child.pid for child in children])
            for child in children: child.communicate()
        """
    )
    ends = [each for each in children("sidecar") if each.command == "cat"]
    assert [each.times for each in ends] == [1, 2, 3, 4, 8, 16, 32]


def test_children_that_nobody_waits_for_are_told_once() -> None:
    run(
        """
        import subprocess, holter
        from tests.e2e.seen import wait_for_looks, wait_until_seen
        run = holter.init()
        child = subprocess.Popen(["sh", "-c", "read line; exit 5"], stdin=subprocess.PIPE)
        wait_until_seen(child.pid)
        child.stdin.close()
        wait_for_looks(3)
        """
    )
    ends = [each for each in children("sidecar") if "exit 5" in each.command]
    assert [(each.status, each.source) for each in ends] == [(5 << 8, "zombie-stat")]


def test_a_child_that_ends_a_run_is_told_before_it() -> None:
    run(
        """
        import os, subprocess, holter
        from tests.e2e.seen import wait_until_seen
        run = holter.init()
        child = subprocess.Popen(["sleep", "60"])
        wait_until_seen(child.pid)
        child.kill(); child.wait()
        os._exit(1)
        """
    )
    wait_until(lambda: Catalog(str(data_directory())).rows()[0].state == "failed")
    (end,) = [each for each in children("sidecar") if each.command == "sleep 60"]
    assert end.status == signal.SIGKILL
