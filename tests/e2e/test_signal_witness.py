"""What the signal witness writes about real signals."""

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from holter.journal.signal_log import read_signal_log
from holter.model.records import Signalled
from tests.e2e.faults import REAL, STACK_OVERFLOW
from tests.e2e.programs import data_directory, only_run, run, wait_until
from tests.e2e.signals import BEGIN, SLEEP, caught, last, log, real_faults, started

FATAL = (
    "SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGBUS SIGFPE SIGUSR1 SIGSEGV SIGUSR2 SIGTERM SIGXCPU SIGSYS".split()
)
PAGE = os.sysconf("SC_PAGESIZE")


@real_faults
def test_a_real_fault_is_written_down_and_ends_the_program_as_ever(name: str) -> None:
    ended = run(BEGIN + textwrap.dedent(REAL[name]))
    number = getattr(signal, name)
    assert ended.returncode == -number
    (seen,) = log().caught
    assert seen.signal == number
    # SIGABRT is what a program sends itself, and the kernel sends SIGXFSZ in its name.
    assert seen.is_sent == (name in ("SIGABRT", "SIGXFSZ"))
    assert seen.sender_pid == (seen.pid if seen.is_sent else 0)


@pytest.mark.parametrize("name", FATAL)
def test_a_sent_signal_names_who_sent_it(name: str) -> None:
    number = getattr(signal, name)
    with started(SLEEP) as program:
        program.send_signal(number)
        assert program.wait(60) == -number
    (seen,) = caught(program.pid, number)
    assert (seen.code, seen.is_sent, seen.sender_pid, seen.sender_uid) == (0, True, os.getpid(), os.getuid())
    assert Path(f"/proc/{os.getpid()}/comm").read_text().strip() in seen.sender
    assert program.pid in log().witnessed


@pytest.mark.parametrize("where", ["main", "thread"])
def test_the_overflow_of_a_stack_shows_by_its_addresses(where: str) -> None:
    thread = "import threading; thread = threading.Thread(target=overflow); thread.start(); thread.join()\n"
    ended = run(BEGIN + STACK_OVERFLOW + ("overflow()\n" if where == "main" else thread))
    assert ended.returncode == -signal.SIGSEGV
    seen = last()
    assert abs(seen.address - seen.stack_pointer) < 64 << 10
    assert "---p" in seen.mapping or not seen.mapping
    above = int(seen.mapping_above.partition("-")[0], 16)
    assert seen.address < above <= seen.address + PAGE
    assert (seen.thread == seen.pid) == (where == "main")


def test_a_thread_leaves_no_stack_behind() -> None:
    ended = run(
        BEGIN
        + """
import threading
def mapped(): return len(open("/proc/self/maps").readlines())
def work(): pass
def many(count):
    for _ in range(count):
        thread = threading.Thread(target=work); thread.start(); thread.join()
many(5)
before = mapped()
many(200)
print(mapped() - before < 20)
"""
    )
    assert ended.stdout.splitlines()[-1] == "True"


def test_a_truncated_file_is_named() -> None:
    run(BEGIN + REAL["SIGBUS"])
    seen = last()
    assert seen.mapping.endswith("/mapped.bin")
    assert int(seen.mapping.partition("-")[0], 16) <= seen.address


def test_a_fault_names_the_library_that_it_is_in() -> None:
    run(BEGIN + REAL["SIGSEGV"])
    seen = last()
    assert (seen.code, seen.address, seen.mapping) == (1, 16, "")
    assert "libc" in seen.instruction_mapping or "python" in seen.instruction_mapping


