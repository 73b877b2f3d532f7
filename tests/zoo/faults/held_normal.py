"""More ends that nobody needs to explain, with more around them that looks like trouble."""

from typing import Any

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place


def normal(name: str, body: str, **more: Any) -> Fault:
    """A program that ends well, whatever it does before."""
    imports = (
        "import atexit, concurrent.futures, logging, multiprocessing, os, signal, subprocess, sys, threading, time"
    )
    program = f"{imports}\nfrom training import begin, log\nbegin()\n{body}\n"
    return Fault(name=name, program=program, **{"ends": (0,), "state": "finished", **more})


FAULTS = [
    normal("raises at its very end, where nobody listens", "atexit.register(lambda: 1 / 0)"),
    normal(
        "raises while an object is thrown away",
        "class Loader:\n    def __del__(self):\n        raise RuntimeError('still open')\n"
        "loader = Loader()\ndel loader\nkept = Loader()",
    ),
    normal(
        "leaves a thread with SystemExit(2)",
        "thread = threading.Thread(target=sys.exit, args=(2,))\nthread.start()\nthread.join()\nlog(loss=0.1)",
    ),
    normal(
        "does not mind a child that leaves with 7",
        "pid = os.fork()\nif pid == 0:\n    os._exit(7)\nprint(os.waitpid(pid, 0))\nlog(loss=0.1)",
    ),
    normal("ends on NaN", "for step in range(20):\n    log(loss=0.2 if step < 10 else float('nan'))"),
    normal("ends on an infinite perplexity", "log(loss=800.0, perplexity=float('inf'))"),
    normal(
        "logs to a full disk, which nobody notices",
        "handler = logging.FileHandler('disk/train.log')\nlogging.getLogger().addHandler(handler)\n"
        "for step in range(300):\n    logging.warning('step %d %s', step, 'x' * 10_000)",
        place=Place(disks=(("disk", "size=1m"),)),
    ),
    normal("ends long before its timeout", "log(loss=0.1)", command=("timeout", "300", PYTHON, SCRIPT)),
    normal("ends in a shell that does more", "log(loss=0.1)", command=("bash", "-c", f"{PYTHON} {SCRIPT} && sleep 1")),
    # The training is fine; from outside there is a command that failed.
    normal(
        "ends in a shell that fails afterwards",
        "log(loss=0.1)",
        command=("bash", "-c", f"{PYTHON} {SCRIPT}; exit 5"),
        ends=(5,),
        run_state="failed",
        without_client=("nonzero-exit",),
    ),
    normal(
        "does not mind a program that faults",
        "code = subprocess.run([sys.executable, '-c', 'import ctypes; ctypes.string_at(0)']).returncode\n"
        "print('preview failed:', code)\nlog(loss=0.1)",
    ),
    normal(
        "does not mind a child that was killed for memory",
        "GROW = 'held = []\\nwhile True: held.append(bytearray(b\"x\") * (4 << 20))'\n"
        "print(subprocess.run([sys.executable, '-c', GROW]).returncode)\nlog(loss=0.1)",
        place=Place(memory_bytes=220 * MIB),
    ),
    normal(
        "never asks what became of a task",
        "import asyncio\nasync def fail():\n    raise ValueError('lost')\n"
        "async def main():\n    task = asyncio.create_task(fail())\n    await asyncio.sleep(0.1)\n    del task\n"
        "asyncio.run(main())",
    ),
    normal(
        "never asks what became of a future",
        "with concurrent.futures.ThreadPoolExecutor() as pool:\n    pool.submit(int, 'seven')\nlog(loss=0.1)",
    ),
    normal(
        "logs the errors that it caught",
        "for error in (MemoryError('no memory'), OSError(28, 'No space left on device'), KeyError('x')):\n"
        "    try:\n        raise error\n    except Exception:\n        logging.exception('going on')\nlog(loss=0.1)",
    ),
    normal(
        "is woken by an alarm",
        "rung = []\nsignal.signal(signal.SIGALRM, lambda *_: rung.append(1))\nsignal.alarm(1)\n"
        "while not rung:\n    time.sleep(0.05)",
    ),
    normal("becomes another program, which ends", "os.execv('/bin/echo', ['echo', 'exported'])"),
    normal("leaves a program behind", "subprocess.Popen(['sleep', '3'], start_new_session=True)\nlog(loss=0.1)"),
    normal("leaves with sys.exit(False)", "sys.exit(False)"),
    normal("leaves with sys.exit(256)", "sys.exit(256)"),
    normal(
        "ends a pool in the middle of its work",
        "pool = multiprocessing.get_context('fork').Pool(2)\npool.map_async(time.sleep, [30, 30])\ntime.sleep(0.3)\n"
        "pool.terminate()\npool.join()",
    ),
    normal(
        "opens as many files as it may, and goes on",
        "files = []\ntry:\n    while True:\n        files.append(open('/dev/null'))\n"
        "except OSError as error:\n    print(error)\n    files.clear()\nlog(loss=0.1)",
        place=Place(limits=("--nofile=150",)),
    ),
    normal(
        "ends while its output is a pipe that is closed",
        "log(loss=0.1)",
        command=("bash", "-c", f"set -o pipefail; {PYTHON} {SCRIPT} | cat"),
    ),
]
