"""A worker or child process died, and the program could not go on without it.

The program's own exception (`DataLoader worker exited unexpectedly`, `BrokenProcessPool`) only reports that. Where it
is known why the child died, its own cause is named (out of memory, a segmentation fault); this one is for the rest.

Run with `num_workers=0`, so that what happens in the worker happens in the program and leaves a traceback.
"""

from holter.diagnosis import facts, testimony, words
from holter.diagnosis.advice import advise
from holter.diagnosis.mistakes import Mistake, find_mistake_of_workers
from holter.diagnosis.origins import find_lost_child
from holter.diagnosis.processes import call, how_it_went, lost_a_child
from holter.diagnosis.specimens import before, evidence, exited, failed, said, signalled
from holter.model.evidence import End, Evidence
from holter.model.verdicts import Answer, Example, Verdict

CAUSE = "worker-died"


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the subject ended because a child of it did."""
    end = evidence.subject
    child = find_lost_child(evidence)
    if end.raised is None:
        # A shell that hands on its command's code: nothing was lost that the exit code does not say.
        if child is None or child.signal is None:
            return None
    elif child is None and not lost_a_child(end):
        return None
    mistake = find_mistake_of_workers(evidence)
    found = [facts.of_status(child)] if child else []
    found += [facts.of_exception(end.raised, is_type_decisive=child is not None)] if end.raised else []
    return Verdict(
        cause=CAUSE,
        confidence=_confidence(child),
        title=_title(end, child, mistake),
        because=testimony.few([*found, facts.of_status(end), *testimony.of_steps(end)]),
        advice=advise(CAUSE, evidence, *((mistake.remedy,) if mistake else ())),
    )


def _confidence(child: End | None) -> float:
    if child is None:
        return 0.8
    return 0.95 if child.status is not None else 0.85


def _title(end: End, child: End | None, mistake: Mistake | None) -> str:
    why = f": {mistake.explanation}" if mistake else ""
    if child is None:
        return words.sentence(f"a worker of {call(end)} died, nobody saw how, and the program could not go on{why}")
    return words.sentence(f"{call(child)} {how_it_went(child)}, and {call(end)} could not go on without it{why}")


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
