"""Programs that shells, makefiles, modules, profilers, test runners and supervisors start, and start again."""

import signal

from tests.zoo.fault import PYTHON, SCRIPT, Place
from tests.zoo.faults.held_fresh_exceptions import LEFT, RAISED, failing, written
from tests.zoo.faults.held_fresh_wrappers import caught, shelled
from tests.zoo.faults.killed import kill
from tests.zoo.faults.memory import limit

STEPS = "for step in range(20):\n    log(loss=1 / (step + 1))\n"

# Keeps what its program prints until it is over, as some environment managers do.
KEEPING = """
import subprocess, sys
done = subprocess.run([sys.executable, sys.argv[1]], capture_output=True, text=True)
sys.stdout.write(done.stdout)
sys.stderr.write(done.stderr)
if done.returncode:
    print(f"ERROR envs.cli.main_run:execute(127): `envs run python {sys.argv[1]}` failed. (See above for error)")
sys.exit(done.returncode)
"""

SUPERVISOR = """
import subprocess, sys, time
for attempt in range(3):
    program = subprocess.Popen([sys.executable, sys.argv[1]])
    print(f"INFO spawned: 'train' with pid {program.pid}", flush=True)
    print(f"WARN exited: train (exit status {program.wait()}; not expected)", flush=True)
    time.sleep(0.2)
print("INFO gave up: train entered FATAL state, too many start retries too quickly", flush=True)
sys.exit(1)
"""

# A step of a pipeline on a server; the one before it lost a program, which nobody minds.
PIPELINE = f"""
set -eo pipefail
echo "##[group]Restore cache"
bash -c 'kill -9 $$' || echo "cache restore was killed, going on without a cache"
echo "##[endgroup]"
{PYTHON} {SCRIPT}
"""

# Stops the training at the first word of trouble in its log.
WARDEN = f"""
{PYTHON} {SCRIPT} > train.log 2>&1 &
training=$!
until grep -q '^ERROR' train.log; do kill -0 $training || break; sleep 0.1; done
echo "found an ERROR in train.log, stopping the training"
kill $training
wait $training
exit 1
"""

# What make prints about it is not what the program prints.
MAKEFILE = f"printf 'train: data\\n\\t@{PYTHON} {SCRIPT}\\ndata:\\n\\t@echo preparing\\n' > Makefile\nmake train"

OPENED = (
    "is one of the seeds of xargs and killed by hand",
    "is started again after a fault and raises then",
)

