"""What is, and what is not, `worker-died`."""

from holter.model.evidence import End
from tests.causes.example import Example
from tests.causes.specimens import before, evidence, exited, failed, said, signalled


def _worker(status: int, seconds: float) -> End:
    return End(pid=900, role="child", name="Process-3", source="multiprocessing", at_ns=before(seconds), status=status)


_LOADER = failed("RuntimeError", "DataLoader worker (pid(s) 900) exited unexpectedly")

EXAMPLES = [
    Example(evidence(_LOADER, children=(_worker(4 << 8, 1),)), fires=True),
    Example(evidence(_LOADER), fires=True),
    Example(evidence(exited(139, role="command"), children=(_worker(11, 0.1),)), fires=True),
    Example(evidence(failed("EOFError", "", statement="queue.get()"), children=(_worker(9, 2),)), fires=True),
    # Spawned workers import the script, which starts workers: each prints why it can't, and the pool breaks.
    Example(
        evidence(
            failed(
                "concurrent.futures.process.BrokenProcessPool", "A process in the process pool was terminated abruptly"
            ),
            children=(_worker(1 << 8, 0.5),),
            said=(said("        current process has finished its bootstrapping phase. freeze_support()"),),
        ),
        fires=True,
    ),
    # A worker that died an hour ago was replaced; this exception is another matter.
    Example(evidence(failed("ValueError", "bad label"), children=(_worker(9, 3600),)), fires=False),
    # A pool ends its workers when it closes.
    Example(evidence(exited(0), children=(_worker(15, 0.1),)), fires=False),
    # The exit code is the program's own, not its child's.
    Example(evidence(exited(3), children=(_worker(9, 0.5),)), fires=False),
    Example(evidence(signalled(9), children=(_worker(9, 0.1),)), fires=False),
]
