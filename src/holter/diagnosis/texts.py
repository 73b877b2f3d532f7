"""Finds words in exceptions and in the last lines of the console: the weakest witness, so it must be near the end."""

import functools
from collections import Counter
from collections.abc import Iterator

from holter.diagnosis.phrases.tags import Match, says, tags_in
from holter.model.evidence import Evidence, Said
from holter.model.records import Cause, Raised

NEAR_S = 30.0
MOST_RAISED = 64
"""So many exceptions are kept as they were read: almost every rule asks about one."""
_OF_OURS = "/holter/client/"
"""What the program prints goes through these files on its way."""
_DIGITS = str.maketrans("0123456789", "#" * 10, ".")
GOES_ON_NS = 100_000_000
"""What is printed so much later than a line was printed by a program that went on after it."""
USUAL = 3
"""So many lines that differ only in numbers are what a program prints as it goes on."""
LATE_S = 10.0
"""A line may be kept some moments after the process that wrote it is gone."""


def whole_text(raised: Raised) -> str:
    """The exception and all that led to it, one to a line, without the traceback."""
    behind = [f"{each.type}: {each.message}" for each in raised.causes]
    return "\n".join([f"{raised.type}: {raised.message}", *behind])


@functools.lru_cache(maxsize=MOST_RAISED)
def type_names(raised: Raised) -> frozenset[str]:
    """The bare names of the exception's class and of those behind it: `OutOfMemoryError`."""
    return frozenset(name.rpartition(".")[2] for name in (raised.type, *(each.type for each in raised.causes)))


@functools.lru_cache(maxsize=MOST_RAISED)
def is_own_raise(raised: Raised) -> bool:
    """Whether a `raise` or `assert` of the user's own code said it: its words are the user's then, and prove little."""
    places = [place for _, place in _places(raised.traceback)]
    own = {(frame.file, frame.line) for frame in raised.frames}
    is_own = bool(places) and (places[-1]["file"], int(places[-1]["line"])) in own
    return is_own and is_said_by_hand(raised)


def is_said_by_hand(raised: Raised) -> bool:
    """Whether a `raise` or `assert` of somebody's said it, in the user's own code or a library's."""
    return says(source_line(raised), "raised-by-hand")


def foreign_causes(raised: Raised) -> tuple[Cause, ...]:
    """What led to it, without what the user's own code said, as far as the traceback shows that."""
    return tuple(each for each in raised.causes if not _is_own_cause(each, raised.traceback))


def _is_own_cause(cause: Cause, traceback: str) -> bool:
    lines = traceback.splitlines()
    said = f"{cause.type.removeprefix('__main__.')}: {cause.message}".splitlines()[0]
    ends = [number for number, line in enumerate(lines) if line == said]
    before = [each for each in _places(traceback) if ends and each[0] < ends[0]]
    if not before:
        return False
    number, place = before[-1]
    return not says(place["file"], "not-own-file") and says(lines[number + 1].strip(), "raised-by-hand")


@functools.lru_cache(maxsize=MOST_RAISED)
def foreign_text(raised: Raised) -> str:
    """Like `whole_text`, without what the user's own code said."""
    behind = "\n".join(f"{each.type}: {each.message}" for each in foreign_causes(raised))
    return behind if is_own_raise(raised) else f"{raised.type}: {raised.message}\n{behind}".strip()


def source_line(raised: Raised) -> str:
    """The statement that raised it, where the traceback shows one."""
    lines = raised.traceback.splitlines()
    places = [number for number, _ in _places(raised.traceback)]
    return lines[places[-1] + 1].strip() if places and places[-1] + 1 < len(lines) else ""


@functools.lru_cache(maxsize=MOST_RAISED)
def _places(traceback: str) -> tuple[tuple[int, Match], ...]:
    """Its frames, each with the number of its line; many rules ask for those of one."""
    lines = enumerate(traceback.splitlines())
    found = [(number, place) for number, line in lines if (place := tags_in(line).get("place"))]
    return tuple((number, place) for number, place in found if _OF_OURS not in place["file"])


def in_exception(evidence: Evidence, tag: str) -> Match | None:
    """What a library or the interpreter says so that raised to end the subject; None where none did."""
    raised = evidence.subject.raised
    return tags_in(foreign_text(raised)).get(tag) if raised else None


def lines_near_end(evidence: Evidence, near_s: float = NEAR_S) -> Iterator[Said]:
    """What was printed in the last moments of the subject, the latest first. A line from an hour ago is no cause."""
    end_ns = evidence.subject.at_ns or evidence.ended_ns
    for line in reversed(evidence.said):
        if -LATE_S <= (end_ns - line.at_ns) / 1e9 <= near_s:
            yield line


def may_be_error(evidence: Evidence, line: Said) -> bool:
    """On stderr, or on a stream that both shared: then nobody can tell them apart."""
    return line.is_error or not any(each.is_error for each in evidence.said)


def line_near_end(evidence: Evidence, tag: str, *, near_s: float = NEAR_S) -> Said | None:
    """The latest such line of the last moments."""
    return next((line for line in lines_near_end(evidence, near_s) if says(line.text, tag)), None)


def last_line(evidence: Evidence) -> Said | None:
    """What the console ends with; of two streams, what stderr does."""
    lines = [line for line in lines_near_end(evidence) if line.text.strip()]
    return next((line for line in lines if line.is_error), lines[0] if lines else None)


def says_at_its_end(evidence: Evidence, tag: str) -> bool:
    """Whether the exception that ended the subject says it, or else the last line."""
    raised, last = evidence.subject.raised, last_line(evidence)
    return says(foreign_text(raised) if raised is not None else last.text if last is not None else "", tag)


def last_words(evidence: Evidence, tag: str, *, near_s: float = NEAR_S) -> Said | None:
    """The latest such line of the last moments; None where the subject went on printing after it.

    Of a worker or rank nobody can tell who printed what came after.
    """
    line = line_near_end(evidence, tag, near_s=near_s)
    if line is None or evidence.subject.role in ("child", "rank") or len(evidence.ranks) > 1:
        return line
    return None if _went_on(line, list(lines_near_end(evidence))[::-1]) else line


def _went_on(line: Said, lines: list[Said]) -> bool:
    """By time, or, where both were kept at once, by lines after it such as the program prints all the time."""
    if any(each.at_ns - line.at_ns > GOES_ON_NS for each in lines):
        return True
    stream = [each.text for each in lines if each.is_error == line.is_error]
    at = len(stream) - 1 - stream[::-1].index(line.text)
    usual = {_shape(text) for text in stream[:at]}
    later = Counter(_shape(text) for text in stream[at + 1 :] if not says(text, "line-of-a-stack"))
    return any(shape in usual or times >= USUAL for shape, times in later.items())


def _shape(text: str) -> str:
    return "#".join(part for part in text.translate(_DIGITS).split("#") if part)
