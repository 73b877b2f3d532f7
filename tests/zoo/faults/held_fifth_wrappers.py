"""Programs below shells, timers, tracers, loops, profilers and runners that change, hide or invent an exit code."""

import signal

from tests.zoo.fault import PYTHON, SCRIPT, Place
from tests.zoo.faults.held_fresh_exceptions import LEFT, RAISED, failing, written
from tests.zoo.faults.held_fresh_wrappers import caught, left, shelled
from tests.zoo.faults.killed import kill

STEPS = "for step in range(20):\n    log(loss=1 / (step + 1)); time.sleep(0.01)\n"

# As the pretty loggers of frameworks do: everything below a prefix, the traceback too.
PREFIXED = f"""
set -o pipefail
{PYTHON} {SCRIPT} 2>&1 | while IFS= read -r line; do echo "(train pid=4711, ip=10.0.0.7) $line"; done
"""

# A run of a service that keeps the last words and tells a code of its own.
SERVICE = """
import subprocess, sys
done = subprocess.run([sys.executable, sys.argv[1]], stderr=subprocess.PIPE, text=True)
sys.stderr.write(done.stderr)
if done.returncode:
    reason = {-9: "OOMKilled", 1: "Error"}.get(done.returncode, "Error")
    print(f"container train terminated: reason: {reason}, exitCode: {done.returncode}", file=sys.stderr)
    sys.exit(44)
"""

# Starts it in a fork of its own and looks at what became of it, as the executors of schedulers do.
FORKS = """
import os, runpy, sys
pid = os.fork()
if pid == 0:
    runpy.run_path(sys.argv[1], run_name="__main__")
    os._exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(f"[2026-03-01 02:11:09] INFO - Task exited with return code {status}", flush=True)
sys.exit(1 if status else 0)
"""

FAULTS = [
    # timeout(1) would say the same of a program that ran too long; this one left by itself.
    left(
        "leaves with 124 below a timeout that it keeps",
        "begin()\n" + STEPS + "print('124 samples could not be read')\nsys.exit(124)\n",
        code=124,
        command=("timeout", "60", PYTHON, SCRIPT),
    ),
    left(
        "leaves with 255 after the words of a lost connection",
        "begin()\n"
        + STEPS
        + "print('Connection to 10.0.0.7 closed by remote host.', file=sys.stderr)\nsys.exit(255)\n",
        code=255,
    ),
    left(
        "becomes a program that leaves with 7",
        "begin()\n" + STEPS + "os.execvp('sh', ['sh', '-c', 'echo exporting the model; exit 7'])\n",
        code=7,
    ),
    failing(
        "leaves with 2 because a target has no rule",
        "begin()\nlog(loss=0.5)\nopen('Makefile', 'w').write('all: model.onnx\\n')\n"
        "sys.exit(subprocess.run(['make', '--silent']).returncode)\n",
        code=2,
        cause="worker-died",
        also=(LEFT,),
    ),
    # The script does not mind; from outside nothing failed.
    failing(
        "raises below a script that does not mind",
        "begin()\n" + STEPS + "raise ValueError('perplexity is not defined for 0 tokens')\n",
        command=shelled(f"{PYTHON} {SCRIPT} || true; echo done"),
        ends=(0,),
        run_state="finished",
        without_client=(None, RAISED),
    ),
    failing(
        "is the third seed of a loop and meets a bad value",
        "begin()\n" + STEPS + "if os.environ['SEED'] == '3':\n    float('0,5')\n",
        command=shelled(f"set -e; for SEED in 1 2 3 4; do export SEED; {PYTHON} {SCRIPT}; done"),
    ),
    failing(
        "prints its traceback below a prefix",
        "begin()\n" + STEPS + "{'adam': 1}['adamw']\n",
        command=shelled(PREFIXED),
    ),
    failing(
        "is measured line by line and divides text",
        "begin()\n" + STEPS + "'loss' / 2\n",
        command=(PYTHON, "-m", "memory_profiler", SCRIPT),
    ),
    failing(
        "is traced by its own interpreter and misses a method",
        "begin()\n" + STEPS + "(1.5).backward()\n",
        command=(PYTHON, "-m", "trace", "--count", "--missing", "--coverdir=cover", SCRIPT),
        also=(LEFT,),
    ),
    failing(
        "is a service that reports a code of its own",
        "begin()\n" + STEPS + "raise FileNotFoundError(2, 'No such file or directory', '/data/c4/en.idx')\n",
        command=(PYTHON, "-c", SERVICE, SCRIPT),
        ends=(44,),
    ),
    written(
        "is a service that was killed by hand and blames the memory",
        "begin()\nstay()\n",
        command=(PYTHON, "-c", SERVICE, SCRIPT),
        cause="killed",
        strike=kill(signal.SIGKILL),
        ends=(44,),
        state="crashed",
        run_state="failed",
    ),
    # The executor's own code runs it, in a fork: what it raises is printed there, and told as a number.
    failing(
        "is run in a fork by an executor and has no such option",
        "begin()\n" + STEPS + "dict(lr=0.1).update(1, 2)\n",
        command=(PYTHON, "-c", FORKS, SCRIPT),
    ),
    failing(
        "prints more than its shell lets a file hold",
        "begin()\nfor step in range(2000):\n    print('step', step, 'x' * 10_000, flush=True)\n",
        command=shelled(f"ulimit -f 16384; {PYTHON} {SCRIPT} > train.log; code=$?; tail -c 300 train.log; exit $code"),
    ),
    failing(
        "fails in a step of which the trap prints the words of another failure",
        "begin()\n" + STEPS + "import zlib\nzlib.decompress(b'not packed')\n",
        command=shelled(
            f"trap 'echo \"slurmstepd: error: Detected 1 oom_kill event in StepId=77.0\" >&2' EXIT\n{PYTHON} {SCRIPT}"
        ),
    ),
    failing(
        "is a coroutine of a server that turns what it raises into a code",
        """
        async def train():
            await asyncio.sleep(0.05)
            raise PermissionError(errno.EACCES, "Permission denied", "/shared/models")
        async def main():
            done = await asyncio.gather(train(), return_exceptions=True)
            for error in done:
                traceback.print_exception(error)
            return 70
        begin()
        log(loss=0.5)
        sys.exit(asyncio.run(main()))
        """,
        cause=LEFT,
        also=(RAISED,),
        code=70,
    ),
    caught(
        "is a test of the standard library that fails",
        """
        import unittest
        class Learns(unittest.TestCase):
            def test_loss(self):
                begin()
                for step in range(20):
                    log(loss=2.3)
                self.assertLess(2.3, 1.0, "Killed? no: the loss did not fall")
        """,
        command=shelled(f"cp {SCRIPT} test_learns.py; {PYTHON} -m unittest test_learns"),
        place=Place(),
    ),
    # The first program of the pipe fails; the code is that of the last one that did.
    failing(
        "reads what a part of its pipe no longer writes",
        "begin()\nfor number, line in enumerate(sys.stdin):\n    log(value=float(line.split(',')[0]))\n",
        command=shelled(f"set -o pipefail; (seq 40; echo 'sed: out of memory'; exit 3) | {PYTHON} {SCRIPT}"),
    ),
]
