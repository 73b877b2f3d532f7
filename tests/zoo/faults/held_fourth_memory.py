"""Memory that runs out in the training, in helpers of helpers, beside it or above it, and ends that look like it."""

import signal
from typing import Any

from tests.zoo.fault import MIB, PYTHON, SCRIPT, Fault, Place
from tests.zoo.faults.held_fresh_exceptions import LEFT, RAISED, failing, written
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.killed import kill
from tests.zoo.faults.memory import TAKE, TAKING, limit

OUT, REFUSED, KILLED, TERMINATED = "cgroup-out-of-memory", "allocation-refused", "killed", "terminated"
BY_KERNEL = (-signal.SIGKILL,)
IN_CGROUP = limit(240)


def grown(name: str, body: str, **more: Any) -> Fault:
    """The training itself is killed at the limit."""
    usual = {"cause": OUT, "ends": BY_KERNEL, "state": "crashed", "place": IN_CGROUP}
    return written(name, body, **{**usual, **more})


def starved(name: str, body: str, **more: Any) -> Fault:
    """Another process of the training is killed at the limit, and the training fails for it."""
    return failing(name, body, **{"cause": OUT, "place": IN_CGROUP, **more})


def refused(name: str, body: str, **more: Any) -> Fault:
    """It asks for memory and does not get it."""
    return failing(name, body, cause=REFUSED, **more)


# Waits until the training holds what it needs.
NEIGHBOUR = (
    "import os, time\n"
    'while not os.path.exists(os.environ["ZOO_STAGE"] + "/big"): time.sleep(0.02)\n'
    'index = bytearray(b"x") * (110 << 20)\n'
    "time.sleep(8)\n"
)

CONVERT = f"import sys, time\nif sys.argv[1] == '3':\n    {TAKE.replace(chr(10), chr(10) + '    ')}\n"

RECIPES = "all: tokens index\\ntokens:\\n\\techo tokens > tokens\\nindex:\\n\\t$(PYTHON) index.py\\n"

# The first attempt is ended by the kernel; the second one finds what it left.
ATTEMPTS = f"""
for attempt in 1 2; do
  ATTEMPT=$attempt {PYTHON} {SCRIPT} && exit 0
  echo "attempt $attempt left with $?" >&2
done
exit 1
"""

OPENED = (
    "has a large worker that leaves with 137 by itself",
    "has a thread whose decoder is killed for memory",
)

