"""Ends that nobody needs to explain, of programs that had trouble on the way and got over it."""

import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.ranks import COLLECTIVE, TORCHRUN
from tests.zoo.faults.slurm import CALM
from tests.zoo.scene import Scene

FORK = "multiprocessing.get_context('fork')"


def normal(name: str, body: str, **more: Any) -> Fault:
    """A program that ends well, whatever it does before."""
    imports = (
        "import asyncio, concurrent.futures, contextlib, logging, math, multiprocessing, os, signal, subprocess, sys\n"
        "import threading, time, traceback, warnings"
    )
    program = f"{imports}\nfrom training import RECORDS, begin, log, mark\nbegin()\n{body}\n"
    return Fault(name=name, program=program, **{"ends": (0,), "state": "finished", **more})


def send(*numbers: int) -> Callable[[Scene], None]:
    """One after the other, to a program that listens."""

    def strike(scene: Scene) -> None:
        scene.await_mark("listening")
        for number in numbers:
            scene.kill(number)
            time.sleep(0.4)

    return strike


def look_at(scene: Scene) -> None:
    """Somebody looks whether it lives, and at what it does."""
    scene.await_mark("listening")
    for _ in range(3):
        subprocess.run(["bash", "-c", f"kill -0 {scene.pid}; cat /proc/{scene.pid}/status > /dev/null"], check=True)


FINISH = "if RECORDS:\n    import holter\n    holter.finish()\n"
GROWING = "held = []\nwhile len(held) < {blocks}: held.append(bytearray(b'x') * (3 << 20))"
TRAIN = "for step in range(20):\n    log(loss=1 / (step + 1)); time.sleep(0.02)\n"

