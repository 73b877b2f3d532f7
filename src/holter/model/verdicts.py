"""What a rule can answer, and what all answers together come to."""

import enum
from collections.abc import Sequence

import msgspec


class Grade(enum.IntEnum):
    """How well a verdict is supported, the better the higher. What each is worth, `make zoo` finds out."""

    REMOTE = 1
    """Not more than a candidate."""
    INFERRED = 2
    """Nothing speaks against it, and little for it."""
    LIKELY = 3
    """It fits better than what else would look the same."""
    CONSISTENT = 4
    """All that was seen fits, but it is text, or something that would look the same could not be looked at."""
    COUNTED = 5
    """A counter, a limit or a status shows it, and nothing else would have left these traces."""
    NAMED = 6
    """A witness that can't lie says so: Linux, the wait status, the interpreter, a scheduler."""


class Fact(msgspec.Struct, frozen=True):
    """One fact: where it was read, when it happened (seconds since 1970), what it was."""

    source: str
    at: float
    text: str


class Verdict(msgspec.Struct, frozen=True):
    """A rule that fires. `title` is one plain sentence with the numbers of this run."""

    grade: Grade
    """How well it is supported; ranking bounds it where a witness is weak."""
    title: str
    because: Sequence[Fact | None]
    """Two to five, the strongest first; of more, only those are told. None is left out."""
    cause: str = ""
    """What the rule is called, which its loader knows."""
    advice: tuple[str, ...] = ()
    """The most useful first, with the numbers of this run; a rule says what fits this case, the rest it declares."""
    contributing: tuple[str, ...] = ()
    state: str = ""
    """The state that this cause demands, such as `preempted`; empty where the exit decides."""
    is_consequence: bool = False
    """It follows from the death of another process: `BrokenProcessPool`, a rank ended by its agent."""
    generality: int = 0
    """How little its cause says, as the rule declares."""
    excludes: tuple[str, ...] = ()
    """Causes of which only one can be true beside it."""
    curves: tuple[str, ...] = ()
    """Those that show it, the best first."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Those that there are, each once."""
        return tuple(dict.fromkeys(fact for fact in self.because if fact is not None))

    @property
    def is_vague(self) -> bool:
        """It says how a program ended, and leaves open what made it."""
        return self.generality >= 3


class RuledOut(msgspec.Struct, frozen=True, kw_only=True):
    """A cause that one might suspect here and that a number speaks against; a rule need not say its own name."""

    cause: str = ""
    because: str


class NotObservable(msgspec.Struct, frozen=True, kw_only=True):
    """A cause that can be neither named nor excluded, why, and how to make it so."""

    cause: str = ""
    because: str
    remedy: str


Answer = Verdict | RuledOut | NotObservable | None


NOTHING, SOMETHING_ELSE = "none", "other"
"""What a person may call the cause beside the ids of the rules: it ended normally, or of what no rule knows."""


class CauseMark(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says that a run died of. It stands beside the verdict and never takes its place."""

    cause: str
    reason: str
    by: str
    at: float
    verdict: str = ""
    """The cause that holter named when they said so; empty where it saw none."""

    @property
    def words(self) -> str:
        """`ada says that it was disk-full: df showed 100 %`."""
        what = {NOTHING: "it ended normally", SOMETHING_ELSE: "it was something else"}
        return f"{self.by} says that {what.get(self.cause, f'it was {self.cause}')}: {self.reason}"


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """What is said about the end of a run. `cause` is None for a run that finished, or is alive and well."""

    cause: str | None
    confidence: float
    """The share of verdicts of this grade that were right, as the zoo has it."""
    title: str
    state: str
    grade: str = ""
    """How well the cause is supported, such as `counted`; empty without a cause, and in what was said before there
    were grades."""
    candidates: tuple[str, ...] = ()
    evidence: tuple[Fact, ...] = ()
    advice: tuple[str, ...] = ()
    contributing: tuple[str, ...] = ()
    ruled_out: tuple[RuledOut, ...] = ()
    not_observable: tuple[NotObservable, ...] = ()
    curves: tuple[str, ...] = ()
    """What shows it on the page, the best first: a panel of the machine, `disk`, `metric` or `loss`."""


class Stack(msgspec.Struct, frozen=True):
    """Where the program was when it died: lines, and what they are."""

    title: str = ""
    lines: tuple[str, ...] = ()


class FatalCell(msgspec.Struct, frozen=True, kw_only=True):
    """The cell of a notebook in which its run ended."""

    number: int
    """The 12 of `In[12]`; 0 for a cell that is not kept in the history."""
    source: str
    ran_s: float
    """From its beginning to the end of the run."""


class RankEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How one of several processes ended, in words; `at` is in seconds since 1970, 0 where nobody knows."""

    rank: int
    host: str
    at: float
    text: str


class MemoryLimit(msgspec.Struct, frozen=True):
    """The least memory that anything allowed a run, and whose limit that is."""

    size_bytes: float
    whose: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A diagnosis and all that is told beside it. Made once, kept with the run, read by everybody who tells of it."""

    diagnosis: Diagnosis
    rules: str = ""
    """Stands for the rules that were asked; empty where none were, because the run lives or finished."""
    may_change: bool = False
    """Nobody who was there has asked everybody, or a scheduler may say more about it later."""
    stack: Stack = Stack()
    cell: FatalCell | None = None
    ranks: tuple[RankEnd, ...] = ()
    more_ranks: int = 0
    """How many there are beside these."""
    printed: tuple[str, ...] = ()
    """The end of what the cell printed."""
    memory_limit: MemoryLimit | None = None