FAULTS = [
    grown(
        "keeps all that a tool prints before it looks at it",
        """
        begin()
        printed = subprocess.run(["head", "-c", "400M", "/dev/zero"], check=True, capture_output=True).stdout
        log(size=len(printed))
        """,
    ),
    # All of it was promised at the start; only what is written to counts.
    grown(
        "fills a replay buffer that it reserved long before",
        """
        import numpy
        begin()
        buffer = numpy.zeros((4000, 84, 84, 4), dtype="float64")
        for step in range(len(buffer)):
            buffer[step] = step
            if step % 20 == 0:
                log(episode_return=step / 10)
        """,
        place=limit(260),
    ),
    grown(
        "makes vectors of its labels that are nearly all zeros",
        """
        import numpy
        begin()
        labels = numpy.arange(40_000) % 16_000
        targets = numpy.eye(16_000, dtype="float32")[labels]
        log(loss=float(targets.mean()))
        """,
        place=limit(260),
    ),
    grown(
        "packs its checkpoint in memory before it writes it",
        """
        import pickle
        begin()
        state = {f"layer.{number}": os.urandom(1 << 20) for number in range(140)}
        for step in range(20):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        packed = pickle.dumps(state)
        open("last.ckpt", "wb").write(packed)
        """,
    ),
    grown(
        "is done with its steps and gathers all predictions at its exit",
        """
        import atexit
        begin()
        def gather():
            parts = []
            while len(parts) < 300:
                parts.append(bytearray(b"x") * (2 << 20))
            open("predictions.bin", "wb").write(b"".join(parts))
        atexit.register(gather)
        for step in range(20):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        """,
    ),
    grown(
        "has no limit of its own below a cgroup that has one",
        "begin()\n" + TAKE,
        place=Place(parent_memory_bytes=200 * MIB),
    ),
    grown(
        "is the largest when an indexer that its shell started grows",
        """
        begin()
        model = bytearray(b"x") * (125 << 20)
        mark("big")
        stay(20)
        """,
        place=limit(230),
        command=shelled(f"{PYTHON} -c '{NEIGHBOUR}' & exec {PYTHON} {SCRIPT}"),
    ),
    grown(
        "leaks before a program that keeps its output",
        """
        begin()
        held = []
        while True:
            held.append(bytearray(b"x") * (3 << 20))
            print("step", len(held), "loss 0.5", flush=True)
        """,
        command=shelled(f"set -o pipefail; {PYTHON} {SCRIPT} 2>&1 | tee train.log"),
        ends=(137,),
        run_state="failed",
    ),
    # It was told to end; what ended it is that a second copy of its state did not fit.
    grown(
        "is told to end and has no memory to save with",
        """
        import copy
        state = [bytearray(b"x") * (1 << 20) for _ in range(140)]
        def save(number, frame):
            with open("last.ckpt", "wb") as file:
                for block in copy.deepcopy(state) * 2:
                    file.write(block)
            sys.exit(0)
        begin()
        signal.signal(signal.SIGTERM, save)
        stay()
        """,
        also=(TERMINATED,),
        strike=kill(signal.SIGTERM),
    ),
    # Who only looks at an object counts a reference, and so writes to its page.
    starved(
        "has loaders that only read what they share, and copy it by that",
        """
        import multiprocessing.connection
        def load(samples):
            kept = bytearray(b"x") * (16 << 20)
            for _ in range(3):
                for sample in samples:
                    list(sample)
            time.sleep(8)
        begin()
        samples = [[str(number), float(number)] for number in range(280_000)]
        context = multiprocessing.get_context("fork")
        loaders = [context.Process(target=load, args=(samples,)) for _ in range(4)]
        for loader in loaders:
            loader.start()
        ended = multiprocessing.connection.wait([loader.sentinel for loader in loaders])
        codes = [loader.exitcode for loader in loaders if loader.sentinel in ended]
        for loader in loaders:
            loader.terminate()
        raise RuntimeError(f"DataLoader worker exited unexpectedly with {codes}")
        """,
        place=limit(260),
    ),
    starved(
        "has xargs run its converters, of which the third takes all memory",
        f"""
        open("convert.py", "w").write({CONVERT!r})
        begin()
        pipeline = 'seq 4 | xargs -P 2 -n 1 "$0" convert.py'
        subprocess.run(["bash", "-c", pipeline, sys.executable], check=True)
        """,
    ),
    starved(
        "has make build its index, for which there is no memory",
        f"""
        open("index.py", "w").write({TAKING!r})
        open("Makefile", "w").write("{RECIPES}")
        begin()
        subprocess.run(["make", "--silent", "PYTHON=" + sys.executable], check=True)
        """,
    ),
    starved(
        "has a worker that keeps every batch in shared memory",
        """
        from multiprocessing import shared_memory
        def load():
            blocks = []
            while True:
                blocks.append(shared_memory.SharedMemory(create=True, size=6 << 20))
                blocks[-1].buf[:] = bytes(6 << 20)
        begin()
        worker = multiprocessing.get_context("fork").Process(target=load)
        worker.start()
        worker.join()
        raise RuntimeError(f"prefetching stopped ({worker.exitcode})")
        """,
        place=limit(240, disks=(("/dev/shm", "size=1g"),)),
    ),
    starved(
        "leaves with 137 because its worker was killed for memory",
        f"""
        def work():
            {TAKE.replace(chr(10), chr(10) + "            ")}
        begin()
        worker = multiprocessing.get_context("fork").Process(target=work)
        worker.start()
        worker.join()
        sys.exit(128 - worker.exitcode)
        """,
        ends=(137,),
    ),
    starved(
        "has a thread whose decoder is killed for memory",
        f"""
        import queue
        batches = queue.Queue()
        def decode():
            try:
                subprocess.run([sys.executable, "-c", {TAKING!r}], check=True, stdout=subprocess.DEVNULL)
            except subprocess.CalledProcessError as error:
                batches.put(error)
        begin()
        threading.Thread(target=decode, daemon=True).start()
        batch = batches.get()
        if isinstance(batch, Exception):
            raise StopIteration("the stream ended early") from batch
        """,
    ),
    starved(
        "calls an actor that is killed for memory and hears the end of a pipe",
        """
        def actor(pipe):
            kept = []
            while True:
                size = pipe.recv()
                while size < 0:
                    kept.append(bytearray(b"x") * (4 << 20))
                pipe.send(size * 2)
        begin()
        context = multiprocessing.get_context("fork")
        here, there = context.Pipe()
        context.Process(target=actor, args=(there,), daemon=True).start()
        there.close()
        for size in (1, 2, 3, -1):
            here.send(size)
            log(size=here.recv())
        """,
    ),
    starved(
        "keeps its samples with a manager that is killed for memory",
        """
        begin()
        with multiprocessing.get_context("fork").Manager() as manager:
            samples = manager.list()
            while True:
                samples.append(bytes(3 << 20))
                log(kept=1.0)
        """,
    ),
    starved(
        "has a pool whose workers each load a copy of the model",
        """
        def load():
            global model
            model = bytearray(b"x") * (70 << 20)
            time.sleep(1)
        begin()
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(4, mp_context=context, initializer=load) as pool:
            print(sum(pool.map(abs, range(40))))
        """,
    ),
    # What the kernel did to the first attempt is not what the second one died of.
    failing(
        "was killed for memory before it began, is started again, and does not like what it finds",
        """
        import json
        if os.environ["ATTEMPT"] == "1":
            open("state.json", "w").write('{"step": 4')
            held = []
            while True:
                held.append(bytearray(b"x") * (3 << 20))
        begin()
        for step in range(40):
            log(loss=0.5); time.sleep(0.03)
        print(json.load(open("state.json")))
        """,
        command=shelled(ATTEMPTS),
        place=IN_CGROUP,
    ),
    # The tool says that memory is exhausted and leaves with 1; what is raised is that it did.
    refused(
        "copies with a tool in blocks that are larger than its memory may be",
        """
        begin()
        copying = "ulimit -v 200000; dd if=/dev/zero of=shard.bin bs=1G count=1"
        subprocess.run(["bash", "-c", copying], check=True)
        """,
        also=(RAISED,),
    ),
    refused(
        "maps a data set that its address space has no room for",
        """
        import numpy
        with open("train.bin", "wb") as file:
            file.truncate(20 << 30)
        begin()
        tokens = numpy.memmap("train.bin", dtype="uint16", mode="r")
        print(tokens[:8])
        """,
        place=Place(limits=("--as=4000000000",)),
    ),
    # Rust does not raise when it is refused memory: one is the reason, the other the end.
    refused(
        "has a library of Rust that is refused memory",
        """
        import polars, resource
        begin()
        used = int(open("/proc/self/statm").read().split()[0]) * 4096
        resource.setrlimit(resource.RLIMIT_AS, (used + (200 << 20),) * 2)
        print(polars.int_range(0, 1 << 29, eager=True).sum())
        """,
        also=("aborted",),
        ends=(-signal.SIGABRT,),
        state="crashed",
    ),
    refused(
        "mistakes bytes for elements in a cgroup that is nearly full",
        """
        import numpy
        begin()
        held = bytearray(b"x") * (150 << 20)
        for step in range(20):
            log(loss=0.5); time.sleep(0.03)
        scores = numpy.ones((len(held), len(held)))
        """,
        place=limit(250),
    ),
    # It looks at its own memory, and goes before the kernel comes.
    written(
        "has a thread that kills it before its memory is over",
        """
        def guard():
            while int(open("/proc/self/statm").read().split()[1]) * 4096 < 150 << 20:
                time.sleep(0.01)
            print("memory guard: resident set above 150 MiB", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        begin()
        threading.Thread(target=guard, daemon=True).start()
        held = []
        while True:
            held.append(bytearray(b"x") * (1 << 20)); time.sleep(0.01)
        """,
        cause=KILLED,
        ends=BY_KERNEL,
        state="crashed",
        place=limit(300),
    ),
    # It leaves with the code that shells have for SIGKILL, and nobody sent one.
    failing(
        "has a large worker that leaves with 137 by itself",
        """
        def work():
            held = bytearray(b"x") * (80 << 20)
            time.sleep(0.5)
            os._exit(137)
        begin()
        worker = multiprocessing.get_context("fork").Process(target=work)
        worker.start()
        worker.join()
        raise RuntimeError(f"worker exited with {worker.exitcode}, probably out of memory")
        """,
        cause="worker-died",
        also=(LEFT,),
        place=IN_CGROUP,
    ),
]
