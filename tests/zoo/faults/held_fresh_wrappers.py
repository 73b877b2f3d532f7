"""Programs inside others: frameworks, launchers, shells and makefiles that catch, print, translate and leave."""

import textwrap
from typing import Any

from tests.zoo.fault import PYTHON, SCRIPT, Fault
from tests.zoo.faults.held_fresh_exceptions import LEFT, RAISED, TORCH, failing

SHELL_TRAP = f"""
set -euo pipefail
trap 'code=$?; echo "[$(date +%T)] line $LINENO: exited with $code (OOMKilled?)" >&2; exit $code' ERR
{PYTHON} {SCRIPT} 2>&1 | tee train.log
"""

# As a launcher that builds a command, waits for it, and raises what subprocess gives it.
LAUNCHER = """
import subprocess, sys
command = [sys.executable, "-u", sys.argv[1]]
done = subprocess.run(command)
if done.returncode:
    raise subprocess.CalledProcessError(done.returncode, command)
"""

# Starts what it is told to start up to three times, and says how often it failed.
CRON = f"""
echo "=== nightly run, $(date) ==="
nice -n 1 {PYTHON} {SCRIPT} >> nightly.log 2>&1
code=$?
tail -n 20 nightly.log
if [ $code -ne 0 ]; then echo "nightly run FAILED with $code, mail sent"; fi
exit $code
"""


def shelled(script: str) -> tuple[str, ...]:
    return ("bash", "-c", script)


def caught(name: str, body: str, **more: Any) -> Fault:
    """A wrapper catches what nobody below did, shows its traceback, and leaves: either word tells what happened."""
    return failing(name, body, cause=LEFT, also=(RAISED,), **more)


def left(name: str, body: str, *, code: int, **more: Any) -> Fault:
    """It leaves because it wants to."""
    return failing(name, body, cause=LEFT, code=code, **more)


HYDRA = """
import functools
def main(task):
    @functools.wraps(task)
    def decorated():
        try:
            return task({"model": "resnet50", "lr": 0.1})
        except Exception as error:
            print("Error executing job with overrides: ['model=resnet50', '+trainer.devices=2']", file=sys.stderr)
            lines = traceback.format_exception(error)
            print("".join(lines[:1] + lines[2:]).strip(), file=sys.stderr)
            print("\\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.", file=sys.stderr)
            sys.exit(1)
    return decorated
"""

SUITE = """
import unittest
class Smoke(unittest.TestCase):
    def test_loss_falls(self):
        log(loss=0.7)
    def test_checkpoint_is_there(self):
        self.assertTrue(os.path.exists("last.ckpt"), "no checkpoint was written")
    def test_accuracy(self):
        raise TimeoutError("evaluation was killed")
begin()
unittest.main(argv=["smoke"])
"""

# A box of lines around what Python would print, as the prettier libraries draw it.
BOXED = """
import shutil
def hook(kind, error, trace):
    width = 100
    print("\\u256d" + " Traceback (most recent call last) ".center(width, "\\u2500") + "\\u256e", file=sys.stderr)
    for line in "".join(traceback.format_tb(trace)).splitlines():
        print("\\u2502 " + line.ljust(width - 2)[: width - 2] + " \\u2502", file=sys.stderr)
    print("\\u2570" + "\\u2500" * width + "\\u256f", file=sys.stderr)
    print(f"{kind.__name__}: {error}", file=sys.stderr)
sys.excepthook = hook
begin()
for step in range(20):
    log(loss=0.5)
state = {"epoch": 3}
state.optimizer.step()
"""

# Ends what it has open, each with an error of its own that is told and forgotten, and raises the first.
TRAINER = """
class Trainer:
    def fit(self):
        try:
            for step in range(30):
                log(loss=1 / (step + 1)); time.sleep(0.02)
            self.validate(None)
        except BaseException as error:
            self.teardown()
            raise
    def validate(self, loader):
        return len(loader)
    def teardown(self):
        for name in ("logger", "checkpoint", "profiler"):
            try:
                raise BrokenPipeError(32, "Broken pipe")
            except OSError:
                logging.exception("teardown of %s failed", name)
begin()
Trainer().fit()
"""

