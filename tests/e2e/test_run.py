"""`holter run -- CMD`: what the command notices of it (nothing), and what is known of it afterwards."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holter.model.records import Console, Exited, Launched
from tests.e2e.commands import COMMANDS, bash, python
from tests.e2e.launches import QUIET, RUN, UNDER_HOLTER, in_pipes, on_terminal, run_piped, shell_code
from tests.e2e.programs import data_directory, only_run, wait_until
from tests.e2e.terminals import Terminal


def console() -> bytes:
    return (Path(only_run().row.directory) / "output.log").read_bytes()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_in_pipes_is_the_same_with_and_without(name: str) -> None:
    without = in_pipes(name, [])
    assert in_pipes(name, UNDER_HOLTER) == without
    assert is_interleaved(console(), without[1], without[2]) or b"\xff" in without[1]


def is_interleaved(kept: bytes, out: bytes, err: bytes) -> bool:
    """Whether it is both, each in its order; nobody can tell which of two pipes was written to first."""
    reached = {0}  # how much of `out` may have been used up
    for length, byte in enumerate(kept, 1):
        more = {taken + 1 for taken in reached if out[taken : taken + 1] == bytes([byte])}
        same = {taken for taken in reached if err[length - 1 - taken : length - taken] == bytes([byte])}
        reached = more | same
    return len(kept) == len(out) + len(err) and len(out) in reached


def test_what_is_missing_or_out_of_order_is_no_interleaving() -> None:
    assert is_interleaved(b"o1e1\no2\n", b"o1o2\n", b"e1\n")
    assert not is_interleaved(b"o1e1\n", b"o1o2\n", b"e1\n")
    assert not is_interleaved(b"o2e1\no1\n", b"o1o2\n", b"e1\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_on_a_terminal_is_the_same_with_and_without(name: str) -> None:
    assert on_terminal(name, UNDER_HOLTER) == on_terminal(name, [])


def test_forty_commands_are_compared() -> None:
    assert len(COMMANDS) >= 40


REPORTS_SIGNALS = python(
    """
    import os, signal, sys, time
    def report(number, frame):
        print(signal.Signals(number).name, flush=True)
        if number in (signal.SIGTERM, signal.SIGQUIT): sys.exit(5)
    for name in "HUP INT QUIT TERM USR1 USR2 ALRM RTMIN".split(): signal.signal(getattr(signal, "SIG" + name), report)
    print("ready", flush=True)
    while True: time.sleep(0.05)
    """
)


@pytest.mark.parametrize("command", [REPORTS_SIGNALS, [*UNDER_HOLTER, *REPORTS_SIGNALS]], ids=["without", "with"])
def test_each_signal_that_is_sent_to_it_reaches_the_command_once(command: list[str]) -> None:
    environ = {**os.environ, **QUIET}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "ready\n"
        for name in ("HUP", "INT", "USR1", "USR2", "ALRM", "RTMIN", "TERM"):
            program.send_signal(getattr(signal, f"SIG{name}"))
            assert program.stdout.readline() == f"SIG{name}\n"
        assert program.stdout.read() == ""
    assert program.returncode == 5


@pytest.mark.parametrize("command", [REPORTS_SIGNALS, [*UNDER_HOLTER, *REPORTS_SIGNALS]], ids=["without", "with"])
def test_keys_that_send_signals_reach_the_command_once(command: list[str]) -> None:
    with Terminal(command) as terminal:
        # With the end of the line, which Python may write by itself: an echo would stand before it.
        terminal.await_text(b"ready\r\n")
        terminal.type(b"\x03")
        terminal.await_text(b"SIGINT\r\n")
        terminal.type(b"\x03")
        terminal.await_text(b"SIGINT\r\n^CSIGINT\r\n")
        terminal.type(b"\x1c")
        assert terminal.wait() == 5
    assert terminal.shown == b"ready\r\n^CSIGINT\r\n^CSIGINT\r\n^\\SIGQUIT\r\n"


@pytest.mark.parametrize("prefix", [[], UNDER_HOLTER], ids=["without", "with"])
def test_ctrl_c_ends_a_program_that_does_not_handle_it(prefix: list[str]) -> None:
    sleeps = bash("echo ready; sleep 30; echo not reached")
    with Terminal([*prefix, *sleeps]) as terminal:
        terminal.await_text(b"ready")
        terminal.type(b"\x03")
        assert terminal.wait() == 130
    assert b"not reached" not in terminal.shown


@pytest.mark.parametrize("prefix", [[], UNDER_HOLTER], ids=["without", "with"])
def test_a_new_size_of_the_terminal_reaches_all_that_ask(prefix: list[str]) -> None:
    asks = python(
        """
        import os, signal, subprocess, sys, time
        if sys.argv[1:] != ["child"]: sys.exit(subprocess.call([sys.executable, "-c", os.environ["SOURCE"], "child"]))
        sizes = []
        signal.signal(signal.SIGWINCH, lambda *_: sizes.append(os.get_terminal_size(1)))
        print(os.get_terminal_size(1), flush=True)
        while len(sizes) == 0 or sizes[-1].columns != 66: time.sleep(0.01)
        print(sizes[-1], os.get_terminal_size(0), os.get_terminal_size(2), flush=True)
        """
    )
    with Terminal([*prefix, *asks], size=(20, 50), SOURCE=asks[-1]) as terminal:
        terminal.await_text(b"columns=50, lines=20")
        terminal.resize(40, 66)
        assert terminal.wait() == 0
    assert terminal.shown.count(b"columns=66, lines=40") == 3


def test_a_hangup_of_the_terminal_reaches_the_command() -> None:
    waits = bash("trap 'echo hup > \"$OUT\"; exit 4' HUP; echo ready; while true; do sleep 0.05; done")
    out = data_directory().parent / "out"
    leads = python(
        "import fcntl, os, sys, termios\n"
        "os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0)\nos.execvp(sys.argv[1], sys.argv[1:])"
    )
    master, slave = os.openpty()
    with subprocess.Popen(
        [*leads, *UNDER_HOLTER, *waits],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, **QUIET, "OUT": str(out)},
    ) as launcher:
        os.close(slave)
        assert b"ready" in os.read(master, 100)
        os.close(master)
        assert launcher.wait(60) == 4
    assert out.read_text() == "hup\n"


def test_nohup_is_respected() -> None:
    waits = bash("echo ready; sleep 1; echo over")
    with subprocess.Popen(
        ["nohup", *UNDER_HOLTER, *waits], stdout=subprocess.PIPE, text=True, env={**os.environ, **QUIET}
    ) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == "ready\n"
        launcher.send_signal(signal.SIGHUP)
        assert launcher.stdout.read() == "over\n"
    assert launcher.returncode == 0


@pytest.mark.parametrize("prefix", [[], UNDER_HOLTER], ids=["without", "with"])
def test_a_reader_that_goes_away_ends_the_program_with_sigpipe(prefix: list[str]) -> None:
    prints = bash("echo first; trap 'echo $? > \"$OUT\"' EXIT; while echo more; do :; done; exit 7")
    out = data_directory().parent / "out"
    with subprocess.Popen(
        [*prefix, *prints], stdout=subprocess.PIPE, env={**os.environ, **QUIET, "OUT": str(out)}
    ) as program:
        assert program.stdout is not None
        program.stdout.readline()
        program.stdout.close()
        code = shell_code(program.wait(60))
    assert code == 141


@pytest.mark.parametrize("prefix", [[], UNDER_HOLTER], ids=["without", "with"])
def test_a_reader_that_goes_away_is_noticed_with_the_next_write(prefix: list[str]) -> None:
    prints = python(
        """
        import select, sys
        print("first", flush=True)
        nobody_reads = select.poll(); nobody_reads.register(1, select.POLLERR)
        nobody_reads.poll(60_000)
        try: print("second", flush=True)
        except BrokenPipeError: sys.stderr.write("broken"); sys.stderr.flush(); import os; os._exit(6)
        """
    )
    with subprocess.Popen(
        [*prefix, *prints], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **QUIET}
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.readline()
        program.stdout.close()
        assert program.stderr.read() == b"broken"
    assert program.returncode == 6


def test_a_slow_reader_slows_the_program_and_nothing_piles_up() -> None:
    prints = python(
        """
        import os, sys, time
        written = 0
        os.set_blocking(1, True)
        while written < 8 << 20:
            written += os.write(1, b"x" * 65536)
            sys.stderr.write(f"{written}\\n"); sys.stderr.flush()
        """
    )
    with subprocess.Popen(
        [*UNDER_HOLTER, *prints], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **QUIET}
    ) as launcher:
        assert launcher.stdout is not None
        assert launcher.stderr is not None
        os.set_blocking(launcher.stderr.fileno(), False)
        time.sleep(1.5)
        held = int((launcher.stderr.read() or b"0").split()[-1])
        used = int(Path(f"/proc/{launcher.pid}/statm").read_text().split()[1]) * 4096
        os.set_blocking(launcher.stderr.fileno(), True)
        out, _ = launcher.communicate(timeout=60)
    assert held <= 5 * 65536  # two pipes and the chunk between them
    assert used < 100 << 20
    assert out == b"x" * (8 << 20)


@pytest.mark.parametrize("prefix", [[], UNDER_HOLTER], ids=["without", "with"])
def test_files_stay_files(prefix: list[str], tmp_path: Path) -> None:
    asks = python(
        """
        import fcntl, os, stat, sys
        status = os.fstat(1)
        print(stat.S_ISREG(status.st_mode), os.path.samefile("/proc/self/fd/1", os.environ["FILE"]))
        print(bool(fcntl.fcntl(1, fcntl.F_GETFL) & os.O_APPEND), flush=True)
        print("err", file=sys.stderr, flush=True); os.write(1, b"raw\\n"); os.system("echo child")
        """
    )
    file = tmp_path / "out.txt"
    file.write_text("before\n")
    with file.open("ab") as out:
        subprocess.run(
            [*prefix, *asks], stdout=out, stderr=out, env={**os.environ, **QUIET, "FILE": str(file)}, check=True
        )
    assert file.read_text() == "before\nTrue True\nTrue\nerr\nraw\nchild\n"
    if prefix:
        wait_until((Path(only_run().row.directory) / "output.log").exists)
        wait_until(lambda: console() == b"True True\nTrue\nerr\nraw\nchild\n")


def test_stdout_and_stderr_are_decided_separately(tmp_path: Path) -> None:
    asks = python("import os, stat; os.write(2, repr([stat.S_IFMT(os.fstat(fd).st_mode) for fd in (1, 2)]).encode())")
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [*UNDER_HOLTER, *asks], stdout=out, stderr=subprocess.PIPE, env={**os.environ, **QUIET}, check=True
        )
    assert done.stderr == b"[32768, 4096]"
    (kept,) = only_run().said(Console)
    assert (kept.stdout, kept.stderr) == ("file", "pipe")


@pytest.mark.parametrize("prefix", [[], UNDER_HOLTER], ids=["without", "with"])
def test_closed_descriptors_stay_closed(prefix: list[str], tmp_path: Path) -> None:
    asks = bash('for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ]; found="$found$?"; done; echo $found > "$OUT"')
    out = tmp_path / "out"
    command = ["bash", "-c", 'exec 0<&- 1>&- 2>&-; exec "$@"', "bash", *prefix, *asks]
    subprocess.run(command, env={**os.environ, **QUIET, "OUT": str(out)}, check=True)
    assert out.read_text() == "111\n"


@pytest.mark.parametrize("prefix", [[], UNDER_HOLTER], ids=["without", "with"])
def test_further_descriptors_are_handed_on(prefix: list[str], tmp_path: Path) -> None:
    command = ["bash", "-c", 'exec 5> "$OUT"; "$@"', "bash", *prefix, *bash("echo five >&5")]
    subprocess.run(command, env={**os.environ, **QUIET, "OUT": str(tmp_path / "out")}, check=True)
    assert (tmp_path / "out").read_text() == "five\n"


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["no-such-command-anywhere"], 127, "there is no command 'no-such-command-anywhere'"),
        (["./no/such/file"], 127, "there is no file './no/such/file'"),
        (["/etc/passwd"], 126, "'/etc/passwd' can't be run: it is not executable"),
        (["/etc"], 126, "'/etc' is a directory"),
    ],
)
def test_a_command_that_cannot_be_run_is_told_as_a_shell_would(command: list[str], code: int, words: str) -> None:
    found, out, err = run_piped([*UNDER_HOLTER, *command], HOLTER_SILENT="")
    assert (found, out) == (code, b"")
    assert err.decode().startswith("holter: ")
    assert words in err.decode()
    assert not data_directory().exists()


@pytest.mark.parametrize("prefix", [[], UNDER_HOLTER], ids=["without", "with"])
def test_a_script_that_does_not_say_for_whom_is_run_by_the_shell(prefix: list[str], tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo $0 $1; exit 3\n")
    script.chmod(0o755)
    assert run_piped(["env", *prefix, str(script), "argument"]) == (3, f"{script} argument\n".encode(), b"")


def test_a_call_without_a_command_says_how_to_write_it() -> None:
    for call in ([*RUN], [*RUN, "--"], [*RUN, "--config", "lr=1", "python"]):
        code, _, err = run_piped(call, HOLTER_SILENT="")
        assert code == 2
        assert b"holter run" in err


def test_disabled_means_not_there() -> None:
    assert run_piped([*UNDER_HOLTER, *bash("echo $HOLTER_RUN_ID.; exit 3")], HOLTER_MODE="disabled") == (3, b".\n", b"")
    assert not data_directory().exists()


@pytest.mark.parametrize(
    ("script", "state", "status"),
    [
        ("exit 0", "finished", 0),
        ("exit 3", "failed", 3 << 8),
        ("kill -9 $$", "crashed", 9),
        ("kill -TERM $$; sleep 5", "crashed", 15),
        ("kill -INT $$; sleep 5", "failed", 2),
    ],
)
def test_the_state_of_a_run_without_a_line_of_holter_is_known_by_its_status(
    script: str, state: str, status: int
) -> None:
    run_piped([*UNDER_HOLTER, *bash(script)])
    loaded = only_run()
    assert (loaded.row.state, loaded.outcome.status, loaded.outcome.source) == (state, status, "wait")


def test_what_only_a_parent_is_told_is_kept() -> None:
    run_piped([*UNDER_HOLTER, *python("b = bytearray(80_000_000); sum(range(3_000_000))")])
    loaded = only_run()
    (launched,) = loaded.said(Launched)
    exits = {exited.source: exited for exited in loaded.said(Exited)}
    assert launched.command[1] == "-c"
    assert exits["wait"].pid == launched.pid
    assert exits["wait"].max_rss_bytes > 80_000_000
    assert exits["wait"].user_s > 0.01


def test_options_describe_the_run() -> None:
    options = "--project p --name n --tags a,b --tags c --group g --notes text --config lr=3e-4 n=64 x=true y=[1] z=abc"
    run_piped([*RUN, *options.split(), "--", "true"])
    view = only_run().row
    assert (view.project, view.name, view.tags, view.group, view.notes) == ("p", "n", ("a", "b", "c"), "g", "text")
    assert view.config == {"lr": 3e-4, "n": 64, "x": True, "y": [1], "z": "abc"}


def test_the_end_is_said_in_three_short_lines_at_most() -> None:
    _, _, finished = run_piped([*RUN, "--name", "one", "--", "true"], HOLTER_SILENT="")
    _, _, crashed = run_piped([*RUN, "--name", "two", "--", *bash("kill -9 $$")], HOLTER_SILENT="")
    assert [line.split(b" after ")[0] for line in finished.splitlines()] == [b"holter: one finished"]
    first, second, third = crashed.splitlines()
    assert first.startswith(b"holter: two crashed after ")
    assert b"SIGKILL" in first
    assert second.startswith(b"holter: what to do: ")
    assert b"holter why" in third
    _, _, quiet = run_piped([*RUN, "--name", "two", "--", *bash("kill -9 $$")], HOLTER_SILENT="", HOLTER_QUIET="1")
    assert len(quiet.splitlines()) == 2
    assert run_piped([*RUN, "--", "true"], HOLTER_SILENT="", HOLTER_QUIET="1")[2] == b""


def test_a_program_that_calls_init_is_the_same_run() -> None:
    source = """
        import holter
        run = holter.init(project="own", config={"lr": 1})
        for i in range(3): run.log({"i": i})
        print(run.id, run.name, dict(run.config))
        """
    _, out, err = run_piped([*RUN, "--name", "n", "--config", "a=2", "--", *python(source)], HOLTER_SILENT="")
    loaded = only_run()
    view = loaded.row
    assert out.decode() == f"{view.id} n {{'a': 2, 'lr': 1}}\n"
    assert (view.project, view.name, view.state, view.rows, view.attempt) == ("own", "n", "finished", 3, 1)
    assert view.config == {"a": 2, "lr": 1}
    assert len(err.splitlines()) == 1
    assert b"with 3 rows" in err
    # What it prints is kept once.
    assert console() == out
    assert [kept.stdout for kept in loaded.said(Console)] == ["pipe", "launcher"]


@pytest.mark.parametrize(
    ("end", "state", "because"),
    [
        ("", "finished", "exited with exit code 0"),
        ("run.finish(); import sys; sys.exit(3)", "finished", "the program ended the run"),
        ("run.finish(exit_code=2)", "failed", "the program ended the run with exit code 2"),
        ("raise ValueError('no')", "failed", "ValueError: no"),
        ("import os; os.kill(os.getpid(), 9)", "crashed", "SIGKILL ended process"),
    ],
)
def test_the_programs_own_word_counts_more_than_its_exit_status(end: str, state: str, because: str) -> None:
    run_piped([*UNDER_HOLTER, *python(f"import holter; run = holter.init(); run.log({{'a': 1}})\n{end}")])
    loaded = only_run()
    assert (loaded.row.state, loaded.row.rows) == (state, 1)
    assert because in loaded.outcome.because


RECORDS = "import holter, sys; run = holter.init(); run.log({'i': run.step}); CODE"


@pytest.mark.parametrize(
    ("script", "state", "rows"),
    [
        ("$P ''; exit 3", "failed", 1),
        ("$P 'import os; os.kill(os.getpid(), 9)'; exit 0", "crashed", 1),
        ("$P 'sys.exit(1)' || $P ''; exit 0", "finished", 2),
        ("$P ''; $P 'run.finish()'; exit 3", "finished", 2),
        ("$P '' & $P '' & wait; exit 0", "finished", 2),
    ],
)
def test_a_script_of_several_programs_is_one_run(script: str, state: str, rows: int, tmp_path: Path) -> None:
    recorder = tmp_path / "record"
    recorder.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{RECORDS.replace("CODE", "$1")}"\n')
    recorder.chmod(0o755)
    run_piped([*UNDER_HOLTER, *bash(script.replace("$P", str(recorder)))])
    loaded = only_run()
    assert (loaded.row.state, loaded.row.rows, loaded.row.attempt) == (state, rows, 1)


def test_a_second_run_of_the_program_is_one_of_its_own() -> None:
    source = """
        import holter
        for i in range(2):
            with holter.init() as run: run.log({"i": i}); print(run.id)
        """
    _, out, _ = run_piped([*UNDER_HOLTER, *python(source)])
    first, second = out.decode().split()
    assert first != second
    assert sorted(path.name for path in (data_directory() / "runs").iterdir()) == sorted([first, second])


def test_the_same_id_again_is_another_attempt() -> None:
    for code in (1, 0):
        run_piped([*UNDER_HOLTER, *bash(f"echo {code}; exit {code}")], HOLTER_RUN_ID="again")
    loaded = only_run()
    assert (loaded.row.id, loaded.row.attempt, loaded.row.state) == ("again", 2, "finished")
    directory = Path(loaded.row.directory)
    assert [(directory / name).read_text() for name in ("output.log", "output-2.log")] == ["1\n", "0\n"]


def test_a_launcher_inside_another_makes_a_run_of_its_own() -> None:
    run_piped([*RUN, "--name", "outer", "--", *RUN, "--name", "inner", "--", "echo", "hello"])
    outer, inner = sorted((data_directory() / "runs").iterdir(), key=lambda path: path.stat().st_ctime)
    assert outer != inner
    assert [(path / "output.log").read_bytes() for path in (outer, inner)] == [b"hello\n", b"hello\n"]


def test_a_directory_that_cannot_be_made_costs_only_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    place = str(tmp_path / "file" / "holter")
    code, out, err = run_piped([*UNDER_HOLTER, *bash("echo hello; exit 3")], HOLTER_DIR=place, HOLTER_SILENT="")
    assert (code, out) == (3, b"hello\n")
    assert b"can't record in" in err
