"""Exceptions that loops, groups, threads, hooks, studies and retries change on their way, and words of other causes."""

from tests.zoo.fault import Place
from tests.zoo.faults.held_fresh_exceptions import DIVERGED, LEFT, RAISED, TORCH, failing

OPENED = (
    "wants numpy to raise and normalizes a column that never changes",
    "keeps its features in a database that may have ten pages",
)

FAULTS = [
    failing(
        "awaits a task that a timer cancelled",
        """
        async def main():
            loader = asyncio.create_task(asyncio.sleep(30))
            asyncio.get_running_loop().call_later(0.3, loader.cancel, "the epoch took too long")
            await loader
        begin()
        asyncio.run(main())
        """,
    ),
    failing(
        "handles some errors of a group and not the rest",
        """
        async def fetch():
            await asyncio.sleep(0.1)
            raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        async def decode():
            try:
                await asyncio.sleep(30)
            finally:
                int("0x1F600")
        async def main():
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(fetch())
                    group.create_task(decode())
            except* OSError as errors:
                print("will fetch again:", errors.exceptions)
        begin()
        asyncio.run(main())
        """,
    ),
    failing(
        "asks for the next shard within a generator when there is none",
        """
        def batches(shards):
            while True:
                yield [next(shards), next(shards)]
        begin()
        for batch in batches(iter(range(5))):
            log(first=batch[0])
        """,
    ),
    # The thread failed, told the main thread to stop as Ctrl-C would, and nobody pressed anything.
    failing(
        "has a thread that fails and interrupts the main one",
        """
        import _thread
        def keep_lease():
            try:
                open("/data/lease").read()
            except OSError:
                traceback.print_exc()
                _thread.interrupt_main()
        begin()
        threading.Thread(target=keep_lease).start()
        for step in range(400):
            log(loss=0.5); time.sleep(0.02)
        """,
        cause="interrupted",
        also=(RAISED,),
        ends=(-2,),
    ),
    failing(
        "has a thread that wants to leave with 4 and is asked for its result",
        """
        def check(split):
            if split == "test":
                sys.exit(4)
            return split
        begin()
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for split in pool.map(check, ("train", "valid", "test")):
                print("checked", split)
        """,
        cause=LEFT,
        code=4,
    ),
    failing(
        "leaves with 9 from a task of its event loop",
        """
        async def serve():
            await asyncio.sleep(0.2)
            print("budget of 200 ms is used up", file=sys.stderr)
            sys.exit(9)
        async def main():
            server = asyncio.create_task(serve())
            while True:
                log(loss=0.5)
                await asyncio.sleep(0.02)
        begin()
        asyncio.run(main())
        """,
        cause=LEFT,
        code=9,
    ),
    failing(
        "has a hook that says nothing at all",
        """
        sys.excepthook = lambda kind, error, trace: None
        begin()
        for step in range(20):
            log(loss=0.5)
        raise LookupError("no loss called focal_v2")
        """,
        without_client=(RAISED, LEFT),
    ),
    failing(
        "does not show where its errors come from",
        """
        sys.tracebacklimit = 0
        begin()
        for step in range(20):
            log(loss=0.5)
        raise ValueError("temperature must be positive, got -0.1")
        """,
        without_client=(RAISED, LEFT),
    ),
    failing(
        "fails, and fails again while it says goodbye",
        """
        import atexit, socket
        def upload():
            socket.create_connection(("127.0.0.1", 9), timeout=1).sendall(b"metrics")
        atexit.register(upload)
        begin()
        for step in range(20):
            log(loss=0.5)
        dict([("lr", 0.1), ("betas",)])
        """,
    ),
    failing(
        "prints a character that its output cannot hold",
        """
        begin()
        for step in range(5):
            log(loss=0.5)
        print("epoch 1 \\N{CHECK MARK} best \\N{GREEK SMALL LETTER DELTA} = 0.01")
        """,
        place=Place(environ=(("PYTHONIOENCODING", "ascii:strict"),)),
    ),
    failing(
        "was a notebook and still has a magic in it",
        """
        # coding: utf-8
        # In[1]:
        begin()
        # In[2]:
        for step in range(20):
            log(loss=0.5)
        # In[14]:
        get_ipython().system('nvidia-smi')
        get_ipython().run_line_magic('timeit', 'model(batch)')
        """,
    ),
    failing(
        "has two modules that import each other",
        """
        open("model.py", "w").write("from layers import Attention\\nclass Model(Attention):\\n    width = 64\\n")
        open("layers.py", "w").write("from model import Model\\nclass Attention:\\n    owner = Model\\n")
        sys.path.insert(0, ".")
        begin()
        from model import Model
        """,
    ),
    # The program is older than the library: either is to blame.
    failing(
        "uses a name that numpy took away years ago",
        """
        import numpy
        begin()
        labels = numpy.array([0, 1, 1]).astype(numpy.float)
        """,
        also=("environment-mismatch",),
    ),
    # Nothing that it logs ever stopped being a number; a column is constant.
    failing(
        "wants numpy to raise and normalizes a column that never changes",
        """
        import numpy
        numpy.seterr(all="raise")
        begin()
        for step in range(30):
            log(loss=1 / (step + 1), lr=1e-3)
        columns = numpy.array([[1.0, 7.0], [2.0, 7.0], [4.0, 7.0]])
        (columns - columns.mean(0) + 1) / columns.std(0)
        """,
    ),
    failing(
        "has an extension that breaks a rule of the interpreter",
        """
        begin()
        for step in range(10):
            log(loss=0.5)
        ctypes.pythonapi.PyErr_BadInternalCall()
        """,
    ),
    # The disk has room; it is the store that may not grow.
    failing(
        "keeps its features in a database that may have ten pages",
        """
        import sqlite3
        begin()
        store = sqlite3.connect("features.db")
        store.execute("PRAGMA max_page_count = 10")
        store.execute("CREATE TABLE feature (id INTEGER PRIMARY KEY, value BLOB)")
        for number in range(100):
            store.execute("INSERT INTO feature (value) VALUES (?)", (bytes(3000),))
            store.commit()
            log(stored=number)
        """,
    ),
    failing(
        "has a study of which the third trial fails",
        """
        class Study:
            def optimize(self, objective, trials):
                for number in range(trials):
                    parameters = {"layers": number + 1, "dropout": 0.4 * number}
                    try:
                        value = objective(**parameters)
                    except Exception as error:
                        print(f"[W 2026-03-01 02:11:09] Trial {number} failed with parameters: {parameters} "
                              f"because of the following error: {error!r}.", file=sys.stderr)
                        raise
                    print(f"[I 2026-03-01 02:11:08] Trial {number} finished with value: {value}", file=sys.stderr)
        def objective(layers, dropout):
            if not 0 <= dropout < 0.8:
                raise ValueError(f"dropout probability has to be between 0 and 0.8, but got {dropout}")
            log(loss=dropout / layers)
            return dropout / layers
        begin()
        Study().optimize(objective, trials=10)
        """,
    ),
    failing(
        "tries three times to open all shards at once and says how often it tried",
        """
        class RetryError(Exception):
            pass
        kept = []
        def load():
            for number in range(500):
                kept.append(open("/dev/null"))
        begin()
        last = None
        for attempt in range(3):
            try:
                load()
            except OSError as error:
                last = error
                time.sleep(0.2)
        raise RetryError(f"RetryError[<Future at {id(load):#x} state=finished raised {type(last).__name__}>]") from last
        """,
        cause="too-many-open-files",
        place=Place(limits=("--nofile=128",)),
    ),
    # The last error is that a file is missing, which it is for the error before.
    failing(
        "finds the disk full and then cannot rename what it did not write",
        """
        def save(state):
            try:
                with open("disk/step.part", "wb") as file:
                    file.write(state)
            except OSError:
                os.remove("disk/step.part")
                os.rename("disk/step.part", "disk/broken.part")
        begin()
        for step in range(10):
            log(loss=0.5)
        save(bytes(6 << 20))
        """,
        cause="disk-full",
        place=Place(disks=(("disk", "size=2m"),)),
    ),
    failing(
        "moves a model that has no weights yet",
        """
        import torch
        begin()
        with torch.device("meta"):
            model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 10))
        model.to("cpu")
        """,
        needs=TORCH,
    ),
    failing(
        "loads a checkpoint that holds more than weights",
        """
        import argparse, torch
        begin()
        torch.save({"args": argparse.Namespace(lr=0.1), "model": torch.nn.Linear(4, 4).state_dict()}, "last.ckpt")
        torch.load("last.ckpt", weights_only=True)
        """,
        needs=TORCH,
    ),
    failing(
        "has a compiler that hides its own part of the traceback",
        """
        class UnfilteredStackTrace(Exception):
            pass
        class XlaRuntimeError(RuntimeError):
            pass
        def compiled(function):
            def call(*args):
                try:
                    return function(*args)
                except Exception as error:
                    unfiltered = UnfilteredStackTrace("The stack trace below excludes internal frames.")
                    raise error.with_traceback(None) from unfiltered
            return call
        @compiled
        def update(step):
            if step == 12:
                raise XlaRuntimeError("INVALID_ARGUMENT: Executable expected shape f32[128,64] for argument 3 but got "
                                      "incompatible shape f32[96,64] (device memory stats: RESOURCE_EXHAUSTED: 0)")
            return 1 / (step + 1)
        begin()
        for step in range(20):
            log(loss=update(step))
        """,
    ),
    failing(
        "could not have one huge tensor and much later has no parameters",
        """
        import torch
        begin()
        try:
            torch.empty(1 << 50)
        except RuntimeError as error:
            print("computing the attention in chunks:", str(error)[:200], file=sys.stderr)
        for step in range(50):
            log(loss=1 / (step + 1)); time.sleep(0.03)
        torch.optim.SGD([], lr=0.1)
        """,
        needs=TORCH,
    ),
    failing(
        "evaluates in a pool, which finds that the loss is not finite",
        """
        def evaluate(value):
            if not math.isfinite(value):
                raise ValueError(f"cannot evaluate a model whose loss is {value}")
            return value / 2
        begin()
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            for step in range(40):
                loss = 2.0 ** (step * step) if step < 30 else math.nan
                log(loss=loss, lr=3.0)
                if step % 8 == 7 and step < 30 or step == 39:
                    log(val_loss=pool.submit(evaluate, loss).result())
        """,
        cause=DIVERGED,
        without_client=(DIVERGED, RAISED),
    ),
    # It shows the lines around the error as well, one of which speaks of something else.
    failing(
        "shows every variable with its traceback",
        """
        from IPython.core import ultratb
        sys.excepthook = ultratb.FormattedTB(mode="Verbose")
        def pick(scores, wanted):
            advice = "if you see `CUDA out of memory` or exit code 137 (Killed), lower the batch size"
            return scores[wanted]
        begin()
        for step in range(20):
            log(loss=0.5)
        pick([0.1, 0.7], 2)
        """,
    ),
]
