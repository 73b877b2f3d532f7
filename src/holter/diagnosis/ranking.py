"""What all rules together come to: one cause, or the honest `unknown`. The only place where rules meet.

`diagnose(evidence)` finds whose death came first (`causality`), asks every rule about it, and then:

1. A run that finished, or lives and is well, has no cause, whatever was printed, caught or survived on its way.
2. A consequence never wins over a cause, and what is general (`uncaught-exception`, `killed`) gives way to what
   explains it (`disk-full`, `scheduler-cancelled`) where that is sure enough: rules declare how little they say.
3. Where no grade tells the best two apart, or none reaches `SURE_ENOUGH`, the answer is `unknown` with candidates, and
   with what could not be looked at.
4. A verdict that rests on text alone has the grade `MOST_BY_TEXT` at most; programs print what they like. One beside
   which a rival stands that nobody could look at stays below `SURE_FROM`: see `grades`.
5. Rules with `CONTRIBUTES` never are the cause; their ids, facts and advice are added to it.
"""

import signal
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from holter.diagnosis import facts, words
from holter.diagnosis.advice import MOST as MOST_ADVICE
from holter.diagnosis.advice import advise
from holter.diagnosis.causality.children import Suspect, find_suspect, has_unseen_victim
from holter.diagnosis.causality.console import with_printed_exception
from holter.diagnosis.causality.ends import BY_SRUN
from holter.diagnosis.causality.origin import find_origin
from holter.diagnosis.causality.ranks import tell_order
from holter.diagnosis.grades import CONSISTENT, COUNTED, INFERRED, NAMED, REMOTE, SURE_FROM, confidence_of
from holter.diagnosis.kernel_requests import without_server
from holter.diagnosis.loading import Rule, load_rules
from holter.diagnosis.remedies.outside import RUN_DOCTOR, watch_it
from holter.model.evidence import End, Evidence
from holter.model.state import CRASHED, FAILED, FINISHED, RUNNING
from holter.model.verdicts import Answer, Diagnosis, Fact, Grade, NotObservable, RuledOut, Verdict

UNKNOWN, WORKER_DIED = "unknown", "worker-died"
SURE_ENOUGH = INFERRED
"""From this grade on a verdict is an answer, and explains what says less."""
MOST_BY_TEXT = CONSISTENT
MOST_BY_TRACEBACK = COUNTED
"""Who catches an exception, prints it like Python and leaves with 1, can't be told from Python; few do."""
MOST = NAMED
MOST_OF_A_WORKER = INFERRED
"""That a worker died is no answer where it can almost be told why."""
MOST_WITH_SUSPECT = CONSISTENT
"""Of the program's own words, where a child that had died just before may be behind them."""
VAGUE_FROM = 2
"""How little may be said of a program that ended because of a child, when nothing connects both but the time."""
MOST_FACTS = 7
MOST_CANDIDATES = 4

_NEUTRAL = frozenset({facts.EXIT_STATUS, "journal"})


