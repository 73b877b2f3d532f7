"""How a run ended, from everything that its witnesses said. Pure: whoever has the evidence gets the same answer."""

import os
import signal
from collections.abc import Mapping, Sequence

import msgspec

from holter.errors import UsageError
from holter.model.records import Exited, Finished, KernelAsked, Marked, Raised

RUNNING, FINISHED, FAILED, CRASHED, PREEMPTED = "running", "finished", "failed", "crashed", "preempted"
STATES = (RUNNING, FINISHED, FAILED, CRASHED, PREEMPTED)
UNREADABLE = "unreadable"
"""What stands in the place of a state where holter itself fails over a run's records."""
NOTICED_WITHIN_NS = 1_000_000_000
# A kernel that does not listen is given some seconds, then it is ended.
KERNEL_LEAVES_WITHIN_NS = 60_000_000_000
KERNEL_LEFT_ALONE = 1
"""The exit code of a kernel that finds its server gone."""
_WORST_FIRST = (CRASHED, PREEMPTED, FAILED, FINISHED)


class Lateness(msgspec.Struct, frozen=True):
    """When silence means something, for a process that nobody here can look at."""

    stale_s: float = 15.0
    crashed_s: float = 60.0


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one process of a run."""

    pid: int
    last_seen_ns: int
    is_alive: bool | None
    """None where nobody here can look: another host or container."""
    rank: int | None = None
    finished: Finished | None = None
    raised: Raised | None = None
    exited: Exited | None = None
    was_terminated: bool = False
    """A SIGTERM arrived that the program handled."""
    was_preempted: bool = False
    """The program said that a scheduler takes its place."""
    asked: KernelAsked | None = None
    """Of a notebook's kernel: what it was told, or found, that made it end."""
    failed_cell: Raised | None = None
    """Of a notebook's kernel: what ended the last cell that logged, where nothing was logged after it."""
    began_ns: int = 0
    joined: tuple["Witness", ...] = ()
    """Of a command under `holter run`: the processes in it that record by themselves."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """A state with its reason in one sentence. `is_final` where only new data could change it."""

    state: str
    because: str
    ended_at_ns: int | None = None
    status: int | None = None
    """The wait status of the process that decided, where somebody read it."""
    source: str = ""
    """Who read it."""
    is_stale: bool = False
    is_final: bool = False
    is_said: bool = False
    """The program itself ended the run."""
    pid: int = 0
    """The process whose end is the run's; 0 while it runs."""
    failed_cell: Raised | None = None
    """What ended the notebook's last cell that logged, where the run failed because of it."""


def settle(witnesses: Sequence[Witness], marks: Sequence[Marked], *, now_ns: int, lateness: Lateness) -> Outcome:
    """The state of a run. A person's mark > the program's end record > exit status > lateness."""
    return with_mark(_settle_processes(witnesses, now_ns, lateness), marks)


def with_mark(outcome: Outcome, marks: Sequence[Marked]) -> Outcome:
    """The same as people see it: the last mark wins for a run that has ended."""
    mark = marks[-1] if marks else None
    if mark is None or not mark.state or outcome.state == RUNNING:
        return outcome
    because = (
        f"{mark.by} marked it {mark.state}: {mark.reason} (holter's own verdict: {outcome.state}, {outcome.because})"
    )
    return msgspec.structs.replace(outcome, state=mark.state, because=because)


def _settle_processes(witnesses: Sequence[Witness], now_ns: int, lateness: Lateness, /) -> Outcome:
    if not witnesses:
        return Outcome(state=RUNNING, because="it has only just begun")
    outcomes = [(witness, settle_process(witness, now_ns=now_ns, lateness=lateness)) for witness in witnesses]
    # Rank 0 ends the run, and the death of any rank is its death: whatever came first, for the rest follows from it.
    main = min(outcomes, key=lambda pair: pair[0].rank or 0)[1]
    ends = [outcome for _, outcome in outcomes if outcome.state in (CRASHED, PREEMPTED, FAILED)]
    if main.state == FINISHED and not any(_may_precede(end, main) for end in ends):
        ends.append(main)
    return min(ends, key=lambda end: (end.ended_at_ns or now_ns, _WORST_FIRST.index(end.state)), default=main)