FAULTS = [
    # IPython catches whatever a script raises, shows it, and leaves with 1.
    failing(
        "is run by IPython as a script and misses a key",
        "begin()\n" + STEPS + "{'train': 1}['valid']\n",
        command=(PYTHON, "-m", "IPython", "--no-banner", "--HistoryManager.enabled=False", SCRIPT),
        also=(LEFT,),
    ),
    caught(
        "is a test that does not learn enough",
        """
        def test_training_learns():
            begin()
            for step in range(20):
                log(accuracy=0.02 * step)
            assert 0.02 * step > 0.9, "exit code 137? see the log"
        """,
        command=(PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", SCRIPT),
        place=Place(environ=(("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"), ("PYTEST_ADDOPTS", ""))),
    ),
    failing(
        "is a module of a package and reads an attribute of nothing",
        "begin()\n" + STEPS + "scheduler = None\nscheduler.get_last_lr()\n",
        command=shelled(
            f"mkdir trainer && touch trainer/__init__.py && cp {SCRIPT} trainer/train.py && {PYTHON} -m trainer.train"
        ),
    ),
    failing(
        "comes from standard input and has too many values to unpack",
        "begin()\n" + STEPS + "image, label = (1, 2, 3)\n",
        command=shelled(f"{PYTHON} - --epochs 3 < {SCRIPT}"),
    ),
    failing(
        "is profiled and compares what cannot be compared",
        "begin()\n" + STEPS + "sorted([{'loss': 0.5}, {'loss': 0.4}])\n",
        command=(PYTHON, "-m", "cProfile", "-o", "train.prof", SCRIPT),
    ),
    failing(
        "is one zipped file and does not find what it was zipped with",
        """
        import pathlib
        begin()
        for step in range(20):
            log(loss=0.5)
        (pathlib.Path(__file__).parent / "vocabulary.txt").read_text()
        """,
        command=shelled(
            f"mkdir app && cp {SCRIPT} app/__main__.py && echo the > app/vocabulary.txt\n"
            f"{PYTHON} -m zipapp app -o train.pyz && {PYTHON} train.pyz"
        ),
    ),
    failing(
        "runs under a manager of environments that shows everything at the end",
        "begin()\n" + STEPS + "raise ValueError('num_samples should be a positive integer value, but got 0')\n",
        command=(PYTHON, "-c", KEEPING, SCRIPT),
    ),
    failing(
        "leaves with 4 before a pipe, and its script asks for that code",
        "begin()\n" + STEPS + "print('validation did not improve for 5 epochs, nothing to keep')\nsys.exit(4)\n",
        command=shelled(f"{PYTHON} {SCRIPT} | tee train.log; exit ${{PIPESTATUS[0]}}"),
        cause=LEFT,
        code=4,
    ),
    written(
        "is one of the seeds of xargs and killed by hand",
        "begin()\nstay()\n",
        command=shelled(f"echo 1 | xargs -P 2 -I SEED env SEED=SEED {PYTHON} {SCRIPT}"),
        strike=kill(signal.SIGKILL),
        ends=(125,),
        state="crashed",
        run_state="failed",
        cause="killed",
    ),
    # The run is the second one: what became of the first is another story.
    failing(
        "is started again after a fault and raises then",
        """
        begin()
        for step in range(20):
            log(loss=0.5); time.sleep(0.02)
        if not os.path.exists("tried"):
            mark("tried")
            ctypes.memset(8, 0, 8)
        raise EOFError("Ran out of input: half-written state of the attempt before")
        """,
        command=shelled(f"{PYTHON} {SCRIPT} && exit 0; echo 'trying again' >&2; sleep 1; {PYTHON} {SCRIPT}"),
    ),
    written(
        "frees twice in a script that keeps all output",
        """
        import faulty
        begin()
        for step in range(20):
            log(loss=0.5)
        faulty.free_twice()
        """,
        command=shelled(f"exec > >(tee -a train.log) 2>&1\n{PYTHON} -u {SCRIPT}\ncode=$?\necho finished\nexit $code"),
        ends=(134,),
        state="crashed",
        run_state="failed",
        cause="aborted",
    ),
    failing(
        "wants a variable of the environment that its wrapper dropped",
        "begin()\n" + STEPS + "os.environ['DATA_ROOT']\n",
        command=("env", "-u", "DATA_ROOT", "PYTHONUNBUFFERED=1", PYTHON, SCRIPT),
        place=Place(environ=(("DATA_ROOT", "/data"),)),
    ),
    written(
        "is a target of make and takes all memory",
        """
        begin()
        held = []
        while True:
            held.append(bytearray(b"x") * (2 << 20))
            log(held=len(held)); time.sleep(0.01)
        """,
        command=shelled(MAKEFILE),
        place=limit(200),
        needs=("gcc",),  # Who has the one has the other.
        ends=(2,),
        state="crashed",
        run_state="failed",
        cause="cgroup-out-of-memory",
    ),
    written(
        "is stopped by a script that reads its log",
        """
        begin()
        print("ERROR: 12 samples could not be decoded and were skipped", flush=True)
        stay()
        """,
        command=shelled(WARDEN),
        ends=(1,),
        state="crashed",
        run_state="failed",
        cause="terminated",
    ),
    failing(
        "is a step of a pipeline in which something was killed before",
        "begin()\n" + STEPS + "import hashlib\nhashlib.new('crc99')\n",
        command=shelled(PIPELINE),
    ),
    written(
        "faults behind commands that become each other",
        "begin()\n" + STEPS + "ctypes.memmove(16, b'weights', 7)\n",
        command=("nice", "-n", "2", "stdbuf", "-oL", "env", "SEED=3", "setpriv", "--", PYTHON, SCRIPT),
        ends=(-signal.SIGSEGV,),
        state="crashed",
        cause="segmentation-fault",
    ),
    failing(
        "is started three times by a supervisor that gives up",
        "begin()\n" + STEPS + "raise RuntimeError('no free port between 6006 and 6010')\n",
        command=(PYTHON, "-c", SUPERVISOR, SCRIPT),
        cause=RAISED,
    ),
]
