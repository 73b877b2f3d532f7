"""What every agent does: asks, runs, tells, until the sweep is over, it has had its count, or somebody stops it."""

import math
import threading
import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from holter.agents.interrupts import Interrupts
from holter.agents.progress import Progress
from holter.errors import NoSweep, Refused, Unreachable
from holter.sweeps.opening import Sweep
from holter.sweeps.words import Answer, Asker, Lease, Outcome, Said, Word

RENEW_S = 5.0
GIVE_UP_S = 40.0
"""Without an answer for so long a trial is stopped: a word that hangs and a program that takes its time to leave have
room before its lease ends and another agent may have it."""
RETRY_S = 1.0
TELL_S = 3600.0


class Runner(Protocol):
    """Runs one trial to its end."""

    def run(self, lease: Lease, holder: "Holder") -> Outcome | None:
        """How it ended; None where the lease was lost, and nothing counts."""


class Holder:
    """Keeps a lease: says what is known of the trial, and hears whether it may go on. Thread-safe."""

    def __init__(self, sweep: Sweep, asker: Asker, *, lease: Lease, is_now: Callable[[], bool] = lambda: False) -> None:
        self._sweep = sweep
        self._is_now = is_now
        self._asker = asker
        self._lease = lease
        self._answered_at = time.monotonic()
        self._turn = threading.Lock()
        self.said = Said(holds=True)
        self.iteration = 0
        self.value: float | None = None

    def renew(self, reports: tuple[tuple[int, float], ...] = ()) -> Said:
        """One word to the sweep. Where nobody answers the trial goes on, for as long as the lease surely holds."""
        try:
            with self._turn:
                self.said = self._sweep.say(self._word(reports=reports))
            self._answered_at = time.monotonic()
        except NoSweep:
            self.said = Said(holds=False)
        except (Unreachable, Refused, OSError):
            if time.monotonic() - self._answered_at > GIVE_UP_S:
                self.said = Said(holds=False)
        return self.said

    def tell(self, outcome: Outcome) -> bool:
        """Say how it ended, for as long as it takes; false where the lease had been lost. Raises what keeps it from it.

        Who is to leave at once leaves: the trial is handed out again when its lease has ended.
        """
        until = time.monotonic() + TELL_S
        while True:
            try:
                with self._turn:
                    return self._sweep.say(self._word(ended=outcome)).holds
            except NoSweep:
                return False
            except (Unreachable, Refused, OSError):
                if self._is_now() or time.monotonic() > until:
                    raise
                time.sleep(RETRY_S)

    def _word(self, *, reports: tuple[tuple[int, float], ...] = (), ended: Outcome | None = None) -> Word:
        value = self.value if self.value is not None and self.value - self.value == 0 else None
        return Word(
            asker=self._asker,
            number=self._lease.number,
            fence=self._lease.fence,
            iteration=self.iteration,
            value=value,
            # JSON has no NaN: such a word would be refused, and a trial that diverges be taken for a lost one.
            reports=tuple(each for each in reports if math.isfinite(each[1])),
            ended=ended,
        )


def work(
    sweep: Sweep,
    asker: Asker,
    *,
    runner: Runner,
    count: int | None,
    progress: Progress,
    interrupts: Interrupts,
) -> int:
    """Run trials; returns how many. Raises NoSweep, UsageError, and Unreachable when told to stop at once."""
    done = 0
    while (count is None or done < count) and not interrupts.is_leaving:
        answer = _ask(sweep, asker)
        if answer.kind == "over":
            progress.say(f"sweep {sweep.id} is over: {answer.why}")
            break
        if answer.lease is None:
            progress.wait(answer.why)
            time.sleep(answer.again_s or RETRY_S)
            continue
        lease = answer.lease
        progress.begin(lease)
        holder = Holder(sweep, asker, lease=lease, is_now=lambda: interrupts.is_now)
        outcome = runner.run(lease, holder)
        is_kept = outcome is not None and holder.tell(outcome)
        progress.end(lease, outcome if is_kept else None)
        done += 1
    return done


def _ask(sweep: Sweep, asker: Asker) -> Answer:
    """A server that is away is waited for."""
    try:
        return sweep.ask(asker)
    except NoSweep:
        raise
    except (Unreachable, Refused) as error:
        if isinstance(error, Refused) and error.status < 500 and error.status != 429:
            raise
        return Answer(kind="wait", why=str(error), again_s=RETRY_S)


def given_back() -> Outcome:
    """What is told of a trial that its agent was told to leave."""
    return msgspec.structs.replace(Outcome(state="crashed"), is_given_back=True, because="its agent was stopped")
