"""Numbers as people read them: `7.1 GiB`, `12 s`, `SIGKILL`."""

from collections.abc import Sequence

from holter.model import amounts
from holter.model.evidence import End
from holter.model.state import signal_name

_SURE = ((0.97, "certain"), (0.9, "almost certain"), (0.75, "likely"), (0.5, "more likely than not"), (0.0, "a guess"))
"""From which confidence on a verdict is called so."""
MOST_TOLD = 0.99
"""Nothing is told as 100 %: what was never wrong yet may be so tomorrow."""
size, seconds = amounts.size, amounts.seconds


def how_sure(confidence: float) -> str:
    """`almost certain (95 %)`."""
    word = next(word for least, word in _SURE if confidence >= least)
    return f"{word} ({min(confidence, MOST_TOLD):.0%})".replace("%", " %")


def told(text: str, value: object) -> str:
    """The text with the value in the place of `{}`; nothing where there is none."""
    return "" if value is None or value == "" else text.format(value)


def sized(text: str, count: float | None) -> str:
    """The text with a number of bytes in the place of `{}`; nothing where it is unknown or 0."""
    return text.format(size(count)) if count else ""


def count(number: int, noun: str) -> str:
    """`1 worker`, `2 workers`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def process(end: End) -> str:
    """`process 12`, `rank 3 (process 12)`, `the child 'pt_data_worker' (process 12)`."""
    if end.role == "child" and not end.pid:  # only the program's exception tells of it
        return f"a child process ({quote(end.name, 60)})" if end.name else "a child process"
    if end.role == "child":
        return f"the child process {end.pid} ({quote(end.name, 60)})" if end.name else f"the child process {end.pid}"
    if end.rank is not None:
        return f"rank {end.rank} (process {end.pid})" if end.pid else f"rank {end.rank}"
    return f"process {end.pid}"


def sentence(text: str) -> str:
    """With a capital letter at its beginning, on one line, without blanks at its end."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]


def quote(text: str, most: int = 300) -> str:
    """On one line, cut where it is longer than `most` characters."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def signal(number: int) -> str:
    """`SIGKILL` for 9."""
    return signal_name(number)


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([part for part in (", ".join(parts[:-1]), *parts[-1:]) if part])


def exit_words(end: End) -> str:
    """`killed by SIGKILL`, `with exit code 3`, `with ValueError: …`; how a process went, to follow `it died`."""
    if end.signal is not None:
        return f"killed by {signal(end.signal)}"
    if end.raised is not None:
        return f"with {quote(f'{end.raised.type}: {end.raised.message}'.rstrip(': '), 120)}"
    return f"with exit code {end.code}" if end.code is not None else "nobody saw how"