FAULTS = [
    caught(
        "fails in a job of a configuration framework",
        HYDRA
        + textwrap.dedent("""
        @main
        def train(config):
            begin()
            for step in range(20):
                log(loss=0.6)
            raise KeyError("Key 'warmup' is not in struct\\n    full_key: scheduler.warmup")
        train()
        """),
    ),
    left(
        "is called with an option that its command line does not know",
        """
        import click
        @click.command()
        @click.option("--lr", type=float)
        def train(lr):
            print(lr)
        begin()
        train(["--learning-rate", "0.1"])
        """,
        code=2,
    ),
    left(
        "tells its command line that the data set is bad",
        """
        import click
        @click.group()
        def cli():
            pass
        @cli.command()
        def train():
            log(loss=0.5)
            raise click.ClickException("dataset is corrupt: Segmentation fault while reading shard 12 (exit code 139)")
        begin()
        cli(["train"])
        """,
        code=1,
    ),
    # What such a framework does with Ctrl-C it does with this as well, though nobody pressed anything.
    left(
        "aborts its command line by itself",
        """
        import click
        @click.command()
        def train():
            log(loss=0.5)
            raise click.Abort
        begin()
        train([])
        """,
        code=1,
    ),
    failing(
        "raises under a launcher that raises in turn",
        """
        begin()
        for step in range(20):
            log(loss=0.5)
        raise ValueError("Default process group has not been initialized, please make sure to call init")
        """,
        command=(PYTHON, "-c", LAUNCHER, SCRIPT),
    ),
    failing(
        "raises in a script that traps errors and blames the memory",
        """
        begin()
        for step in range(20):
            log(loss=0.5)
        raise NotImplementedError("flash attention for head_dim 96")
        """,
        command=shelled(SHELL_TRAP),
    ),
    failing(
        "raises in the night, into a file",
        """
        begin()
        for step in range(20):
            log(loss=0.5)
        float("1,5")
        """,
        command=shelled(CRON),
    ),
    failing(
        "raises behind xargs",
        """
        begin()
        for step in range(20):
            log(loss=0.5)
        raise ValueError("seed 3: mode collapsed")
        """,
        command=shelled(f"echo {SCRIPT} | xargs -n 1 {PYTHON}"),
        ends=(123,),
    ),
    failing(
        "raises on a terminal that a program made for it",
        """
        begin()
        for step in range(20):
            print(f"\\r{step * 5:3d} %", end="", flush=True)
        print()
        [1, 2, 3].index(4)
        """,
        command=("script", "--quiet", "--return", "--command", f"{PYTHON} {SCRIPT}", "/dev/null"),
    ),
    failing(
        "runs another script as its own, which raises",
        """
        import runpy
        open("inner.py", "w").write("import sys\\nprint(sys.argv)\\n\\ndef train(steps):\\n    return steps / 0\\n\\n"
                                    "if __name__ == '__main__':\\n    train(100)\\n")
        begin()
        sys.argv = ["inner.py", "--steps", "100"]
        runpy.run_path("inner.py", run_name="__main__")
        """,
    ),
    failing("has a hook that draws a box around the traceback", BOXED),
    failing(
        "has a hook that reports elsewhere first and cannot",
        """
        import urllib.request
        previous = sys.excepthook
        def report(kind, error, trace):
            try:
                urllib.request.urlopen("http://127.0.0.1:9/api/envelope", data=b"{}", timeout=1)
            except OSError as trouble:
                print("could not send the report:", trouble, file=sys.stderr)
            previous(kind, error, trace)
        sys.excepthook = report
        begin()
        log(loss=0.5)
        raise ArithmeticError("perplexity of an empty batch")
        """,
    ),
    failing("is torn down by its trainer, with errors on the way", TRAINER),
    left(
        "leaves with the code of its failed checks",
        SUITE,
        code=1,
        without_client=(LEFT, RAISED),
    ),
    left(
        "leaves with 3 from an error that it explains",
        """
        begin()
        try:
            open("/data/webdataset/index.json")
        except OSError as error:
            print("error: no index; run `prepare` first", file=sys.stderr)
            raise SystemExit(3) from error
        """,
        code=3,
    ),
    left(
        "leaves with 143 though nobody asked it to end",
        """
        begin()
        for step in range(20):
            log(loss=0.5); time.sleep(0.02)
        print("Terminated", file=sys.stderr, flush=True)
        sys.exit(143)
        """,
        code=143,
    ),
    left(
        "is ended by a library that calls exit in C",
        """
        begin()
        print(" ** On entry to DGEMM  parameter number  8 had an illegal value", flush=True)
        ctypes.CDLL(None).exit(6)
        """,
        code=6,
    ),
    # A worker faulted on the way, a new pool did the work; it is the threshold that was missed.
    left(
        "got over a fault in a pool and misses its threshold",
        """
        context = multiprocessing.get_context("fork")
        begin()
        for function in (ctypes.string_at, abs):
            try:
                with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                    print(pool.submit(function, 0).result())
            except concurrent.futures.process.BrokenProcessPool as error:
                print("restarting the pool:", error)
        for step in range(60):
            log(accuracy=0.2); time.sleep(0.05)
        print("accuracy 0.2 < 0.8: not good enough to be kept")
        sys.exit(17)
        """,
        code=17,
    ),
    failing(
        "tells whoever hears SIGUSR1 what it does, and misses an attribute later",
        """
        import faulthandler
        faulthandler.register(signal.SIGUSR1, all_threads=True)
        begin()
        os.kill(os.getpid(), signal.SIGUSR1)
        for step in range(60):
            log(loss=0.2); time.sleep(0.03)
        logging.captureWarning(True)
        """,
    ),
    failing(
        "compiles its model to a script that fails",
        """
        import torch
        def step(x: torch.Tensor, n: int) -> torch.Tensor:
            assert n < 3, "sequence longer than the positional table"
            return x * n
        begin()
        scripted = torch.jit.script(step)
        for n in range(5):
            log(mean=scripted(torch.ones(2), n).mean().item())
        """,
        needs=TORCH,
    ),
]
