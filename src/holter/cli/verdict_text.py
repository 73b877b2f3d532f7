"""A verdict in words: what `holter why` and the end of `holter run` say. Pure: gets what is known, returns lines."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from holter.cli.figures import clean, clock_time
from holter.cli.stdout import NO_WIDTH, Look
from holter.diagnosis.words import how_sure
from holter.model.verdicts import CauseMark, Diagnosis, Fact, NotObservable

WIDEST = 100
MOST_FACTS = 5
MOST_RULED_OUT = 6
MOST_UNSEEN = 5
_PLAIN = str.maketrans({
    "…": "...", "–": "-", "—": "-", "’": "'", "‘": "'", "“": '"', "”": '"', "×": "x", "→": "->",
    "≥": ">=", "≤": "<=", "µ": "u", "±": "+-", "·": "-", "\N{NO-BREAK SPACE}": " ",
})  # fmt: skip


def verdict_lines(diagnosis: Diagnosis, seen: Look, *, now: float, mark: CauseMark | None = None) -> list[str]:
    """The whole verdict, section by section; `mark` is what a person says against it."""
    said = _wrapped(f"{mark.words} ({clock_time(mark.at, now)})", seen) if mark else []
    sections = [
        [*_wrapped(diagnosis.title, seen), *_name_and_certainty(diagnosis, seen), *said],
        _section("Evidence", facts_lines(diagnosis.evidence[:MOST_FACTS], seen, now=now), seen),
        _section("It could be", _bullets(_candidates(diagnosis), seen), seen),
        _section("Also involved", _bullets(diagnosis.contributing, seen), seen),
        _section("What to do", _numbered(diagnosis.advice, seen), seen),
        _section("Ruled out", _bullets(_ruled_out(diagnosis), seen), seen),
        _section("What could not be seen", _bullets(_unseen(diagnosis.not_observable), seen), seen),
    ]
    lines = [line for section in sections if section for line in ["", *section]]
    return [plain(line, seen) for line in lines[1:]]


def facts_lines(facts: Sequence[Fact], seen: Look, *, now: float) -> list[str]:
    """Facts with their times and sources, in columns."""
    width = max((len(fact.source) for fact in facts), default=0)
    times = [clock_time(fact.at, now) if fact.at else "" for fact in facts]
    longest = max(map(len, times), default=0)
    lines = []
    for fact, time in zip(facts, times, strict=True):
        begin = f"  {time:<{longest}}  {fact.source:<{width}}  " if longest else f"  {fact.source:<{width}}  "
        lines += _wrapped(fact.text, seen, begin=begin, hang=" " * len(begin))
    return lines


def plain(text: str, seen: Look) -> str:
    """The text in characters that a terminal without Unicode has."""
    return text if seen.has_unicode else text.translate(_PLAIN)


def _name_and_certainty(diagnosis: Diagnosis, seen: Look) -> Iterator[str]:
    if diagnosis.cause is None:
        return
    sure = "" if diagnosis.cause == "unknown" else f", {how_sure(diagnosis.confidence)}"
    yield f"{seen.paint(diagnosis.cause, 'bold')}{sure}"


def _candidates(diagnosis: Diagnosis) -> Sequence[str]:
    return diagnosis.candidates if diagnosis.cause == "unknown" else ()


def _ruled_out(diagnosis: Diagnosis) -> list[str]:
    """One line for all causes that the same number speaks against."""
    grouped: dict[str, list[str]] = {}
    for each in diagnosis.ruled_out:
        grouped.setdefault(each.because, []).append(each.cause)
    return [f"{', '.join(causes)}: {because}" for because, causes in grouped.items()][:MOST_RULED_OUT]


def _unseen(found: Iterable[NotObservable]) -> list[str]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for each in found:
        grouped.setdefault((each.because, each.remedy), []).append(each.cause)
    return [
        f"{', '.join(causes)}: {because}{f'. To see it: {remedy}' if remedy else ''}"
        for (because, remedy), causes in grouped.items()
    ][:MOST_UNSEEN]


def _section(title: str, lines: Sequence[str], seen: Look) -> list[str]:
    return [seen.paint(title, "bold"), *lines] if lines else []


def _bullets(texts: Iterable[str], seen: Look) -> list[str]:
    return [line for text in texts for line in _wrapped(text, seen, begin="  - ", hang="    ")]


def _numbered(texts: Sequence[str], seen: Look) -> list[str]:
    return [
        line
        for number, text in enumerate(texts, 1)
        for line in _wrapped(text, seen, begin=f"  {number}. ", hang="     ")
    ]


def _wrapped(text: str, seen: Look, *, begin: str = "", hang: str = "") -> list[str]:
    """Lines that fit; where nobody cuts lines, one for each."""
    text = " ".join(clean(line) for line in text.split())
    if seen.width == NO_WIDTH:
        return [begin + text]
    width = max(20, min(seen.width, WIDEST))
    return textwrap.wrap(
        text,
        width,
        initial_indent=begin,
        subsequent_indent=hang if len(hang) < width // 2 else "    ",
        break_on_hyphens=False,
    ) or [begin.rstrip()]
