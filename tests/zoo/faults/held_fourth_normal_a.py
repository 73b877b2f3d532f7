"""Ends that nobody needs to explain, of programs that were started again or tested, or had neighbours that failed."""

from tests.zoo.fault import PYTHON, SCRIPT, Place
from tests.zoo.faults.held_fresh_exceptions import TORCH
from tests.zoo.faults.held_fresh_normal import normal
from tests.zoo.faults.held_fresh_wrappers import shelled
from tests.zoo.faults.ranks import TORCHRUN

STEPS = "for step in range(20):\n    log(loss=1 / (step + 1)); time.sleep(0.02)\n"

# The other target fails while the training still trains, for which make waits.
MAKEFILE = f"""
printf 'all: train lint\\ntrain:\\n\\t@{PYTHON} {SCRIPT}\\nlint:\\n\\t@echo "E501 line too long"; exit 1\\n' > Makefile
make -j2 all
"""

FAULTS = [
    # The training is fine; from outside there is a command that failed.
    normal(
        "is a target of make of which another fails",
        "begin()\n" + STEPS,
        command=shelled(MAKEFILE),
        ends=(2,),
        run_state="failed",
        without_client=("nonzero-exit",),
        needs=("gcc",),  # Who has the one has the other.
    ),
    # The run is the second one.
    normal(
        "aborts, is started again, and comes to its end",
        """
        begin()
        for step in range(20):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        if not os.path.exists("tried"):
            mark("tried")
            os.abort()
        """,
        command=shelled(f"until {PYTHON} {SCRIPT}; do echo 'died, starting it again' >&2; sleep 1; done"),
    ),
    normal(
        "leaves at the end of its data, out of an error",
        """
        begin()
        batches = iter(range(20))
        try:
            while True:
                log(batch=next(batches))
        except StopIteration:
            print("no more data")
            sys.exit()
        """,
    ),
    normal(
        "leaves its command line in the middle, with 0",
        """
        import click
        @click.group()
        def cli():
            pass
        @cli.command()
        @click.pass_context
        def train(context):
            log(loss=0.5)
            click.echo("Aborted! (nothing to do: the checkpoint is up to date)", err=True)
            context.exit()
        begin()
        cli(["train"])
        """,
    ),
    normal(
        "is a test that expects errors and gets them",
        """
        import pytest
        def test_training_survives():
            begin()
            with pytest.raises(MemoryError):
                raise MemoryError("out of memory")
            log(loss=0.5)
        @pytest.mark.xfail
        def test_not_yet():
            raise OSError(errno.ENOSPC, "No space left on device")
        """,
        command=(PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", SCRIPT),
        place=Place(environ=(("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"), ("PYTEST_ADDOPTS", ""))),
    ),
    normal(
        "has a pool that takes a new worker for every task",
        """
        begin()
        with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
            for number in pool.imap_unordered(abs, range(-12, 0), chunksize=1):
                log(number=number)
        """,
    ),
    normal(
        "is run by IPython as a script, up to its end",
        "begin()\n" + STEPS,
        command=(PYTHON, "-m", "IPython", "--no-banner", "--HistoryManager.enabled=False", SCRIPT),
    ),
    normal(
        "handles all errors of a group",
        """
        async def fetch(number):
            await asyncio.sleep(0.1)
            raise (TimeoutError if number % 2 else ConnectionResetError)(f"shard {number}")
        async def main():
            try:
                async with asyncio.TaskGroup() as group:
                    for number in range(4):
                        group.create_task(fetch(number))
            except* OSError as errors:
                traceback.print_exception(errors)
        begin()
        asyncio.run(main())
        log(loss=0.1)
        """,
    ),
    normal(
        "has daemons that are told to end when it does",
        """
        begin()
        context = multiprocessing.get_context("fork")
        for number in range(3):
            context.Process(target=time.sleep, args=(60,), daemon=True).start()
        for step in range(20):
            log(loss=0.5); time.sleep(0.02)
        """,
    ),
    normal(
        "loses the workers of its data loader and does without",
        """
        import torch
        class Images(torch.utils.data.Dataset):
            def __len__(self):
                return 64
            def __getitem__(self, index):
                if index == 20 and torch.utils.data.get_worker_info():
                    time.sleep(0.5)
                    os.kill(os.getpid(), signal.SIGKILL)
                return torch.zeros(4)
        begin()
        for workers in (2, 0):
            try:
                for batch in torch.utils.data.DataLoader(Images(), batch_size=4, num_workers=workers):
                    log(size=len(batch))
                break
            except (RuntimeError, OSError):
                logging.exception("loading in the main process from now on")
        """,
        needs=TORCH,
    ),
    normal(
        "has ranks under torchrun that fail once, are started again, and come to their end",
        """
        begin()
        for step in range(20):
            log(loss=1 / (step + 1)); time.sleep(0.02)
        if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            raise ConnectionError("the object store did not answer")
        """,
        command=(*TORCHRUN[:-1], "--max-restarts=1", SCRIPT),
        processes=2,
        needs=TORCH,
        takes_s=120.0,
    ),
    normal(
        "makes a core of itself by a child that aborts",
        """
        begin()
        if (pid := os.fork()) == 0:
            os.abort()
        print("snapshot left with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        for step in range(20):
            log(loss=0.5); time.sleep(0.02)
        """,
    ),
]