_Aside = TypeVar("_Aside", RuledOut, NotObservable)
_Item = TypeVar("_Item", Fact, str)


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules say about one process."""

    subject: End
    verdicts: tuple[Verdict, ...] = ()
    """That remain once the explained ones are gone, the best first."""
    contributing: tuple[Verdict, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    not_observable: tuple[NotObservable, ...] = ()
    rivals: dict[str, dict[str, Grade]] = {}
    """By the cause of a verdict: what else it may have been, and what that leaves of it."""

    @property
    def best(self) -> Verdict | None:
        """The verdict that stands out; None where there is none, or two are too near to each other."""
        if not self.verdicts or self.verdicts[0].grade < SURE_ENOUGH:
            return None
        first, *rest = self.verdicts
        return None if any(_is_near(first, each) for each in rest) else first


def diagnose(evidence: Evidence, rules: Sequence[Rule] | None = None) -> Diagnosis:
    """Why the run ended, how sure that is, and what to do. Pure; never raises."""
    rules = load_rules() if rules is None else rules
    if evidence.state == RUNNING:
        living = [rule for rule in rules if rule.is_of_the_living]
        judged = judge(evidence, living)
        return _tell(evidence, judged, judged.best) if judged.best is not None else _well(RUNNING, "It is running")
    if evidence.state == FINISHED or _is_idle_kernel(evidence):
        return _well(FINISHED, "It finished")
    evidence = with_printed_exception(evidence)
    own = judge(evidence, rules)
    origin = find_origin(evidence)
    if origin.subject.pid == evidence.subject.pid:
        told = _conclude(evidence, own)
    else:
        told = _conclude_about_others(evidence, own, judge(origin, rules))
    if told.cause not in {UNKNOWN, *(rule.cause for rule in rules if rule.generality >= VAGUE_FROM)}:
        return told
    suspect = find_suspect(origin, evidence.subject)
    if suspect is not None:
        return _weigh_up(evidence, told, suspect, judge(suspect.evidence, rules))
    return _with_candidates(told, ["cgroup-out-of-memory"]) if has_unseen_victim(origin) else told


def judge(evidence: Evidence, rules: Sequence[Rule]) -> Judged:
    """What the rules say about the subject alone."""
    evidence = with_printed_exception(evidence)
    answers = [(rule, _ask(rule, evidence)) for rule in rules]
    found = [each for _, each in answers if isinstance(each, Verdict)]
    rivals = {each.cause: _find_rivals(each, evidence, rules) for each in found}
    verdicts = [_bounded(each, evidence.subject, rivals[each.cause].values()) for each in found]
    causes = {rule.cause for rule, _ in answers if rule.contributes}
    primary = [each for each in verdicts if each.cause not in causes]
    return Judged(
        subject=evidence.subject,
        verdicts=tuple(sorted(_unexplained(primary), key=lambda each: -each.grade)),
        contributing=tuple(each for each in verdicts if each.cause in causes and each.grade >= SURE_ENOUGH),
        ruled_out=tuple(each for _, each in answers if isinstance(each, RuledOut)),
        not_observable=tuple(each for _, each in answers if isinstance(each, NotObservable)),
        rivals=rivals,
    )


def _ask(rule: Rule, evidence: Evidence) -> Answer:
    try:
        return rule.ask(evidence)
    except Exception as error:  # noqa: BLE001 - one broken rule, ours or somebody's, must not silence all others
        because = f"its rule failed: {type(error).__name__}: {error}"
        return NotObservable(cause=rule.cause, because=because, remedy=f"report it to the author of {rule.module}")


def _find_rivals(verdict: Verdict, evidence: Evidence, rules: Iterable[Rule]) -> dict[str, Grade]:
    """Causes that can't be told from the verdict's by what was looked at, and what each leaves of it."""
    others = sorted((rule for rule in rules if rule.cause != verdict.cause), key=lambda rule: rule.generality)
    left = {rule.cause: rule.hides_behind(verdict, evidence) for rule in others if rule.hides_behind is not None}
    return {cause: most for cause, most in left.items() if most is not None}


def _bounded(verdict: Verdict, subject: End, left: Iterable[Grade]) -> Verdict:
    by_facts = MOST_BY_TEXT if _is_by_text(verdict, subject) else _most_by_source(verdict)
    most = min([by_facts, *left])
    return msgspec.structs.replace(verdict, grade=min(verdict.grade, most))


def _is_by_text(verdict: Verdict, subject: End) -> bool:
    """Whether its strongest fact is text and nothing but the exit code goes with it."""
    sources = [fact.source for fact in verdict.facts]
    is_led_by_text = bool(sources) and sources[0] in facts.TEXT
    return is_led_by_text and subject.signal is None and all(each in facts.TEXT | _NEUTRAL for each in sources)


def _most_by_source(verdict: Verdict) -> Grade:
    is_by_traceback = bool(verdict.facts) and verdict.facts[0].source == facts.TRACEBACK
    return MOST_BY_TRACEBACK if is_by_traceback else MOST


def _is_near(better: Verdict, worse: Verdict) -> bool:
    """No grade lies between them; a candidate is nowhere near an answer."""
    return worse.grade >= SURE_ENOUGH and better.grade - worse.grade <= 1


def _unexplained(verdicts: Sequence[Verdict]) -> list[Verdict]:
    causes = [each for each in verdicts if not each.is_consequence]
    remaining = causes if any(each.grade >= SURE_ENOUGH for each in causes) else verdicts
    return [each for each in remaining if not any(_explains(other, each) for other in remaining)]


def _explains(other: Verdict, verdict: Verdict) -> bool:
    says_more = other.generality < verdict.generality and verdict.cause not in other.excludes
    return says_more and other.grade >= SURE_ENOUGH


def _is_idle_kernel(evidence: Evidence) -> bool:
    """A notebook's kernel that was shut down or restarted while no cell ran: a normal end, unless it said another."""
    finished = evidence.subject.finished
    if finished is not None and not finished.is_leaving:
        return False
    asked = [event for event in evidence.kernel_events if event.kind in ("restart", "shutdown")]
    return bool(asked) and not asked[-1].is_busy and without_server(evidence) is None


