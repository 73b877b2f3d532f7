"""Nobody can tell that there is a signal witness: signals mean what they meant without."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.e2e.faults import ONLY_X86_64, REAL
from tests.e2e.programs import run, wait_until
from tests.e2e.signals import BEGIN, SLEEP, log, real_faults, started


@real_faults
def test_the_wait_status_is_the_same_without_a_witness(name: str, tmp_path: Path) -> None:
    source = f"import os; os.chdir({str(tmp_path)!r})\n" + LARGE_CORES + BEGIN + textwrap.dedent(REAL[name])
    with_it, without = wait_status(source), wait_status(source, HOLTER_WITHOUT="signals")
    assert with_it == without
    assert os.WTERMSIG(with_it) == getattr(signal, name)
    assert os.WCOREDUMP(with_it) == dumps_core()


LARGE_CORES = (
    "import resource; resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)\n"
)


def dumps_core() -> bool:
    pattern = Path("/proc/sys/kernel/core_pattern").read_text().strip()
    limit = int(
        subprocess.run(["bash", "-c", "ulimit -Hc | sed s/unlimited/1000000/"], capture_output=True, check=True).stdout
    )
    return pattern.startswith("|") or limit > 0


def wait_status(source: str, **environment: str) -> int:
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (1, 2)]
    command = [sys.executable, "-c", source]
    pid = os.posix_spawn(sys.executable, command, {**os.environ, **environment}, file_actions=null)
    return os.waitpid(pid, 0)[1]


def test_job_control_is_the_same(tmp_path: Path) -> None:
    def state(pid: int) -> str:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

    waits = "import os, time\nwhile not os.path.exists(os.environ['GO']): time.sleep(0.02)\nprint('slept')"
    with started(BEGIN + waits, GO=str(tmp_path / "go")) as program:
        program.send_signal(signal.SIGSTOP)
        wait_until(lambda: state(program.pid) == "T")
        program.send_signal(signal.SIGCONT)
        wait_until(lambda: state(program.pid) != "T")
        (tmp_path / "go").touch()
        assert program.communicate(timeout=60)[0] == "slept\n"
        assert program.returncode == 0


def test_an_ignored_signal_stays_ignored() -> None:
    source = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n" + BEGIN
    source += "import os; os.kill(os.getpid(), signal.SIGHUP)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    ended = run(source + "os.kill(os.getpid(), signal.SIGTERM); print(open('/proc/self/status').read())")
    assert ended.returncode == 0
    ignored = int(ended.stdout.partition("SigIgn:")[2].split()[0], 16)
    assert all(ignored >> number - 1 & 1 for number in (signal.SIGHUP, signal.SIGTERM))
    assert log().caught == ()


SEMANTICS = """
import os, signal, sys, threading, time
from signal import signal as early
def own(number, frame): got.append((number, frame is not None))
got = []
import holter
run = holter.init()
def attempt(call, *args):
    try: return call(*args)
    except BaseException as error: return type(error).__name__, str(error)
def in_thread(call, *args):
    results = []
    thread = threading.Thread(target=lambda: results.append(attempt(call, *args))); thread.start(); thread.join()
    return results
print(signal.getsignal(signal.SIGTERM), signal.signal(signal.SIGTERM, own), signal.getsignal(signal.SIGTERM) is own)
print(signal.signal(signal.SIGTERM, own) is own, early(signal.SIGTERM, own) is own)
os.kill(os.getpid(), signal.SIGTERM)
print(got)
print(attempt(signal.signal, 9, own)); print(attempt(signal.signal, 0, own)); print(attempt(signal.signal, 99, own))
print(attempt(signal.signal, signal.SIGTERM, 'x')); print(attempt(signal.signal, signal.SIGTERM))
print(attempt(signal.signal, 'x', own)); print(in_thread(signal.signal, signal.SIGTERM, own))
print(signal.signal(signal.SIGTERM, signal.SIG_IGN) is own, signal.getsignal(signal.SIGTERM))
os.kill(os.getpid(), signal.SIGTERM)
print(signal.signal(signal.SIGTERM, signal.SIG_DFL), signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))
signal.signal(signal.SIGUSR1, own); signal.siginterrupt(signal.SIGUSR1, False)
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
r, w = os.pipe(); threading.Timer(0.5, os.write, (w, b'x')).start()
print(os.read(r, 1), got)
print(attempt(os.kill, os.getpid(), signal.SIGINT))
print(attempt(time.sleep, 0.01))
signal.set_wakeup_fd(w) if not os.set_blocking(w, False) else None
os.kill(os.getpid(), signal.SIGUSR1); print(os.read(r, 1), signal.set_wakeup_fd(-1) == w)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); signal.pthread_kill(threading.get_ident(), 10)
print(signal.sigpending(), signal.sigwait([signal.SIGUSR1]))
print(signal.strsignal(15), len(signal.valid_signals()))
run.finish()
print(signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGUSR1) is own)
print([line for line in open('/proc/self/status') if line.startswith(('SigCgt', 'SigIgn', 'SigBlk'))])
"""


def test_python_s_signals_mean_the_same_without_a_witness() -> None:
    with_it, without = run(SEMANTICS), run(SEMANTICS, HOLTER_WITHOUT="signals")
    assert with_it.stdout.splitlines() == without.stdout.splitlines()
    assert (with_it.returncode, with_it.stderr) == (without.returncode, without.stderr) == (0, "")
    assert "KeyboardInterrupt" in with_it.stdout


def test_asyncio_s_handlers_work() -> None:
    source = """