def _may_precede(end: Outcome, main: Outcome, /) -> bool:
    """Whether a process was killed before another said its end: the sidecar notices a death some moments later."""
    is_killed = end.state == CRASHED and not end.is_said and end.ended_at_ns is not None
    return is_killed and (end.ended_at_ns or 0) - NOTICED_WITHIN_NS < (main.ended_at_ns or 0)


def settle_process(witness: Witness, *, now_ns: int, lateness: Lateness) -> Outcome:
    """The outcome of one process on its own."""
    outcome = _by_end_record(witness) or _by_wish(witness) or _by_status(witness) or _by_absence(witness)
    outcome = _with_failed_cell(outcome or _by_lateness(witness, now_ns, lateness), witness)
    if witness.joined:
        outcome = _with_joined(outcome, _settle_processes(_last_ones(witness.joined), now_ns, lateness))
    if outcome.state != RUNNING and not outcome.pid:
        outcome = msgspec.structs.replace(outcome, pid=witness.pid)
    if witness.was_preempted and outcome.state in (CRASHED, FAILED):
        because = f"the program said that it was being preempted; then {outcome.because}"
        return msgspec.structs.replace(outcome, state=PREEMPTED, because=because)
    return outcome


def _with_failed_cell(outcome: Outcome, witness: Witness) -> Outcome:
    """A notebook whose training failed is put away later: that is no success, unless it calls `finish()` before."""
    raised, finished = witness.failed_cell, witness.finished
    is_claimed = outcome.is_said and finished is not None and finished.how != "replaced"
    if raised is None or outcome.state != FINISHED or is_claimed:
        return outcome
    return msgspec.structs.replace(
        outcome, state=FAILED, because=_exception(raised), ended_at_ns=raised.at_ns, failed_cell=raised
    )


def _with_joined(command: Outcome, inner: Outcome) -> Outcome:
    """A command and what recorded inside it: what went wrong inside, or goes on there, or was said there, counts."""
    return command if inner.state == FINISHED and not inner.is_said else inner


def _last_ones(joined: Sequence[Witness]) -> list[Witness]:
    """Without those that were dead when another of their rank began: the command tried again, or went on with it."""
    return [
        each
        for each in joined
        if not any(other.rank == each.rank and _was_over(each, other.began_ns) for other in joined if other != each)
    ]


def _was_over(witness: Witness, at_ns: int) -> bool:
    """Whether a process had ended by then. The sidecar notices a death some moments after it."""
    if witness.finished is not None:
        return witness.finished.at_ns <= at_ns
    return _end_ns(witness) - NOTICED_WITHIN_NS <= at_ns and witness.last_seen_ns <= at_ns


def _end_ns(witness: Witness) -> float:
    if witness.exited is not None:
        return witness.exited.at_ns
    return witness.last_seen_ns if witness.is_alive is False else float("inf")


def _by_end_record(witness: Witness) -> Outcome | None:
    finished = witness.finished
    if finished is None or finished.is_leaving:
        return None  # the exit status has the code, which at the exit of the interpreter is not even known yet
    status = witness.exited.status if witness.exited else None
    source = witness.exited.source if witness.exited else ""
    code = finished.exit_code or 0
    if code == 0 and not (witness.was_terminated and finished.how == "context"):
        state, because = FINISHED, "the program ended the run"
    elif witness.was_terminated:
        state, because = CRASHED, f"it was sent SIGTERM and ended the run with exit code {code}"
    else:
        state, because = FAILED, _failure(witness, f"the program ended the run with exit code {code}")
    return Outcome(
        state=state,
        because=because,
        ended_at_ns=finished.at_ns,
        status=status,
        source=source,
        is_final=True,
        is_said=True,
    )


def last_wish(asked: Sequence[KernelAsked], *, ended_ns: int, status: int | None) -> KernelAsked | None:
    """What made a kernel end then. Whatever it is asked after its end is the server tidying up."""
    kinds = {"restart", "shutdown"}
    if status is not None and os.WIFEXITED(status) and os.WEXITSTATUS(status) == KERNEL_LEFT_ALONE:
        kinds.add("server-gone")
    wishes = [each for each in asked if each.kind in kinds and 0 <= ended_ns - each.at_ns <= KERNEL_LEAVES_WITHIN_NS]
    return wishes[-1] if wishes else None


