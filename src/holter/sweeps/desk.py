"""One sweep as its agents and people meet it, where its book is kept: here, or at the server."""

import math
import time
from collections.abc import Callable
from typing import Any

import msgspec

from holter.errors import UsageError
from holter.storage.sweeps import SweepStore
from holter.sweeps import fates
from holter.sweeps.book import Book
from holter.sweeps.configuration import Configuration
from holter.sweeps.events import Added, AnyEvent, Decreed, Ended, Handed, Reported
from holter.sweeps.fates import AGENT_LOST, FAIL, PAUSE_HOST, QUARANTINE, SAME_PLACE, STOP, fate_of
from holter.sweeps.parameters import params_of, point_of
from holter.sweeps.search import Search
from holter.sweeps.state import (
    FAILED,
    FINISHED,
    INFEASIBLE,
    PAUSED,
    PRUNED,
    RUNNING,
    STOPPED,
    WAITING,
    SweepState,
    Trial,
)
from holter.sweeps.words import AgentSeen, Answer, Asker, Lease, Outcome, Said, Word

LEASE_S = 60.0
"""Without a word of its agent for so long a trial is handed to another."""
QUIET_S = 10.0
"""After so long somebody looks whether its run has ended."""
LATER_S = 1.0
MOST_SKIPPED = 10_000
Bounds = tuple[float, float]
Look = Callable[[str], Outcome | None]
"""How a run ended, None for one that lives or that nobody knows."""


