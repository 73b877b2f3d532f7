"""Children that end, hang, are replaced or are ended by their own parents: whose end mattered, and why."""

import signal

from tests.zoo.fault import Place
from tests.zoo.faults.held_fourth_signals import strike_marked
from tests.zoo.faults.held_fresh_exceptions import LEFT, RAISED, TORCH, failing, written
from tests.zoo.faults.held_workers import strike_worker
from tests.zoo.faults.killed import kill
from tests.zoo.faults.memory import limit

KILLED, TERMINATED, SEGMENTATION = "killed", "terminated", "segmentation-fault"
ABORTED, DIED, STALLED = "aborted", "worker-died", "stalled"
STEPS = "for step in range(40):\n    log(loss=1 / (step + 1)); time.sleep(0.02)\n"

# A loader as many write it: a process, a queue, and patience of so many seconds.
PREFETCH = """
import queue
def prefetch(batches):
    for number in range(1000):
        if number == 3:
            {fate}
        batches.put(number)
begin()
context = multiprocessing.get_context("fork")
batches = context.Queue(2)
loader = context.Process(target=prefetch, args=(batches,), daemon=True)
loader.start()
while True:
    try:
        log(batch=batches.get(timeout=1.5))
    except queue.Empty:
        {then}
"""
ASK = "raise RuntimeError(f'no batch for 1.5 s; loader alive: {loader.is_alive()}, exit code {loader.exitcode}')"

IMAGES = """
import torch
class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        if index == 21:
            {fate}
        return torch.zeros(4)
begin()
for batch in torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=2, prefetch_factor=1):
    log(size=len(batch))
"""

