"""How a program leaves: what is known of it although nothing of ours runs afterwards."""

from pathlib import Path

import pytest

from holter.model.records import Finished, Raised
from tests.e2e.programs import only_run, run, said

BEGIN = "import os, sys, holter; run = holter.init()\n"


def finished() -> list[tuple[str, int | None]]:
    found = said(only_run().row.directory, Finished)
    return [(record.how, record.exit_code) for record in found if isinstance(record, Finished)]


def raised() -> list[tuple[str, str]]:
    found = said(only_run().row.directory, Raised)
    return [(record.where, record.message) for record in found if isinstance(record, Raised)]


@pytest.mark.parametrize(("code", "state"), [(0, "finished"), (7, "failed")])
@pytest.mark.parametrize("without", ["", "sidecar"])
def test_os_exit_is_recorded_with_its_code(code: int, state: str, without: str) -> None:
    ended = run(BEGIN + f"run.log({{'a': 1}}); os._exit({code})", HOLTER_WITHOUT=without)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", "")
    assert finished() == [("_exit", code)]
    assert only_run().row.state == state


def test_os_exit_says_what_it_would_say_without_a_run() -> None:
    source = "for wrong in (('x',), (), (1, 2), (2**40,)):\n try: os._exit(*wrong)\n except Exception as e: print(e)\n"
    with_run, without = run(BEGIN + source), run("import os\n" + source)
    assert with_run.stdout == without.stdout
    assert finished() == [("atexit", None)]


def test_os_exit_in_the_middle_of_everything_leaves_at_once() -> None:
    source = """
import signal, threading
def log():
    while True: run.log({'a': 1})
for _ in range(3): threading.Thread(target=log, daemon=True).start()
signal.signal(signal.SIGALRM, lambda *_: os._exit(5))
signal.setitimer(signal.ITIMER_REAL, 0.3)
log()
"""
    assert run(BEGIN + source).returncode == 5
    assert finished() in ([("_exit", 5)], [])  # inside of `log()` nothing more can be written: the exit status tells
    assert only_run().row.state == "failed"


@pytest.mark.parametrize("code", [0, 3])
def test_os_exit_of_a_child_does_not_end_the_run(code: int) -> None:
    source = f"if os.fork() == 0: os._exit({code})\nos.wait(); run.log({{'a': 1}})"
    assert run(BEGIN + source).returncode == 0
    assert finished() == [("atexit", None)]
    assert only_run().row.state == "finished"


def test_children_of_multiprocessing_leave_as_ever() -> None:
    source = "from multiprocessing import get_context; p = get_context('fork').Process(target=print, args=('work',))\n"
    ended = run(BEGIN + source + "p.start(); p.join(); print(p.exitcode)")
    assert ended.stdout == "work\n0\n"
    assert finished() == [("atexit", None)]


@pytest.mark.parametrize("hook", ["lambda *_: None", "lambda *_: 1 / 0"])
def test_an_exception_is_known_although_somebody_s_hook_hides_it(hook: str) -> None:
    assert run(BEGIN + f"sys.excepthook = {hook}\nraise ValueError('hidden')").returncode == 1
    assert raised() == [("main", "hidden")]


def test_an_exception_is_known_once() -> None:
    assert run(BEGIN + "raise ValueError('seen')").returncode == 1
    assert raised() == [("main", "seen")]


@pytest.mark.parametrize("without", ["", "sidecar"])
@pytest.mark.parametrize(("then", "state"), [("run.log({'a': 1})", "finished"), ("sys.exit(1)", "failed")])
def test_what_a_program_shows_by_itself_is_no_end_of_it(then: str, state: str, without: str) -> None:
    source = "try: {}['weights']\nexcept KeyError: sys.excepthook(*sys.exc_info())\n"
    run(BEGIN + source + then, HOLTER_WITHOUT=without)
    assert raised() == [("shown", "'weights'")]
    assert only_run().row.state == state


def test_what_the_screen_showed_of_an_interactive_program_did_not_end_it() -> None:
    assert run(BEGIN + "sys.ps1 = '>>> '; sys.last_value = ValueError('an hour ago')").returncode == 0
    assert raised() == []


def test_without_a_sidecar_the_client_starts_none() -> None:
    assert run(BEGIN, HOLTER_WITHOUT="sidecar").returncode == 0
    assert finished() == [("atexit", None)]
    assert list(Path(only_run().row.directory).glob("sidecar*")) == []


@pytest.mark.parametrize(
    ("status", "code", "state"), [("", 0, "finished"), ("3", 3, "failed"), ("'no data'", 1, "failed")]
)
def test_sys_exit_is_known_by_its_code_also_where_nobody_reads_the_exit_status(
    status: str, code: int, state: str
) -> None:
    ended = run(BEGIN + f"sys.exit({status})", HOLTER_WITHOUT="sidecar")
    assert ended.returncode == code
    assert ended.stderr == ("no data\n" if status == "'no data'" else "")
    assert finished() == [("atexit", code)]
    assert only_run().row.state == state


def test_a_sys_exit_that_somebody_caught_does_not_decide() -> None:
    assert run(BEGIN + "try: sys.exit(3)\nexcept SystemExit: pass").returncode == 0
    assert only_run().row.state == "finished"


def test_a_thread_that_calls_sys_exit_ends_alone() -> None:
    source = "import threading; t = threading.Thread(target=sys.exit, args=(3,)); t.start(); t.join()"
    assert run(BEGIN + source, HOLTER_WITHOUT="sidecar").returncode == 0
    assert finished() == [("atexit", None)]


@pytest.mark.parametrize("wait", ["sigwait([signal.SIGTERM])", "sigtimedwait([signal.SIGTERM], 5)"])
def test_a_sigterm_that_the_program_waits_for_is_seen(wait: str) -> None:
    source = "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); os.kill(os.getpid(), 15)\n"
    ended = run(BEGIN + source + f"got = signal.{wait}; print(getattr(got, 'si_signo', got) == 15); os._exit(0)")
    assert (ended.returncode, ended.stdout) == (0, "True\n")
    assert only_run().row.state == "crashed"