def _well(state: str, title: str) -> Diagnosis:
    return Diagnosis(cause=None, confidence=1.0, title=title, state=state)


def _conclude(evidence: Evidence, judged: Judged) -> Diagnosis:
    best = judged.best
    return _tell(evidence, judged, best) if best is not None else _abstain(evidence, judged)


def _conclude_about_others(evidence: Evidence, own: Judged, origin: Judged) -> Diagnosis:
    """The cause of who died first, where it is known; else that a worker died."""
    best, first = origin.best, origin.subject
    is_child = first.role == "child"
    if best is not None and not (is_child and best.cause == WORKER_DIED):
        likelihood = MOST_BY_TEXT if first.source == BY_SRUN else MOST
        return _tell(evidence, origin, _linked(evidence, best, first, likelihood, [facts.of_status(evidence.subject)]))
    died = next((each for each in own.verdicts if each.cause == WORKER_DIED), None)
    if is_child and died is not None and died.grade >= SURE_ENOUGH:
        merged = msgspec.structs.replace(own, not_observable=(*own.not_observable, *origin.not_observable))
        candidates = _causes(each for each in origin.verdicts if each.generality < died.generality)
        most = MOST_OF_A_WORKER if candidates else MOST
        bounded = msgspec.structs.replace(died, grade=min(died.grade, most))
        return _tell(evidence, merged, bounded, candidates=candidates)
    return _conclude(evidence, own if is_child else origin)


def _weigh_up(evidence: Evidence, told: Diagnosis, suspect: Suspect, judged: Judged, /) -> Diagnosis:
    """The cause of the child that may be behind it, or what was told before; and the other one as a candidate."""
    best = judged.best
    if best is not None and best.cause == told.cause:
        return told
    if best is None or best.generality >= VAGUE_FROM or suspect.likelihood < SURE_ENOUGH:
        return _with_candidates(told, _causes(each for each in judged.verdicts if each.generality < VAGUE_FROM))
    linked = _linked(evidence, best, suspect.evidence.subject, suspect.likelihood, told.evidence[:2])
    return _tell(evidence, judged, linked, candidates=() if linked.grade >= SURE_FROM else _some(told.cause))


def _linked(evidence: Evidence, best: Verdict, first: End, likelihood: Grade, more: Iterable[Fact], /) -> Verdict:
    """The verdict on who died first as one on the program, of which `more` tells."""
    return msgspec.structs.replace(
        best,
        grade=min(best.grade, likelihood),
        title=_with_whom(best.title, first, evidence.subject),
        because=_unique((*best.facts[: MOST_FACTS - 2], *more)),
        state="" if first.role == "child" else best.state or _state_by(first, evidence),
    )


def _with_candidates(told: Diagnosis, others: Sequence[str]) -> Diagnosis:
    candidates = tuple(dict.fromkeys([*told.candidates, *others]))[:MOST_CANDIDATES]
    grade = min(Grade[told.grade.upper()], MOST_WITH_SUSPECT)
    return msgspec.structs.replace(
        told, confidence=confidence_of(grade), grade=grade.name.lower(), candidates=candidates
    )


def _some(cause: str | None) -> tuple[str, ...]:
    return () if cause in (None, UNKNOWN) else (cause,)


def _state_by(first: End, evidence: Evidence) -> str:
    """The state of the rank that died first is that of the run, though others ended otherwise after it."""
    if first.rank is None or evidence.subject.rank is None or first.signal == signal.SIGINT:
        return ""
    if first.raised is not None and first.signal is None:
        return FAILED
    return CRASHED if first.code is None else ""


