"""Takes tracebacks apart as Python prints them: chained ones, groups of exceptions, and those that end nothing."""

from collections.abc import Iterator, Sequence

import msgspec

from holter.diagnosis.phrases.tags import says, tags_in
from holter.model.evidence import Said
from holter.model.records import Cause, OwnFrame, Raised

HEAD = "Traceback (most recent call last):"
GROUP_HEAD = f"  + Exception Group {HEAD}"
MOST_CAUSES = 8
_CHAINS = {
    "The above exception was the direct cause of the following exception:": "cause",
    "During handling of the above exception, another exception occurred:": "context",
}


class Traceback(msgspec.Struct, frozen=True, kw_only=True):
    """One printed exception, without those that led to it."""

    at_ns: int
    type: str
    message: str
    text: str
    """Up to the exception's own line."""
    after: tuple[str, ...] = ()
    """What follows that: more of the message, members of a group, or what was printed next."""
    intro: str = ""
    """The line before it."""

    @property
    def how(self) -> str:
        """How the one before led to it: `cause`, `context`, or nothing where none did."""
        return _CHAINS.get(self.intro.strip(), "")

    @property
    def ends_nothing(self) -> bool:
        """Python itself caught it: in a thread, a task, a destructor."""
        return says(self.intro, "ends-nothing")

    @property
    def frames(self) -> tuple[OwnFrame, ...]:
        """Those of the user's own code, the innermost last."""
        return tuple(each for each in _frames(self.text) if not says(each.file, "not-own-file"))

    @property
    def members(self) -> tuple[Cause, ...]:
        """The exceptions of a group."""
        return tuple(_members(self.after)) if self.text.startswith(GROUP_HEAD) else ()


def read_tracebacks(lines: Sequence[Said]) -> list[Traceback]:
    """All whole tracebacks of one stream, in their order."""
    said = [line for line in lines if line.text.strip()]
    texts = [line.text for line in said]
    heads = [number for number, text in enumerate(texts) if _is_head(text) or _is_headless(texts, number)]
    ends = [*heads[1:], len(said)]
    return [
        found
        for start, end in zip(heads, ends, strict=False)
        if (found := _read(said[start:end], said[start - 1].text if start else ""))
    ]


def chain_of(found: Sequence[Traceback]) -> Sequence[Traceback]:
    """The last of these, behind those that led to it."""
    first = len(found) - 1
    while first and found[first].how:
        first -= 1
    return found[first:]


def causes_behind(chain: Sequence[Traceback]) -> tuple[Cause, ...]:
    """What led to the last of a chain, the nearest first, and its members where it is a group."""
    pairs = zip(chain[::-1], chain[-2::-1], strict=False)
    led = [Cause(type=earlier.type, message=earlier.message, how=later.how) for later, earlier in pairs]
    return (*chain[-1].members, *led)[:MOST_CAUSES]


def text_of(chain: Sequence[Traceback]) -> str:
    """A chain as it was printed."""
    texts = [f"\n{each.intro.strip()}\n\n{each.text}" if each.how else each.text for each in chain]
    return "\n".join(texts)


def looks_uncaught(raised: Raised) -> bool:
    """Whether its traceback goes back to where the program began, or shows no function; False where there is none."""
    last = raised.traceback
    for link in _CHAINS:
        last = last.rpartition(link)[2]
    frames = _frames(last)
    return bool(raised.traceback) and (not frames or says(frames[0].function, "outermost"))


def _frames(text: str) -> list[OwnFrame]:
    places = [match for line in text.splitlines() if (match := tags_in(_bare(line)).get("place"))]
    return [
        OwnFrame(file=each["file"], line=int(each["line"]), function=each["function"] or "<module>") for each in places
    ]


def _is_head(text: str) -> bool:
    return text.rstrip() in (HEAD, GROUP_HEAD)


def _is_headless(texts: Sequence[str], number: int) -> bool:
    """Of a program that it can't parse, Python shows the place without a head."""
    place = tags_in(texts[number]).get("place")
    if place is None or place["function"] or not texts[number].startswith("  File "):
        return False
    return number == 0 or not (texts[number - 1].startswith(" ") or _is_head(texts[number - 1]))


def _read(block: Sequence[Said], intro: str) -> Traceback | None:
    bare = [_bare(line.text) for line in block]
    last = next((number for number, text in enumerate(bare) if number and not text.startswith(" ")), None)
    found = tags_in(bare[last].strip()).get("exception-line") if last is not None else None
    if last is None or found is None:
        return None
    return Traceback(
        at_ns=block[last].at_ns,
        type=found["type"],
        message=found["message"] or "",
        text="\n".join(line.text for line in block[: last + 1]),
        after=tuple(line.text for line in block[last + 1 :]),
        intro=intro,
    )


def _bare(text: str) -> str:
    """The line without the bar of a group."""
    inside = tags_in(text).get("in-group")
    return inside["text"] if inside else text


def _members(after: Sequence[str]) -> Iterator[Cause]:
    """The last exception of each member is the member; those that led to it come before."""
    starts = [number for number, text in enumerate(after) if says(text, "group-member")]
    for start, end in zip(starts, [*starts[1:], len(after)], strict=False):
        texts = [_bare(text) for text in after[start + 1 : end] if says(text, "in-group")]
        said = [match for text in texts if text != HEAD and (match := tags_in(text).get("exception-line"))]
        if said:
            yield Cause(type=said[-1]["type"], message=said[-1]["message"] or "", how="member")