import asyncio, os, signal
async def main():
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, done.set)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.wait_for(done.wait(), 5)
    print(loop.remove_signal_handler(signal.SIGTERM))
asyncio.run(main())
"""
    assert run(BEGIN + source).stdout == "ready\nTrue\n"
    assert [each.is_handled for each in log().caught] == [True]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_user_s_faulthandler_writes_where_the_user_wants(when: str) -> None:
    enable = "import faulthandler; faulthandler.enable()\n"
    ended = run((enable if when == "before" else "") + BEGIN + (enable if when == "after" else "") + REAL["SIGSEGV"])
    assert ended.returncode == -signal.SIGSEGV
    assert ended.stderr.count("Fatal Python error: Segmentation fault") == 1
    (seen,) = log().caught
    assert (seen.code, seen.address) == (1, 16)


def test_a_disabled_faulthandler_leaves_the_witness_in_place() -> None:
    source = BEGIN + "import faulthandler; faulthandler.enable(); faulthandler.disable()\n"
    ended = run(source + REAL["SIGSEGV"])
    assert (ended.returncode, ended.stderr) == (-signal.SIGSEGV, "")
    (seen,) = log().caught
    assert (seen.code, seen.is_handled) == (1, False)


def test_stacks_on_demand_work() -> None:
    source = "import faulthandler, os; faulthandler.register(10)\nfor _ in range(3): os.kill(os.getpid(), 10)"
    ended = run(BEGIN + source)
    assert (ended.returncode, ended.stderr.count("Current thread")) == (0, 3)


# A program that lives on SIGSEGV, as virtual machines do: its handler makes the page writable, and goes on.
OWN_HANDLER = """
import ctypes, mmap, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
page = libc.mmap(None, 4096, 0, 0x22, -1, 0)
count = 0
@ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def handler(number, info, context):
    global count
    count += 1
    assert ctypes.c_void_p.from_address(info + 16).value == page
    libc.mprotect(page, 4096, 3)
class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("mask", ctypes.c_ulong * 16), ("flags", ctypes.c_int)]
    _fields_ += [("restorer", ctypes.c_void_p)]
def install():
    action = Action(handler=ctypes.cast(handler, ctypes.c_void_p), flags=4)
    assert libc.sigaction(11, ctypes.byref(action), None) == 0