def _with_whom(title: str, first: End, subject: End) -> str:
    """Names the process that died first where the title does not."""
    if first.pid == subject.pid or str(first.pid) in title or (first.rank is not None and f"ank {first.rank}" in title):
        return title
    return words.sentence(f"{title}; it was {words.process(first)} that died first")


def _tell(evidence: Evidence, judged: Judged, verdict: Verdict, /, *, candidates: tuple[str, ...] = ()) -> Diagnosis:
    more = [*tell_order(evidence), *(fact for each in judged.contributing for fact in each.facts[:1])]
    hints = [text for each in judged.contributing for text in each.advice[:2]]
    contributing = (*verdict.contributing, *(each.cause for each in judged.contributing))
    return Diagnosis(
        cause=verdict.cause,
        confidence=confidence_of(verdict.grade),
        grade=verdict.grade.name.lower(),
        title=verdict.title,
        state=verdict.state or evidence.state,
        candidates=candidates or _runners_up(judged, verdict),
        evidence=_unique((*verdict.facts, *more))[:MOST_FACTS],
        advice=_mixed(verdict.advice, hints),
        contributing=tuple(dict.fromkeys(contributing)),
        ruled_out=tuple(each for each in _by_cause(judged.ruled_out) if each.cause != verdict.cause),
        not_observable=tuple(each for each in _by_cause(judged.not_observable) if each.cause != verdict.cause),
        curves=tuple(dict.fromkeys(curve for each in (verdict, *judged.contributing) for curve in each.curves)),
    )


def _runners_up(judged: Judged, verdict: Verdict) -> tuple[str, ...]:
    """What else it may have been, where that is not far off or could not be looked at."""
    if verdict.grade >= SURE_FROM:
        return ()
    near = _causes(judged.verdicts)
    rivals = judged.rivals.get(verdict.cause, {})
    open_ones = sorted(rivals, key=rivals.__getitem__)  # who leaves least of it first
    return tuple(dict.fromkeys(each for each in [*near, *open_ones] if each != verdict.cause))[:MOST_CANDIDATES]


def _abstain(evidence: Evidence, judged: Judged) -> Diagnosis:
    top = judged.verdicts[:1] if not judged.verdicts or judged.verdicts[0].grade < SURE_ENOUGH else judged.verdicts
    near = [each for each in top if _is_near(top[0], each)]
    found = [fact for each in near for fact in each.facts] or [facts.of_status(judged.subject)]
    candidates = [*_causes(judged.verdicts), *(each.cause for each in judged.not_observable)]
    doubt = Verdict(
        cause=UNKNOWN,
        grade=REMOTE,
        title=_doubt(judged, near),
        because=tuple(found),
        advice=advise(evidence, (watch_it, RUN_DOCTOR), first=[each.remedy for each in judged.not_observable]),
    )
    return _tell(evidence, judged, doubt, candidates=tuple(dict.fromkeys(candidates))[:MOST_CANDIDATES])


def _doubt(judged: Judged, near: Sequence[Verdict]) -> str:
    who = words.process(judged.subject)
    if len(near) > 1:
        return words.sentence(f"why {who} ended is unclear: {words.listed(_causes(near))} fit about equally well")
    if near:
        return words.sentence(f"why {who} ended is unclear; {near[0].cause} is the best guess")
    how = words.exit_words(judged.subject) if judged.subject.status is not None else "nobody saw how"
    return words.sentence(f"why {who} ended is unclear ({how})")


def _mixed(own: Sequence[str], hints: Sequence[str]) -> tuple[str, ...]:
    """The cause's own advice, with room for that of the contributing ones."""
    kept = own[: max(2, MOST_ADVICE - len(hints))]
    return _unique((*kept, *hints, *own[len(kept) :]))[:MOST_ADVICE]


def _causes(verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.cause for each in verdicts))[:MOST_CANDIDATES]


def _by_cause(answers: Iterable[_Aside]) -> tuple[_Aside, ...]:
    return tuple({each.cause: each for each in answers}.values())


def _unique(items: Iterable[_Item]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys(items))