FAULTS = [
    failing(
        "prefetches with a process that faults",
        PREFETCH.format(fate="ctypes.string_at(0)", then=ASK),
        cause=SEGMENTATION,
    ),
    failing(
        "prefetches with a process that somebody terminates",
        PREFETCH.format(fate="mark('worker', os.getpid()); time.sleep(30)", then=ASK),
        cause=TERMINATED,
        strike=strike_worker(signal.SIGTERM),
    ),
    # Nobody died: it waits for what will not come, and its parent ends it and gives up.
    failing(
        "prefetches with a process that stands still, ends it, and gives up",
        PREFETCH.format(
            fate="time.sleep(60)",
            then="loader.terminate(); loader.join(); raise TimeoutError('prefetch stalled') from None",
        ),
        also=(STALLED,),
    ),
    failing(
        "prefetches with a process whose data end too early",
        PREFETCH.format(fate="return", then="raise EOFError('expected 1000 batches, got 3') from None"),
    ),
    failing(
        "has a data loader of which a worker recurses without an end",
        IMAGES.format(fate="return self[index]"),
        needs=TORCH,
    ),
    failing(
        "has a data loader of which a worker is stopped by its own assertion",
        IMAGES.format(fate='assert index < 20, f"index {index} out of range (worker killed?)"'),
        needs=TORCH,
    ),
    failing(
        "has a data loader of which a worker sends itself SIGSEGV",
        IMAGES.format(fate="os.kill(os.getpid(), signal.SIGSEGV); time.sleep(9)"),
        cause=KILLED,
        also=(SEGMENTATION,),
        needs=TORCH,
    ),
    # The pool starts a new process for each one that fails to get ready, for ever.
    failing(
        "has a pool whose processes all fail to get ready, until it loses patience",
        """
        def prepare():
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", "vocab.bpe")
        begin()
        pool = multiprocessing.get_context("fork").Pool(1, initializer=prepare)
        print(pool.apply_async(abs, (1,)).get(timeout=0.6))
        """,
    ),
    failing(
        "loses the server that forks for it",
        """
        if __name__ == "__main__":
            import multiprocessing.forkserver
            begin()
            context = multiprocessing.get_context("forkserver")
            first = context.Process(target=time.sleep, args=(0.1,))
            first.start()
            first.join()
            mark("server", multiprocessing.forkserver._forkserver._forkserver_pid)
            wait_for("gone")
            real = multiprocessing.forkserver._forkserver
            real.ensure_running = lambda: None
            context.Process(target=time.sleep, args=(0.1,)).start()
        """,
        cause=KILLED,
        also=(RAISED,),
        strike=lambda scene: (strike_marked("server", signal.SIGKILL)(scene), (scene.stage / "gone").touch())[-1],
    ),
    # The parent itself ended it, for its own limit of time.
    failing(
        "gives a tool a second and raises that it took longer",
        'begin()\nlog(loss=0.5)\nsubprocess.run(["sleep", "30"], timeout=1, check=True)\n',
    ),
    failing(
        "hears from a tool that its input is bad, by its code",
        """
        begin()
        log(loss=0.5)
        done = subprocess.run(["sort", "--check"], input=b"b\\na\\n", capture_output=True)
        if done.returncode:
            raise ValueError(f"manifest is not sorted: {done.stderr.decode().strip()}")
        """,
        also=(DIED, LEFT),
    ),
    # One trial of three was killed by hand; the study says so in the end, and how many.
    failing(
        "has a study of three trials of which somebody kills one",
        """
        begin()
        context = multiprocessing.get_context("fork")
        trials = [context.Process(target=time.sleep, args=(1.5,)) for _ in range(3)]
        for trial in trials:
            trial.start()
        mark("worker", trials[1].pid)
        failed = [trial for trial in trials if trial.join() or trial.exitcode]
        if failed:
            sys.exit(f"{len(failed)} of 3 trials failed: {[trial.exitcode for trial in failed]}")
        """,
        cause=KILLED,
        strike=strike_worker(signal.SIGKILL),
    ),
    # Of two that died the first is the reason; the second was ended because of it.
    failing(
        "has two parts of a pipeline, of which one aborts and the other is ended for it",
        """
        def first(pipe):
            time.sleep(0.5)
            os.abort()
        def second(pipe):
            pipe.recv()
        begin()
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        parts = [context.Process(target=first, args=(here,)), context.Process(target=second, args=(there,))]
        for part in parts:
            part.start()
        while all(part.is_alive() for part in parts):
            time.sleep(0.05)
        for part in parts:
            part.kill()
            part.join()
        raise RuntimeError(f"pipeline broke: {sorted(part.exitcode for part in parts)}")
        """,
        cause=ABORTED,
    ),
    failing(
        "has a server of its own that misses a setting, and cannot reach it",
        """
        import socket
        open("serve.py", "w").write("import os\\nprint(os.environ['MODEL_DIR'])\\n")
        begin()
        server = subprocess.Popen([sys.executable, "serve.py"], env={"PATH": os.environ["PATH"]})
        for attempt in range(10):
            try:
                socket.create_connection(("127.0.0.1", 9))
            except OSError as error:
                time.sleep(0.1)
        raise ConnectionError("reward server did not come up in 1 s")
        """,
        also=(DIED, "connection-lost"),
    ),
    # It was started again and again and came back; what ends the training is its own mistake.
    failing(
        "starts its crashing viewer again three times and unpacks the wrong batch",
        """
        begin()
        for attempt in range(3):
            code = subprocess.run([sys.executable, "-c", "import os; os.abort()"]).returncode
            print(f"viewer died with {code}, starting it again", flush=True)
            for step in range(10):
                log(loss=0.5); time.sleep(0.02)
        images, labels, weights = (1, 2)
        """,
    ),
    failing(
        "got over a worker that was killed for memory and cannot read its configuration",
        """
        import configparser
        begin()
        take = "held = []\\nwhile True: held.append(bytearray(b'x') * (4 << 20))"
        print("augmenter left with", subprocess.run([sys.executable, "-c", take]).returncode, "- using the slow one")
        for step in range(50):
            log(loss=1 / (step + 1)); time.sleep(0.04)
        configparser.ConfigParser().read_string("[train\\nlr = 0.1\\n")
        """,
        place=limit(200),
    ),
    written(
        "had three workers that faulted, and is terminated while it trains on",
        """
        begin()
        for number in range(3):
            worker = multiprocessing.get_context("fork").Process(target=ctypes.string_at, args=(0,))
            worker.start()
            worker.join()
            print(f"worker {number} crashed (exit code {worker.exitcode}); continuing with {2 - number}", flush=True)
        for step in range(40):
            log(loss=0.5); time.sleep(0.03)
        stay()
        """,
        cause=TERMINATED,
        ends=(-signal.SIGTERM,),
        state="crashed",
        strike=kill(signal.SIGTERM),
    ),
    # A daemon of the system would do the same: it leaves its parent, and what becomes of it is nobody's business.
    failing(
        "leaves a service behind that faults while it misses a word itself",
        """
        begin()
        fault = "import ctypes, os, time; os.setsid(); time.sleep(0.3); ctypes.string_at(0)"
        subprocess.run(["sh", "-c", f'"$0" -c "$1" &', sys.executable, fault])
        for step in range(60):
            log(loss=1 / (step + 1)); time.sleep(0.03)
        ["the", "a"].index("an")
        """,
    ),
    failing(
        "has a queue of results that cannot be sent",
        """
        begin()
        context = multiprocessing.get_context("fork")
        with context.Pool(1) as pool:
            print(pool.map(open, ["/dev/null"]))
        """,
    ),
    failing(
        "has workers with a limit of files, of which one reads too many",
        """
        def read(number):
            return len([open("/dev/null") for _ in range(300 * number)])
        begin()
        with multiprocessing.get_context("fork").Pool(2) as pool:
            for number in pool.imap(read, range(3)):
                log(number=number)
        """,
        cause="too-many-open-files",
        place=Place(limits=("--nofile=200",)),
    ),
    # What it prints first is the word of a watcher about another process.
    failing(
        "passes on that a neighbour was killed and leaves with 9 for its own reasons",
        "begin()\nprint('[monitor] pid 4711 (eval.py) Killed', file=sys.stderr, flush=True)\n"
        + STEPS
        + "print('nothing left to do: all 3 seeds were already trained', file=sys.stderr)\nsys.exit(9)\n",
        cause=LEFT,
        code=9,
    ),
]