def work(times):
    began = time.perf_counter()
    for _ in range(times):
        libc.mprotect(page, 4096, 0)
        ctypes.c_char.from_address(page).value = b"x"
    return time.perf_counter() - began
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_program_that_lives_on_faults_is_not_disturbed(when: str) -> None:
    installs = {"before": "install()\n" + BEGIN, "after": BEGIN + "install()\n"}[when]
    ended = run(
        OWN_HANDLER + installs + "run.log({'a': 1})\nwork(3000)\nprint(count)\nrun.finish()\nwork(10)\nprint(count)\n"
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == ["ready", "3000", "3010"]
    assert len(log().caught) <= 300


def test_commands_start_with_the_signals_that_they_would_have_had() -> None:
    source = """
import subprocess
subprocess.run(['grep', '-E', 'Sig(Blk|Ign|Cgt)', '/proc/self/status'])
subprocess.run(['bash', '-c', 'ls /proc/self/fd | wc -l'])
"""
    with_it, without = run(BEGIN + source), run(BEGIN + source, HOLTER_WITHOUT="signals")
    assert with_it.stdout == without.stdout


def test_after_the_last_run_everything_is_as_it_was() -> None:
    # Without 32 and 33, which belong to the C library.
    source = """
import _signal, faulthandler, holter, os, threading
faulthandler.enable()
def names(): return [_signal.signal, _signal.getsignal, faulthandler.enable, threading.Thread._bootstrap, os._exit]
def handled(): return int(open('/proc/self/status').read().partition('SigCgt:')[2].split()[0], 16) & 0x7fffffff
before = names(), handled()
run = holter.init()
during = names(), handled()
run.finish()
print(before == (names(), handled()), before[0] != during[0], before[1] != during[1])
"""
    assert run(source).stdout == "True True True\n"


def test_a_program_that_closes_everything_gets_no_line_of_ours() -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (1030, 4096))\n"
    source = """
import os, signal
os.closerange(3, 4096)
fds = [os.open(f"{os.environ['HOLTER_DIR']}/own{number}", os.O_CREAT | os.O_RDWR) for number in range(1020)]
os.kill(os.getpid(), signal.SIGCONT)
print(sum(os.fstat(fd).st_size for fd in fds))
os._exit(0)
"""
    assert run(limit + BEGIN + source, HOLTER_STRICT="0", PYTHONUNBUFFERED="1").stdout.splitlines()[-1] == "0"


UNREADABLE = """
import ctypes, faulthandler, signal
def fault():
    {fault}
words = ctypes.cast(id(fault.__code__), ctypes.POINTER(ctypes.c_void_p))
place = next(number for number in range(64) if words[number] == id(fault.__code__.co_filename))
words[place] = 0x40  # where Python looks for the file's name when it writes the stacks, and faults
fault()
"""


@pytest.mark.parametrize("name", ["SIGABRT", *(pytest.param(name, marks=ONLY_X86_64) for name in ("SIGILL", "SIGFPE"))])
def test_a_fault_of_who_writes_the_stacks_does_not_change_the_end(name: str) -> None:
    source = UNREADABLE.format(fault=textwrap.indent(textwrap.dedent(REAL[name]), "    ").strip())
    assert os.WTERMSIG(wait_status(BEGIN + source)) == os.WTERMSIG(wait_status(source)) == getattr(signal, name)
    assert [each.signal for each in log().caught] == [getattr(signal, name), signal.SIGSEGV]


@ONLY_X86_64
def test_where_the_program_asked_for_stacks_it_ends_as_it_would() -> None:
    source = UNREADABLE.format(fault=textwrap.indent(textwrap.dedent(REAL["SIGILL"]), "    ").strip())
    asks = "import faulthandler; faulthandler.enable(open('/dev/null', 'w'))\n"
    assert os.WTERMSIG(wait_status(asks + BEGIN + source)) == os.WTERMSIG(wait_status(asks + source)) == signal.SIGSEGV


def test_the_table_of_descriptors_does_not_grow_for_it() -> None:
    """Where there are threads, the kernel lets `init()` wait for all processors until it may."""
    source = """
import os, re
def size(): return int(re.search(r"FDSize:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = size()
"""
    tell = "print(before, size(), max(int(fd) for fd in os.listdir('/proc/self/fd')))"
    before, after, highest = map(int, run(source + BEGIN + tell).stdout.splitlines()[-1].split())
    assert after == before
    assert 48 <= highest < 64


def test_as_init_of_a_container_it_is_spared_as_ever() -> None:
    source = BEGIN + "import ctypes, os\nos.kill(1, 15); print(os.getpid(), 'alive', flush=True); ctypes.string_at(16)"
    command = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc", sys.executable, "-c", source]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Operation not permitted" in ended.stderr:
        pytest.skip("not on this platform: user namespaces are forbidden")
    assert ended.stdout.splitlines() == ["ready", "1 alive"]
    assert [each.signal for each in log().caught] == [signal.SIGTERM, signal.SIGSEGV]


@pytest.mark.parametrize("without", ["", "signals"])
def test_a_keyboard_interrupt_ends_the_program_by_its_signal(without: str) -> None:
    with started(SLEEP, HOLTER_WITHOUT=without) as program:
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=60)
    assert program.returncode == -signal.SIGINT
    assert err.endswith("KeyboardInterrupt\n")
