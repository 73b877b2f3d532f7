"""What a run keeps of its program's output, and what the program notices of that."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holter.console.reading import ConsoleReader
from holter.model.records import Console
from tests.e2e.commands import python
from tests.e2e.launches import QUIET, UNDER_HOLTER, run_piped
from tests.e2e.programs import data_directory, only_run, run, sidecars, start, wait_until
from tests.e2e.terminals import Terminal

HOLTER = [sys.executable, "-m", "holter"]


def directory() -> Path:
    (found,) = (data_directory() / "runs").iterdir()
    return found


def kept() -> bytes:
    """The whole console, from all transcripts."""
    return b"".join(printed.data for printed in ConsoleReader(str(directory())).hear())


def how() -> tuple[str, str]:
    (console,) = only_run().said(Console)
    return console.stdout, console.stderr


def test_what_python_prints_is_copied_after_init() -> None:
    program = run(
        """
        import sys, holter
        print("before")
        run = holter.init()
        print("out"); print("err", file=sys.stderr)
        sys.stdout.write("written\\n"); sys.stdout.writelines(["lines\\n"]); sys.stdout.write("caf\\xe9 \\udcff\\n")
        print("unfinished", end="")
        """,
        PYTHONUNBUFFERED="",
        PYTHONIOENCODING="utf-8:replace",
    )
    assert program.stdout == "before\nout\nwritten\nlines\ncafé ?\nunfinished"
    assert program.stderr == "err\n"
    assert how() == ("python", "python")
    assert kept().decode() == "out\nerr\nwritten\nlines\ncafé ?\nunfinished"


def test_the_streams_stay_the_objects_that_they_are() -> None:
    program = run(
        """
        import sys, holter
        def look():
            streams = (sys.stdout, sys.stderr, sys.__stdout__)
            return [(s, s.buffer, type(s), s.encoding, s.fileno(), s.isatty(), s.line_buffering) for s in streams]
        before = look()
        run = holter.init()
        assert look() == before
        assert print("one") is None and sys.stdout.write("two\\n") == 4
        run.finish()
        print("three", flush=True)
        assert not {"write", "flush"} & {*vars(sys.stdout), *vars(sys.stderr)}
        """
    )
    assert (program.returncode, program.stderr) == (0, "")
    assert program.stdout == "one\ntwo\nthree\n"
    assert kept() == b"one\ntwo\n"


def test_a_tee_of_the_user_is_seen_through_and_stays() -> None:
    program = run(
        """
        import sys, holter
        class Tee:
            def __init__(self, stream): self.stream = stream
            def write(self, text): return self.stream.write(text.upper())
            def flush(self): self.stream.flush()
        sys.stdout = Tee(sys.stdout)
        run = holter.init()
        print("teed")
        run.finish()
        assert isinstance(sys.stdout, Tee)
        """
    )
    assert program.stdout == "TEED\n"
    assert kept() == b"TEED\n"


def test_runs_one_after_the_other_have_each_their_own_lines() -> None:
    run(
        """
        import holter
        for i in range(3):
            with holter.init(id=f"run-{i}"): print("line", i, flush=True)
        """
    )
    texts = {path.name: (path / "output.log").read_text() for path in (data_directory() / "runs").iterdir()}
    assert texts == {f"run-{i}": f"line {i}\n" for i in range(3)}


def test_children_that_were_forked_print_into_the_run_too() -> None:
    run(
        """
        import os, holter
        holter.init()
        print("parent", flush=True)
        if os.fork() == 0:
            print("child", flush=True); os._exit(0)
        os.wait()
        print("again", flush=True)
        """
    )
    assert sorted(kept().split()) == [b"again", b"child", b"parent"]


def test_what_is_below_python_is_not_copied_and_show_says_so() -> None:
    program = run("import os, holter\nholter.init()\nos.write(1, b'raw\\n'); os.system('echo child')")
    assert program.stdout == "raw\nchild\n"
    assert list(directory().glob("output*.log")) == []
    shown = subprocess.run([*HOLTER, "show"], capture_output=True, text=True, check=True).stdout
    assert "stdout: what Python printed; not what C libraries and child processes did" in shown


def test_a_file_is_read_instead_and_has_everything(tmp_path: Path) -> None:
    source = """
        import os, sys, holter
        run = holter.init()
        assert "write" not in vars(sys.stdout)
        print("python", flush=True); os.write(1, b"raw\\n"); os.system("echo child"); print("err", file=sys.stderr)
        """
    with (tmp_path / "out.txt").open("wb") as out:
        out.write(b"before\n")
        out.flush()
        subprocess.run(python(source), stdout=out, stderr=out, env={**os.environ, **QUIET}, check=True)
    wait_until(lambda: list(directory().glob("output.log")) and kept() == b"python\nraw\nchild\nerr\n")
    assert how() == ("file", "file")


def test_a_program_that_ends_its_run_and_leaves_has_its_last_lines_kept(tmp_path: Path) -> None:
    source = "import holter, time\nrun = holter.init()\nprint('in the buffer')\nrun.finish()\ntime.sleep(0.3)"
    with (tmp_path / "out.txt").open("wb") as out:
        environ = {**os.environ, **QUIET, "PYTHONUNBUFFERED": ""}
        subprocess.run(python(source), stdout=out, stderr=out, env=environ, check=True)
    wait_until(lambda: list(directory().glob("output.log")) and kept() == b"in the buffer\n")


def test_nothing_is_kept_where_the_limit_is_nothing() -> None:
    run(
        "import sys, holter\nholter.init()\nassert 'write' not in vars(sys.stdout)\nprint('x')",
        HOLTER_CONSOLE_LIMIT="0",
    )
    assert how() == ("none: the limit is 0", "none: the limit is 0")
    assert list(directory().glob("output*")) == []


def test_a_stream_that_breaks_breaks_for_the_program_as_without() -> None:
    program = run(
        """
        import os, sys, holter
        holter.init()
        os.close(1)
        try: print("x", flush=True)
        except OSError as error: sys.stderr.write(f"{error.errno}"); sys.stderr.flush(); os._exit(3)
        """
    )
    assert (program.returncode, program.stderr) == (3, "9")


def test_a_directory_that_vanishes_does_not_disturb_the_program() -> None:
    program = run(
        """
        import shutil, holter
        run = holter.init()
        shutil.rmtree(run.dir)
        for i in range(3): print("line", i)
        """
    )
    assert (program.returncode, program.stdout) == (0, "line 0\nline 1\nline 2\n")


def test_an_interrupt_while_printing_does_not_double_or_tear_a_line() -> None:
    program = run(
        """
        import signal, sys, holter
        sys.stdout.reconfigure(line_buffering=True)
        holter.init()
        is_printing = False
        def interrupt(*_):
            if is_printing: raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
        caught = line = 0
        while caught < 300:
            try:
                is_printing = True
                while True:
                    line += 1
                    sys.stdout.write(f"{line}\\n")
            except KeyboardInterrupt:
                is_printing = False
                caught += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        """,
        PYTHONUNBUFFERED="",
    )
    assert (program.returncode, program.stderr) == (0, "")
    numbers = [int(line) for line in program.stdout.split()]
    assert numbers == sorted(set(numbers))


def test_a_handler_that_prints_while_the_program_prints_does_no_harm() -> None:
    program = run(
        """
        import signal, sys, holter
        holter.init()
        count = 0
        def report(*_):
            global count
            count += 1
            print("handler", count)
        signal.signal(signal.SIGALRM, report)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        while count < 200: print("program")
        signal.setitimer(signal.ITIMER_REAL, 0)
        """
    )
    assert (program.returncode, program.stderr) == (0, "")


def test_threads_that_print_lose_nothing() -> None:
    run(
        """
        import sys, threading, holter
        holter.init()
        def work(n):
            for i in range(500): sys.stdout.write(f"{n} {i}\\n")
        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        """
    )
    # Not compared with what came out: CPython before 3.12.4 loses some of that by itself.
    assert sorted(kept().decode().splitlines()) == sorted(f"{n} {i}" for n in range(4) for i in range(500))


def test_of_gigabytes_the_beginning_and_the_end_are_kept() -> None:
    source = "import sys\nfor i in range(60_000): sys.stdout.write(f'{i:08d}' + 'x' * 91 + '\\n')"
    code, out, _ = run_piped([*UNDER_HOLTER, *python(source)], HOLTER_CONSOLE_LIMIT="1MiB")
    assert (code, len(out)) == (0, 6_000_000)
    lines = kept().split()
    assert lines[0][:8] == b"00000000"
    assert lines[-1][:8] == b"00059999"
    sizes = [path.stat().st_size for path in directory().glob("output*.log")]
    assert sum(sizes) <= (1 << 20) + 9 * 100  # each of nine pieces ends with a whole line
    shown = subprocess.run([*HOLTER, "show"], capture_output=True, text=True, check=True).stdout
    assert "bytes in the middle were left out" in shown
    tail = subprocess.run([*HOLTER, "tail", "-n", "2"], capture_output=True, text=True, check=True).stdout
    assert [line[:8] for line in tail.split()] == ["00059998", "00059999"]


def test_secrets_do_not_stay_on_the_disk() -> None:
    source = "import holter\nwith holter.init(): print('token hf_' + 'a1' * 15, flush=True)"
    run(source)
    wait_until(lambda: b"hf_a1" not in (directory() / "output.log").read_bytes())
    assert (directory() / "output.log").read_bytes() == b"token " + b"*" * 33 + b"\n"


@pytest.mark.parametrize("seed", range(4))
def test_no_byte_that_the_program_wrote_is_lost_when_it_is_killed(seed: int) -> None:
    """`make bench` does the same a hundred times."""
    prints = python(
        """
        import os
        step = 0
        while True:
            os.write(1, b"%09d\\n" % step)
            step += 1
        """
    )
    command = [*UNDER_HOLTER, *prints]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **QUIET}) as launcher:
        assert launcher.stdout is not None
        read = os.read(launcher.stdout.fileno(), 10)
        children = Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split()
        end = time.monotonic() + random.Random(seed).uniform(0.02, 0.4)
        while time.monotonic() < end:
            read += os.read(launcher.stdout.fileno(), 65536)
        os.kill(int(children[0]), signal.SIGKILL)
        read += launcher.stdout.read()
    assert launcher.returncode == 137
    assert read == b"".join(b"%09d\n" % step for step in range(len(read) // 10))
    assert kept() == read


def test_tail_shows_what_a_terminal_would() -> None:
    run(
        """
        import sys, holter
        with holter.init() as run:
            for i in range(50): sys.stdout.write(f"\\r{i}%")
            print("\\ndone")
            run.log({"a": 1})
        """
    )
    tail = subprocess.run([*HOLTER, "tail"], capture_output=True, text=True, check=True).stdout
    assert tail == "49%\ndone\n"
    rows = subprocess.run([*HOLTER, "tail", "--rows"], capture_output=True, text=True, check=True).stdout
    assert rows.endswith("step 0  a=1\n")


def test_tail_of_a_run_that_printed_nothing_shows_its_rows() -> None:
    run("import holter\nwith holter.init() as run: run.log({'a': 1})", HOLTER_QUIET="")
    tail = subprocess.run([*HOLTER, "tail"], capture_output=True, text=True, check=True).stdout
    assert tail.endswith("step 0  a=1\n")


def test_tail_follows_the_console_to_the_end_of_the_run() -> None:
    source = """
        import time, holter
        holter.init()
        for i in range(30): print("line", i); time.sleep(0.05)
        print("last")
        """
    with start(source) as program:
        wait_until(lambda: data_directory().exists() and list(data_directory().glob("runs/*/output.log")))
        tail = subprocess.run(
            [*HOLTER, "tail", "-f", "-n", "1000"], capture_output=True, text=True, timeout=60, check=True
        )
        program.communicate()
    *lines, headline = tail.stdout.splitlines()
    assert lines == [*(f"line {i}" for i in range(30)), "last"]
    assert "finished" in headline


def test_tail_on_a_terminal_leaves_a_progress_bar_a_progress_bar(tmp_path: Path) -> None:
    source = """
        import os, sys, time, holter
        holter.init()
        sys.stdout.write("\\r0%")
        while not os.path.exists(os.environ["GO"]): time.sleep(0.02)
        for i in (1, 2): sys.stdout.write(f"\\r{i}%")
        print("\\ndone")
        """
    with start(source, GO=str(tmp_path / "go"), PYTHONUNBUFFERED="") as program:
        wait_until(lambda: list(data_directory().glob("runs/*/output.log")) and kept(), within_s=60)
        with Terminal([*HOLTER, "tail", "-f"]) as terminal:
            terminal.await_text(b"0%")
            (tmp_path / "go").touch()
            assert terminal.wait() == 0
        program.communicate()
    assert terminal.shown.startswith(b"0%\r1%\r2%\r\ndone\r\n\x1b[32m")


def test_the_console_of_a_run_under_holter_has_times_and_streams() -> None:
    source = "import os, time\nos.write(1, b'out'); time.sleep(1); os.write(2, b'err')"
    run_piped([*UNDER_HOLTER, *python(source)])
    first, second = ConsoleReader(str(directory())).hear()
    assert [(each.stream, each.data) for each in (first, second)] == [(1, b"out"), (2, b"err")]
    assert 0.1e9 < second.at_ns - first.at_ns < 60e9  # what reads them may have been late for the first


def test_a_sidecar_that_scrubs_leaves_soon() -> None:
    run_piped([*UNDER_HOLTER, *python("print('hello')")])
    wait_until(lambda: not sidecars(str(data_directory())), within_s=60)