def on_terminal(source: str, act: Callable[[int], object]) -> int:
    """Lead a session on a terminal of its own; `act` gets the terminal's other end. The exit code."""
    master, slave = os.openpty()
    command = ["setsid", "--ctty", sys.executable, "-c", source]
    program = subprocess.Popen(command, stdin=slave, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    assert program.stdout is not None
    with program.stdout:
        assert program.stdout.readline() == b"ready\n"
        act(master)
        code = program.wait(60)
    with contextlib.suppress(OSError):
        os.close(master)
    return code


def test_ctrl_c_on_a_terminal_comes_from_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_SILENT", "1")
    code = on_terminal(SLEEP, lambda master: os.write(master, b"\x03"))
    assert code == -signal.SIGINT
    (seen,) = [each for each in log().caught if each.signal == signal.SIGINT]
    assert (seen.code, seen.is_sent, seen.sender_pid) == (128, False, 0)


def test_a_closed_terminal_comes_from_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLTER_SILENT", "1")
    assert on_terminal(SLEEP, os.close) == -signal.SIGHUP
    (seen,) = [each for each in log().caught if each.signal == signal.SIGHUP]
    assert (seen.code, seen.is_sent, seen.sender_pid) == (128, False, 0)


def test_sigcont_before_sigterm_is_seen() -> None:
    with started(SLEEP) as program:
        program.send_signal(signal.SIGCONT)
        wait_until(lambda: caught(program.pid, signal.SIGCONT))
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == -signal.SIGTERM
    assert [each.signal for each in log().caught] == [signal.SIGCONT, signal.SIGTERM]


HANDLED = """
import os, signal, sys, time
{before}
import holter
run = holter.init()
{after}
print('ready', flush=True)
time.sleep(60)
"""
HANDLER = "signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(3))"


@pytest.mark.parametrize("without", ["", "signals"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_handler_runs_and_the_run_knows(when: str, without: str) -> None:
    source = HANDLED.format(**{"before": "", "after": "", when: HANDLER})
    with started(source, HOLTER_WITHOUT=without) as program:
        program.send_signal(signal.SIGTERM)
        assert program.wait(60) == 3
    loaded = only_run()
    assert [record.signal for record in loaded.said(Signalled)] == [15]
    if not without:
        (seen,) = log().caught
        assert (seen.signal, seen.is_handled, seen.sender_pid) == (15, True, os.getpid())


def test_our_stacks_are_still_written() -> None:
    run(BEGIN + REAL["SIGSEGV"])
    faults = Path(only_run().row.directory, "faults.log").read_text()
    assert "Fatal Python error: Segmentation fault" in faults
    assert "string_at" in faults


def test_forked_children_are_witnessed_under_their_own_pid() -> None:
    source = """
import os, signal, time
pid = os.fork()
if pid == 0:
    os.kill(os.getpid(), signal.SIGSEGV)
    time.sleep(60)
print(pid, os.waitpid(pid, 0)[1] & 127)
"""
    ended = run(BEGIN + source)
    pid, number = map(int, ended.stdout.splitlines()[-1].split())
    assert number == signal.SIGSEGV
    (seen,) = log().caught
    assert seen.pid == seen.sender_pid == pid
    assert pid in log().witnessed


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_multiprocessing_are_witnessed(method: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import ctypes, multiprocessing, holter
            def work(): ctypes.string_at(16)
            if __name__ == "__main__":
                run = holter.init()
                process = multiprocessing.get_context({method!r}).Process(target=work)
                process.start(); process.join()
                print(process.pid, process.exitcode)
            """
        )
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    pid, code = map(int, ended.stdout.split()[-2:])
    assert code == -signal.SIGSEGV
    (seen,) = caught(pid, signal.SIGSEGV)
    assert (seen.address, seen.code) == (16, 1)
    assert pid in log().witnessed


def test_a_second_run_has_a_log_of_its_own() -> None:
    ended = run("import holter\nholter.init().finish()\nrun = holter.init()\nimport os; os.kill(os.getpid(), 15)\n")
    assert ended.returncode == -signal.SIGTERM
    logs = [read_signal_log(str(path)) for path in sorted(data_directory().glob("runs/*"))]
    assert sorted(len(each.caught) for each in logs) == [0, 1]


def test_runs_side_by_side_both_know() -> None:
    second = "import os\nother = holter.init(reinit='create_new')\nos.kill(os.getpid(), 15)\n"
    run(BEGIN + second)
    logs = [read_signal_log(str(path)) for path in sorted(data_directory().glob("runs/*"))]
    assert [len(each.caught) for each in logs] == [1, 1]


def test_a_crash_on_the_way_out_is_seen() -> None:
    source = "import atexit, ctypes; atexit.register(ctypes.string_at, 16)\n" + BEGIN
    assert run(source).returncode == -signal.SIGSEGV
    assert last().address == 16


def test_signals_without_number_do_not_fill_the_disk() -> None:
    source = "import os, signal\nsignal.signal(10, lambda *_: None)\nfor _ in range(20_000): os.kill(os.getpid(), 10)\n"
    ended = run(BEGIN + source + "signal.signal(10, signal.SIG_DFL); os.kill(os.getpid(), 10)")
    assert ended.returncode == -signal.SIGUSR1
    assert 250 <= len(log().caught) < 300
    assert not last().is_handled