class Desk:
    """Hands out trials and takes what became of them. Thread-safe for nobody: one for each thread, or a lock.

    Raises NoSweep, StorageError, JournalError, OSError.

    Args:
        look: how the run of an agent that is silent ended.
        is_gone: whether the process of an agent is known to be dead.
    """

    def __init__(
        self,
        store: SweepStore,
        sweep: str,
        *,
        look: Look = lambda run: None,
        is_gone: Callable[[Asker], bool] = lambda asker: False,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.id = sweep
        self._book = Book(store, sweep)
        self._look = look
        self._is_gone = is_gone
        self._now_ns = now_ns
        self._searches: dict[str, Search] = {}
        self._importance: tuple[int, dict[str, float]] = (0, {})

    def look_with(self, look: Look) -> None:
        """Ask this how the run of a silent agent ended."""
        self._look = look

    def state(self) -> SweepState:
        """All that is known now."""
        return self._book.catch_up()

    def ask(self, asker: Asker) -> Answer:
        """A trial for this agent, or why there is none."""
        self._book.hear(AgentSeen(asker=asker, at_ns=self._now_ns()))
        with self._book.turn():
            self._free_lost(asker)
            for _ in range(MOST_SKIPPED):
                state = self._book.catch_up()
                if (answer := self._refusal(state, asker)) is not None:
                    end = self._end_of_search(state)  # nobody is to wait for what will not come
                    return end if end is not None and end.kind == "over" else answer
                if (lease := self._hand_waiting(asker)) is not None:
                    return Answer(kind="trial", lease=lease)
                if (answer := self._end_of_search(state)) is not None:
                    return answer
                if (lease := self._hand_new(asker)) is not None:
                    return Answer(kind="trial", lease=lease)
        return Answer(kind="wait", why="all of what is left does not fit", again_s=LATER_S)

    def say(self, word: Word) -> Said:
        """Renew a lease, report values, end a trial. What comes after the lease was lost changes nothing."""
        state = self._book.catch_up()
        seen = AgentSeen(
            asker=word.asker,
            at_ns=self._now_ns(),
            number=None if word.ended else word.number,
            iteration=word.iteration,
            value=word.value,
        )
        self._book.hear(seen)
        if not state.holds(word.number, word.fence):
            return Said(holds=False)
        should_end = bool(word.reports) and self._report(word)
        if word.ended is not None:
            is_kept = self._end(word.number, word.fence, word.ended)
            return Said(holds=is_kept)
        return Said(holds=True, is_pruned=should_end, is_ended=state.is_ending)

    def change(self, act: str, *, by: str, what: str = "", reason: str = "", bounds: Bounds | None = None) -> None:
        """Pause, resume, stop, end, allow again, quarantine, lift, give a parameter other bounds. Raises UsageError."""
        known = ("pause", "resume", "stop", "end", "allow", "quarantine", "lift", "bounds")
        if act not in known:
            raise UsageError(f"a sweep can be told {', '.join(known)}; not {act!r}")
        if act == "bounds":
            if bounds is None:
                raise UsageError("say which bounds: two numbers, the lower one first")
            self._configuration().within(what, bounds)
        decreed = Decreed(at_ns=self._now_ns(), act=act, by=by, what=what, reason=reason, bounds=bounds)
        self._book.append(lambda state: [decreed])

    def add(
        self, params: dict[str, Any], *, value: float | None = None, run: str = "", because: str = "enqueued"
    ) -> int:
        """Enqueue a trial with these values; with a `value`, take over one that ran before. Raises UsageError."""
        parameters = self._configuration().parameters
        point = point_of(parameters, params)
        numbers: list[int] = []

        def make(state: SweepState) -> list[AnyEvent]:
            numbers.append(len(state.trials))
            return [
                Added(
                    at_ns=self._now_ns(),
                    number=len(state.trials),
                    point=point,
                    params=params_of(parameters, point),
                    state=WAITING if value is None else FINISHED,
                    value=value,
                    because=because,
                    run=run,
                )
            ]

        self._book.append(make)
        return numbers[0]

    def again(self, number: int, *, by: str) -> int:
        """Run a trial that has ended once more, as a new trial. Raises UsageError."""
        trials = self.state().trials
        if not 0 <= number < len(trials):
            raise UsageError(f"this sweep has no trial {number}")
        return self.add(trials[number].params, because=f"trial {number} again, asked for by {by}")

    def importance(self) -> dict[str, float]:
        """What matters, as shares of 1; asked anew when another trial has finished."""
        state = self.state()
        finished = sum(each.state == FINISHED for each in state.trials)
        if self._importance[0] != finished and self._configuration().metric is not None:
            self._importance = finished, self._search("").importance(state)
        return self._importance[1]

    def agents(self) -> list[AgentSeen]:
        """Those that were heard of, the newest first."""
        return self._book.agents()

    def is_silent(self, seen: AgentSeen | None) -> bool:
        """Whether an agent is taken for lost."""
        return seen is None or self._is_gone(seen.asker) or self._now_ns() - seen.at_ns > LEASE_S * 1e9

    def _configuration(self) -> Configuration:
        configuration = self._book.catch_up().configuration
        assert configuration is not None
        return configuration

    def _search(self, device: str) -> Search:
        configuration = self._configuration()
        known = self._searches.get(device)
        if known is None or known.configuration is not configuration:  # its bounds were changed
            known = self._searches[device] = Search(configuration, device)
        return known

    def _refusal(self, state: SweepState, asker: Asker) -> Answer | None:
        if state.status == STOPPED:
            return Answer(kind="over", why=state.reason or "the sweep was stopped")
        for place in (asker.gpu_place, asker.host_place):
            if place in state.quarantined:
                why = f"{place} gets no trials: {state.quarantined[place]}"
                return Answer(kind="wait", why=why, again_s=LATER_S)
        if state.status == PAUSED:
            return Answer(kind="wait", why=state.reason or "the sweep is paused", again_s=LATER_S)
        return None

    def _end_of_search(self, state: SweepState) -> Answer | None:
        if not self._is_full(state):
            return None
        if any(not each.is_over for each in state.trials):
            return Answer(kind="wait", why="the last trials are running", again_s=LATER_S)
        return Answer(kind="over", why="all trials have ended")

    def _is_full(self, state: SweepState) -> bool:
        """Whether it has all of its trials."""
        assert state.configuration is not None
        size, cap = state.configuration.size, state.configuration.run_cap
        visited = len({each.attrs["grid_id"] for each in state.trials if "grid_id" in each.attrs})
        return (cap is not None and len(state.trials) >= cap) or (size is not None and visited >= size)

    def _hand_waiting(self, asker: Asker) -> Lease | None:
        leases: list[Lease] = []

        def make(state: SweepState) -> list[AnyEvent]:
            waiting = [each for each in state.trials if each.state == WAITING]
            trial = next((each for each in waiting if each.last is None or each.last.agent != asker.id), None)
            trial = trial or next(iter(waiting), None)
            if trial is None:
                return []
            handed = self._handed(trial.number, len(trial.attempts) + 1, asker)
            before = tuple(each.run for each in reversed(trial.attempts))
            leases.append(self._lease(handed, trial.params | trial.changed, before=before))
            return [handed]

        self._book.append(make)
        return leases[0] if leases else None

    def _hand_new(self, asker: Asker) -> Lease | None:
        search, state = self._search(asker.device), self._book.state
        if self._is_full(state):  # another server handed out the last one just now
            return None
        suggested = search.suggest(state)
        params = params_of(search.configuration.parameters, suggested.point)
        number = len(state.trials)
        noted: dict[str, Any] = {"attrs": suggested.attrs, "study_attrs": suggested.study_attrs}
        if suggested.region is not None:
            because = (
                f"not tried: {suggested.region.died} of {suggested.region.died} with {suggested.region.words} died"
            )
            event: AnyEvent = Added(
                at_ns=self._now_ns(),
                number=number,
                point=suggested.point,
                params=params,
                state=INFEASIBLE,
                because=because,
                **noted,
            )
        else:
            event = msgspec.structs.replace(
                self._handed(number, 1, asker), point=suggested.point, params=params, **noted
            )
        # Somebody may have enqueued a trial meanwhile: then this number is theirs.
        written = self._book.append(lambda state: [event] if len(state.trials) == number else [])
        if not written:
            self._searches.pop(asker.device, None)
        return self._lease(event, params) if written and isinstance(event, Handed) else None

    def _handed(self, number: int, fence: int, asker: Asker) -> Handed:
        run = f"{self.id}-{number}" + (f"-{fence}" if fence > 1 else "")
        return Handed(
            at_ns=self._now_ns(),
            number=number,
            fence=fence,
            agent=asker.id,
            run=run,
            host=asker.host,
            device=asker.device,
            gpu=asker.gpu,
        )

    def _lease(self, handed: Handed, params: dict[str, Any], *, before: tuple[str, ...] = ()) -> Lease:
        return Lease(
            sweep=self.id, number=handed.number, fence=handed.fence, run=handed.run, params=params, before=before
        )

    def _report(self, word: Word) -> bool:
        """Keep the values of the metric; whether the trial should end for them."""
        early_end = self._configuration().early_end
        should_end, events = False, list[AnyEvent]()
        for iteration, value in word.reports:
            if not math.isfinite(value):  # what follows from that is decided when it ends
                continue
            attrs: dict[str, Any] = {}
            if early_end is not None and early_end.asks_at(iteration):
                search = self._search(word.asker.device)
                ends, attrs = search.judge(self._book.state, word.number, iteration=iteration, value=value)
                should_end = should_end or ends
            event = Reported(
                at_ns=self._now_ns(),
                number=word.number,
                fence=word.fence,
                iteration=iteration,
                value=value,
                attrs=attrs,
            )
            events.append(event)
        self._book.append(lambda state: events if state.holds(word.number, word.fence) else [])
        return should_end

    def _end(self, number: int, fence: int, outcome: Outcome) -> bool:
        return bool(
            self._book.append(
                lambda state: self._consequences(state, number, fence, outcome) if state.holds(number, fence) else []
            )
        )

    def _consequences(self, state: SweepState, number: int, fence: int, outcome: Outcome) -> list[AnyEvent]:
        """What follows from the end of an attempt. Pure but for the clock."""
        configuration = self._configuration()
        trial = state.trials[number]
        attempt = trial.attempts[fence - 1]
        said = _settle(configuration, trial, outcome)
        fate = fate_of(outcome.cause, configuration.on_death) if said == FAILED and outcome.cause else ""
        now = self._now_ns()
        value = outcome.value
        events: list[AnyEvent] = []
        changed: dict[str, Any] = {}
        if fate:
            said = _after_death(fate, trial, configuration.attempts)
            if said == INFEASIBLE and configuration.smaller_batch is not None and not trial.changed:
                changed = configuration.smaller_batch.of(trial.params)
                said = WAITING if changed else said
            known = outcome.last if outcome.last is not None else trial.last_finite
            value = known if said == PRUNED else None
        ended = Ended(
            at_ns=now,
            number=number,
            fence=fence,
            state=said,
            value=value if value is not None and value - value == 0 else None,
            cause=outcome.cause,
            because=outcome.because,
            place=outcome.place,
            peak_bytes=outcome.peak_bytes,
            limit_bytes=outcome.limit_bytes,
            changed=changed,
            is_free=outcome.is_given_back,
        )
        events.append(ended)
        if fate == QUARANTINE and attempt.host:
            what = f"{attempt.host}/{attempt.gpu}" if attempt.gpu else attempt.host
            events.append(Decreed(at_ns=now, act="quarantine", what=what, by="holter", reason=outcome.cause))
        if fate == PAUSE_HOST and attempt.host:
            reason = f"{outcome.cause}: make room, then `holter sweep lift {self.id} {attempt.host}`"
            events.append(Decreed(at_ns=now, act="quarantine", what=attempt.host, by="holter", reason=reason))
        reason = _reason_to_stop(state, fate, outcome)
        if said == FAILED and outcome.state == FINISHED:
            reason = _never_logged(state, outcome)
        if reason and state.status == RUNNING:
            events.append(Decreed(at_ns=now, act="stop", by="holter", reason=reason))
        if said == FINISHED and _reached(configuration, ended.value):
            reason = f"a trial reached {ended.value}"
            events.append(Decreed(at_ns=now, act="stop", by="holter", reason=reason))
        return events

    def _free_lost(self, asker: Asker) -> None:
        """End what nobody works at any more. Who asks works at nothing: the answer that gave it a trial was lost."""
        state = self._book.catch_up()
        running = [each for each in state.trials if each.state == RUNNING]
        if not running:
            return
        seen = {each.asker.id: each for each in self.agents()}
        for trial in running:
            attempt = trial.last
            assert attempt is not None
            known = seen.get(attempt.agent)
            is_theirs = attempt.agent == asker.id
            heard_ns = max(known.at_ns if known is not None else 0, attempt.started_ns)
            # What it asked for may have taken long to choose: its lease begins when it gets the answer.
            heard = msgspec.structs.replace(known, at_ns=heard_ns) if known is not None else None
            is_lost = is_theirs or self.is_silent(heard)
            if not is_lost and self._now_ns() - heard_ns < QUIET_S * 1e9:
                continue
            outcome = self._look(attempt.run)
            if outcome is None and is_lost:
                because = "its agent does not work at it" if is_theirs else "its agent is gone, and no run tells more"
                outcome = Outcome(state="crashed", cause=AGENT_LOST, because=because, is_given_back=is_theirs)
            if outcome is not None:
                self._end(trial.number, attempt.fence, outcome)


def _settle(configuration: Configuration, trial: Trial, outcome: Outcome) -> str:
    """The state of a trial whose attempt ended like this, before its cause is looked at."""
    if outcome.is_given_back:
        return WAITING
    if outcome.is_pruned:
        return PRUNED
    if outcome.state != "finished":
        return FAILED
    if configuration.metric is not None and outcome.value is None:
        return FAILED
    return FINISHED


def _after_death(fate: str, trial: Trial, attempts: int) -> str:
    if fate in (fates.INFEASIBLE, fates.PRUNED):
        return INFEASIBLE if fate == fates.INFEASIBLE else PRUNED
    if fate in (fates.AGAIN, QUARANTINE, PAUSE_HOST) and trial.tries < attempts:
        return WAITING
    return FAILED


def _reason_to_stop(state: SweepState, fate: str, outcome: Outcome) -> str:
    if fate == STOP:
        return f"{outcome.cause}: {outcome.because}"
    if fate != FAIL or not outcome.place:
        return ""
    same = sum(each.place == outcome.place and each.state == FAILED for each in state.trials)
    if same + 1 < SAME_PLACE:
        return ""
    said = f"{SAME_PLACE} trials failed at the same place, so it is the code: {outcome.because}"
    return f"{said}\n{outcome.traceback}".rstrip()


def _never_logged(state: SweepState, outcome: Outcome) -> str:
    """Where no trial has had a value, and several ended without one: no trial to come will have one either."""
    ended = sum(each.state == FAILED and not each.cause for each in state.trials)
    if ended + 1 < SAME_PLACE or any(each.value is not None or each.reports for each in state.trials):
        return ""
    return f"{SAME_PLACE} trials ended without a value, so it is the code or `metric`: {outcome.because}"


def _reached(configuration: Configuration, value: float | None) -> bool:
    """Whether a value is as good as what was asked for."""
    metric = configuration.metric
    if metric is None or metric.target is None or value is None:
        return False
    return not metric.is_better(metric.target, value)