FAULTS = [
    normal(
        "has a program that is killed for memory twice and does with less the third time",
        "for blocks in (500, 400, 10):\n"
        f"    code = subprocess.run([sys.executable, '-c', {GROWING!r}.format(blocks=blocks)]).returncode\n"
        "    print('indexing with', blocks, 'blocks ended with', code)\nassert code == 0\nlog(loss=0.1)",
        place=Place(memory_bytes=220 * MIB),
    ),
    normal(
        "fails to connect until it does not",
        "for attempt in range(4):\n    try:\n        if attempt < 3:\n"
        "            raise ConnectionRefusedError(111, 'refused')\n"
        "        break\n    except OSError:\n        logging.exception('attempt %d', attempt)\nlog(loss=0.1)",
    ),
    normal(
        "saves whenever it is sent SIGUSR1 or SIGUSR2",
        "saved = []\nfor number in (signal.SIGUSR1, signal.SIGUSR2):\n"
        "    signal.signal(number, lambda *_: saved.append(1))\nmark('listening')\n"
        "while len(saved) < 3:\n    log(loss=0.2); time.sleep(0.05)",
        strike=send(signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR1),
    ),
    normal(
        "is stopped for a moment and goes on",
        "mark('listening')\nfor _ in range(60):\n    log(loss=0.2); time.sleep(0.05)",
        strike=send(signal.SIGSTOP, signal.SIGCONT),
    ),
    normal(
        "is sent signals that mean nothing to it",
        "mark('listening')\nfor _ in range(40):\n    log(loss=0.2); time.sleep(0.05)",
        strike=send(signal.SIGWINCH, signal.SIGURG, signal.SIGCHLD),
    ),
    normal("is looked at from outside", "mark('listening')\nfor _ in range(20):\n    time.sleep(0.05)", strike=look_at),
    normal(
        "dumps the stacks of all threads now and then",
        "import faulthandler\nfaulthandler.enable()\nfaulthandler.dump_traceback()\n"
        "faulthandler.dump_traceback_later(0.3, repeat=True)\ntime.sleep(1)\n"
        "faulthandler.cancel_dump_traceback_later()\nlog(loss=0.1)",
    ),
    normal(
        "shows an error that it caught through the hook of uncaught ones",
        "try:\n    {}['weights']\nexcept KeyError:\n    sys.excepthook(*sys.exc_info())\n" + TRAIN,
    ),
    normal("leaves without a word in the middle", "log(loss=0.1)\nraise SystemExit"),
    normal(
        "catches the exceptions of its workers",
        f"with concurrent.futures.ProcessPoolExecutor(2, mp_context={FORK}) as pool:\n"
        "    results = [pool.submit(int, text) for text in ('1', 'x', '3')]\n"
        "print([result.exception() for result in results])\nlog(loss=0.1)",
    ),
    normal(
        "makes a new pool after the old one broke",
        f"for work in (os.abort, os.getpid):\n    try:\n"
        f"        with concurrent.futures.ProcessPoolExecutor(1, mp_context={FORK}) as pool:\n"
        "            print(pool.submit(work).result())\n"
        "    except concurrent.futures.process.BrokenProcessPool:\n        traceback.print_exc()\n" + TRAIN,
    ),
    normal(
        "trains a small model with torch and a data loader",
        "import torch\nmodel = torch.nn.Linear(4, 1)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "data = torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1))\n"
        "for epoch in range(2):\n    for x, y in torch.utils.data.DataLoader(data, batch_size=16, num_workers=2):\n"
        "        loss = ((model(x) - y) ** 2).mean()\n"
        "        optimizer.zero_grad(); loss.backward(); optimizer.step()\n"
        "        log(loss=loss.item())",
        needs=("torch",),
    ),
    Fault(
        name="has two ranks under torchrun that both come to their end",
        program=COLLECTIVE.format(fate="pass").replace("range(400)", "range(30)") + "\ndist.destroy_process_group()\n",
        command=TORCHRUN,
        ends=(0,),
        state="finished",
        processes=2,
        needs=("torch",),
        takes_s=120.0,
    ),
    normal(
        "stops early because its validation loss is not a number",
        "for step in range(30):\n    value = 0.5 if step < 20 else math.nan\n    log(val_loss=value)\n"
        "    if math.isnan(value):\n        print('early stopping: validation loss is NaN'); break",
    ),
    normal(
        "makes room on a full disk and saves again",
        "open('disk/old.ckpt', 'wb').write(bytes(2 << 20))\ntry:\n"
        "    open('disk/new.ckpt', 'wb').write(bytes(2 << 20))\n"
        "except OSError as error:\n    print('removing the old one:', error); os.remove('disk/old.ckpt')\n"
        "    open('disk/new.ckpt', 'wb').write(bytes(2 << 20))\nlog(loss=0.1)",
        place=Place(disks=(("disk", "size=3m"),)),
    ),
    normal("finishes its run and cleans up afterwards", f"{FINISH}time.sleep(1)\nprint('uploaded')"),
    normal("finishes its run and leaves hard", f"{FINISH}sys.stdout.flush()\nos._exit(0)"),
    normal(
        "needs nearly all of its memory for a moment",
        "held = [bytearray(b'x') * (1 << 20) for _ in range(110)]\ntime.sleep(1)\nheld.clear()\n" + TRAIN,
        place=Place(memory_bytes=220 * MIB),
    ),
    normal(
        "prints a lot that is hardly text",
        "for _ in range(300):\n    os.write(1, os.urandom(5000))\nprint('\\x1b[2J\\x1b]0;Killed\\x07', 'x' * 100_000)",
    ),
    normal(
        "forks children that leave as if they were the program",
        "for code in (0, 3):\n    pid = os.fork()\n    if pid == 0:\n        sys.exit(code)\n"
        "    os.waitpid(pid, 0)\nlog(loss=0.1)",
    ),
    normal(
        "interrupts itself and takes it for the end of its training",
        "try:\n    signal.raise_signal(signal.SIGINT)\n    time.sleep(5)\nexcept KeyboardInterrupt:\n"
        "    print('stopping')\n" + TRAIN,
    ),
    normal(
        "ends programs by every means",
        "for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):\n"
        "    program = subprocess.Popen(['sleep', '30'])\n    program.send_signal(number)\n"
        "    print(program.wait())\n" + TRAIN,
    ),
    normal(
        "runs tests that fail and is content to have run them",
        "import unittest\nclass Shapes(unittest.TestCase):\n    def test_output(self):\n"
        "        self.assertEqual((2, 3), (3, 2))\n"
        "    def test_memory(self):\n        raise MemoryError('out of memory')\n"
        "unittest.main(argv=['train'], exit=False)",
    ),
    normal(
        "closes its output before it ends",
        "log(loss=0.1)\nprint('done', flush=True)\nos.close(1)\nos.close(2)\ntime.sleep(0.3)",
    ),
    normal(
        "runs under nohup and nice in a pipeline",
        TRAIN,
        command=("bash", "-c", f"nohup nice -n 3 {PYTHON} {SCRIPT} | cat"),
    ),
    normal(
        "gathers tasks of which some fail",
        "async def load(number):\n    await asyncio.sleep(0.1)\n    return 1 / (number % 2)\n"
        "async def main():\n    print(await asyncio.gather(*map(load, range(4)), return_exceptions=True))\n"
        "asyncio.run(main())\nlog(loss=0.1)",
    ),
    normal(
        "turns to a smaller stack, and a thread does not start",
        "threading.stack_size(1 << 30)\nstarted = []\ntry:\n    for _ in range(8):\n"
        "        thread = threading.Thread(target=time.sleep, args=(0.5,)); thread.start(); started.append(thread)\n"
        "except RuntimeError as error:\n    print('fewer threads then:', error)\nfor thread in started:\n"
        "    thread.join()\n"
        "threading.stack_size(0)\nlog(loss=0.1)",
        place=Place(limits=("--as=4000000000",)),
    ),
    Fault(
        name="is a job of SLURM that comes to its end",
        program="from training import begin, log\nbegin()\nfor step in range(20):\n    log(loss=1 / (step + 1))\n",
        state="finished",
        job_states=("COMPLETED",),
        needs=("slurm",),
        place=Place(job=CALM),
    ),
]