def _by_wish(witness: Witness) -> Outcome | None:
    """A kernel ends when it is told to, whatever its exit status: well where no cell was running."""
    asked = witness.asked
    if asked is None or (witness.exited is None and witness.is_alive is not False):
        return None
    done = "restarted" if asked.kind == "restart" else "shut down"
    if asked.kind == "server-gone":
        state, because = CRASHED, "the Jupyter server died, and the notebook's kernel with it"
    elif asked.is_busy:
        state, because = FAILED, f"the notebook's kernel was {done} while a cell was running"
    else:
        state, because = FINISHED, f"the notebook's kernel was {done} while no cell was running"
    exited = witness.exited
    return Outcome(
        state=state,
        because=because,
        ended_at_ns=exited.at_ns if exited else witness.last_seen_ns,
        status=exited.status if exited else None,
        source=exited.source if exited else "",
        is_final=True,
    )


def _by_status(witness: Witness) -> Outcome | None:
    exited = witness.exited
    if exited is None or exited.status is None:
        return None
    if os.WIFSIGNALED(exited.status):
        number = os.WTERMSIG(exited.status)
        state = FAILED if number == signal.SIGINT else CRASHED
        because = f"{signal_name(number)} ended process {exited.pid}"
    else:
        code = os.WEXITSTATUS(exited.status)
        state = CRASHED if witness.was_terminated else FINISHED if code == 0 else FAILED
        because = f"process {exited.pid} exited with exit code {code}"
        if witness.was_terminated:
            because = f"it was sent SIGTERM, then {because}"
        elif state == FAILED:
            because = _failure(witness, because)
    return Outcome(
        state=state,
        because=because,
        ended_at_ns=exited.at_ns,
        status=exited.status,
        source=exited.source,
        is_final=True,
    )


def _by_absence(witness: Witness) -> Outcome | None:
    if witness.exited is None and witness.is_alive is not False:
        return None
    ended_at_ns = witness.finished.at_ns if witness.finished else witness.last_seen_ns
    if witness.raised is not None:
        state, because = FAILED, _failure(witness, f"process {witness.pid} is gone")
    elif witness.finished is not None and witness.finished.exit_code and not witness.was_terminated:
        code, how = witness.finished.exit_code, "os._exit" if witness.finished.how == "_exit" else "sys.exit"
        state, because = FAILED, f"process {witness.pid} called {how}({code}); its exit status could not be read"
    elif witness.finished is not None and not witness.was_terminated:
        state, because = FINISHED, f"process {witness.pid} exited normally; its exit code could not be read"
    else:
        state, because = (
            CRASHED,
            f"process {witness.pid} is gone without a trace, and its exit status could not be read",
        )
    return Outcome(state=state, because=because, ended_at_ns=ended_at_ns, is_final=True)


def _by_lateness(witness: Witness, now_ns: int, lateness: Lateness, /) -> Outcome:
    if witness.is_alive:
        return Outcome(state=RUNNING, because=f"process {witness.pid} is alive")
    silent_s = (now_ns - witness.last_seen_ns) / 1e9
    if silent_s > lateness.crashed_s:
        because = f"nothing was heard from it for {silent_s:,.0f} s, and its process can't be seen from here"
        return Outcome(state=CRASHED, because=because, ended_at_ns=witness.last_seen_ns)
    because = f"last heard from {max(silent_s, 0.0):,.0f} s ago; its process can't be seen from here"
    return Outcome(state=RUNNING, because=because, is_stale=silent_s > lateness.stale_s)


def _failure(witness: Witness, otherwise: str) -> str:
    return _exception(witness.raised) if witness.raised else otherwise


def _exception(raised: Raised) -> str:
    return f"{raised.type}: {raised.message}".strip().rstrip(":")


def signal_name(number: int) -> str:
    """`SIGKILL` for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def read_lateness(environ: Mapping[str, str]) -> Lateness:
    """`HOLTER_STALE_AFTER` and `HOLTER_CRASHED_AFTER`, in seconds. Raises UsageError."""
    defaults = Lateness()
    return Lateness(
        stale_s=_seconds(environ, "HOLTER_STALE_AFTER", default=defaults.stale_s),
        crashed_s=_seconds(environ, "HOLTER_CRASHED_AFTER", default=defaults.crashed_s),
    )


def _seconds(environ: Mapping[str, str], name: str, *, default: float) -> float:
    text = environ.get(name, "")
    try:
        return float(text) if text else default
    except ValueError:
        raise UsageError(f"{name} must be a number of seconds, got {text!r}") from None
