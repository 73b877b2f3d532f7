"""Ends that nobody needs to explain. Each must stay without a cause."""

import signal
from collections.abc import Callable
from typing import Any

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.interrupts import press
from tests.zoo.scene import Scene

FINISH = "if RECORDS:\n    import holter\n    holter.finish()\n"


def send(number: int) -> Callable[[Scene], None]:
    def strike(scene: Scene) -> None:
        scene.await_mark("listening")
        scene.kill(number)

    return strike


def normal(name: str, body: str, **more: Any) -> Fault:
    """A program that ends well, whatever it does before."""
    imports = (
        "import atexit, concurrent.futures, logging, multiprocessing, os, signal, subprocess, sys, threading, time"
    )
    program = f"{imports}\nfrom training import RECORDS, begin, log, mark\nbegin()\n{body}\n"
    return Fault(name=name, program=program, **{"ends": (0,), "state": "finished", **more})


FAULTS = [
    normal("just ends", "pass"),
    Fault(name="calls finish", program=f"from training import *\nbegin()\n{FINISH}", ends=(0,), state="finished"),
    Fault(
        name="ends a with block",
        program="""
        import contextlib
        from training import RECORDS, begin
        begin()
        if RECORDS:
            import holter
            with holter.run:
                holter.log({"loss": 0.1})
        """,
        ends=(0,),
        state="finished",
    ),
    Fault(
        name="leaves with sys.exit(0)",
        program="import sys\nfrom training import begin\nbegin()\nsys.exit(0)\n",
        ends=(0,),
        state="finished",
    ),
    Fault(
        name="leaves with os._exit(0)",
        program="import os\nfrom training import begin\nbegin()\nos._exit(0)\n",
        ends=(0,),
        state="finished",
    ),
    normal(
        "ignores an exception in a thread",
        "import threading\nthread = threading.Thread(target=lambda: 1 / 0)\nthread.start()\nthread.join()",
    ),
    normal(
        "handles SIGUSR1",
        "import signal, time\nseen = []\nsignal.signal(signal.SIGUSR1, lambda *_: seen.append(1))\n"
        "mark('listening')\nwhile not seen:\n    time.sleep(0.01)",
        strike=send(signal.SIGUSR1),
    ),
    normal(
        "catches a MemoryError",
        "import numpy\ntry:\n    numpy.ones((1 << 22, 1 << 22))\n"
        "except MemoryError as error:\n    print('smaller batch:', error)",
    ),
    normal(
        "tolerates a child that leaves with 3",
        "import subprocess\nprint(subprocess.run(['bash', '-c', 'exit 3']).returncode)",
    ),
    normal(
        "ends a child on purpose",
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nchild.terminate()\nchild.wait()\n"
        "child = subprocess.Popen(['sleep', '60'])\nchild.kill()\nchild.wait()",
    ),
    normal(
        "closes a pool of workers",
        "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(2) as pool:\n"
        "    print(pool.map(abs, range(-8, 0)))",
    ),
    normal(
        "prints frightening text",
        "import sys\n"
        "print('Traceback (most recent call last):\\n  ...\\nRuntimeError: CUDA out of memory', file=sys.stderr)\n"
        "print('Killed\\nSegmentation fault\\nNo space left on device\\nNCCL watchdog caught collective timeout')",
    ),
    normal(
        "prints at its very end",
        "import atexit\natexit.register(print, 'fatal: this is how the program says goodbye')",
    ),
    normal(
        "leaves daemon threads behind",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()",
    ),
    normal(
        "cancels its tasks",
        "import asyncio\nasync def main():\n    task = asyncio.create_task(asyncio.sleep(60))\n"
        "    await asyncio.sleep(0.05)\n"
        "    task.cancel()\n    await asyncio.gather(task, return_exceptions=True)\nasyncio.run(main())",
    ),
    normal(
        "forks children that leave",
        "import os\nfor _ in range(3):\n    if os.fork() == 0:\n        os._exit(0)\nfor _ in range(3):\n    os.wait()",
    ),
    normal(
        "had NaN for a while", "for _ in range(5):\n    log(loss=float('nan'))\nfor _ in range(20):\n    log(loss=0.3)"
    ),
    normal(
        "hears its terminal go under nohup",
        "import os, signal, time\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nmark('listening')\ntime.sleep(1)",
        strike=send(signal.SIGHUP),
    ),
    normal(
        "handles a fault signal like a virtual machine",
        "import os, signal\nsignal.signal(signal.SIGSEGV, lambda *_: None)\nos.kill(os.getpid(), signal.SIGSEGV)",
    ),
    normal(
        "catches Ctrl-C and goes on to its end",
        "import time\nmark('staying')\ntry:\n    time.sleep(20)\nexcept KeyboardInterrupt:\n    print('stopped early')",
        strike=press(b"\x03"),
        place=Place(has_terminal=True),
    ),
    normal(
        "loses a worker and starts another",
        "import multiprocessing, os\ncontext = multiprocessing.get_context('fork')\n"
        "for code in (9, 0):\n    worker = context.Process(target=os._exit, args=(code,))\n"
        "    worker.start()\n    worker.join()",
    ),
    normal(
        "catches the errors of a full disk",
        "try:\n    open('disk/x', 'wb').write(bytes(8 << 20))\n"
        "except OSError as error:\n    print('skipping the checkpoint:', error)",
        place=Place(disks=(("disk", "size=2m"),)),
    ),
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
