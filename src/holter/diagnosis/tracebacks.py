"""Takes tracebacks apart as Python prints them: chained ones, groups of exceptions, and those that end nothing."""

import re
from collections.abc import Iterator, Sequence

import msgspec

from holter.model.evidence import Said
from holter.model.records import Cause, OwnFrame, Raised

HEAD = "Traceback (most recent call last):"
GROUP_HEAD = f"  + Exception Group {HEAD}"
MOST_CAUSES = 8
_CHAINS = {
    "The above exception was the direct cause of the following exception:": "cause",
    "During handling of the above exception, another exception occurred:": "context",
}
_LINK = re.compile("|".join(map(re.escape, _CHAINS)))
_ENDS_NOTHING = re.compile(
    r"^(?:Exception in thread |Exception ignored |Task exception was never retrieved|Future exception was never"
    r"|Task was destroyed|future: <|task: <|--- Logging error ---|exception calling callback)"
)
"""What Python prints before a traceback after which the program goes on."""
_LOGGED = re.compile(r"\b(?:ERROR|CRITICAL|FATAL)\b|\[(?:error|critical) *\]")
"""What a logger prints before a traceback that somebody caught and handed to it."""
_PLACE = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_EXCEPTION = re.compile(r"^(?P<type>[A-Za-z_][\w.<>]*)(?::(?: (?P<message>.*))?)?$")
_MEMBER = re.compile(r"^\s+\+[-+]*-+ (?:\d+|\.\.\.) -+$")
_IN_GROUP = re.compile(r"^\s+\| ?")
NOT_OWN = re.compile(r"site-packages|dist-packages|/lib/python3|<frozen|<string>|/bin/|^[^/].*\.pyx$")
"""Files that are not the user's own code."""
_OUTERMOST = re.compile(r"<module>|_run_module_as_main|_bootstrap(?:_inner)?|_main|spawn_main")
"""Where a traceback begins that nobody caught; a caught one begins where it was caught."""


class Traceback(msgspec.Struct, frozen=True, kw_only=True):
    """One printed exception, without those that led to it."""

    at_ns: int
    type: str
    message: str
    text: str
    """Up to the exception's own line."""
    after: tuple[str, ...] = ()
    """What follows that: more of the message, members of a group, or what was printed next."""
    how: str = ""
    """How the one before led to it: `cause`, `context`, or nothing where none did."""
    intro: str = ""
    """The line before it."""

    @property
    def ends_nothing(self) -> bool:
        """Python itself caught it: in a thread, a task, a destructor."""
        return _ENDS_NOTHING.match(self.intro) is not None

    @property
    def is_logged(self) -> bool:
        """Somebody had caught it, and gave it to a logger."""
        return _LOGGED.search(self.intro) is not None

    @property
    def frames(self) -> tuple[OwnFrame, ...]:
        """Those of the user's own code, the innermost last."""
        places = [match for line in self.text.splitlines() if (match := _PLACE.match(_bare(line)))]
        return tuple(
            OwnFrame(file=each["file"], line=int(each["line"]), function=each["function"] or "<module>")
            for each in places
            if not NOT_OWN.search(each["file"])
        )

    @property
    def members(self) -> tuple[Cause, ...]:
        """The exceptions of a group."""
        return tuple(_members(self.after)) if self.text.startswith(GROUP_HEAD) else ()


def read_tracebacks(lines: Sequence[Said]) -> list[Traceback]:
    """All whole tracebacks of one stream, in their order."""
    said = [line for line in lines if line.text.strip()]
    texts = [line.text for line in said]
    heads = [number for number, text in enumerate(texts) if text.rstrip() in (HEAD, GROUP_HEAD)]
    heads = sorted([*heads, *(number for number in range(len(texts)) if _is_headless(texts, number))])
    ends = [*heads[1:], len(said)]
    return [
        found
        for start, end in zip(heads, ends, strict=False)
        if (found := _read(said[start:end], said[start - 1].text if start else ""))
    ]


def causes_behind(chain: Sequence[Traceback]) -> tuple[Cause, ...]:
    """What led to the last of these, the nearest first, and its members where it is a group."""
    found = list(chain[-1].members)
    for later, earlier in zip(chain[::-1], chain[-2::-1], strict=False):
        if not later.how:
            break
        found.append(Cause(type=earlier.type, message=earlier.message, how=later.how))
    return tuple(found[:MOST_CAUSES])


def text_of(chain: Sequence[Traceback]) -> str:
    """The last of these as it was printed, behind those that led to it."""
    first = len(chain) - 1
    while first and chain[first].how:
        first -= 1
    texts = [f"\n{each.intro.strip()}\n\n{each.text}" if each.how else each.text for each in chain[first:]]
    return "\n".join(texts)


def looks_uncaught(raised: Raised) -> bool:
    """Whether its traceback goes back to where the program began, or shows no function; False where there is none."""
    if not raised.traceback:
        return False
    last = _LINK.split(raised.traceback)[-1]
    places = [match for line in last.splitlines() if (match := _PLACE.match(_bare(line)))]
    function = places[0]["function"] if places else None
    return function is None or _OUTERMOST.fullmatch(function) is not None


def _is_headless(texts: Sequence[str], number: int) -> bool:
    """Of a program that it can't parse, Python shows the place without a head."""
    place = _PLACE.match(texts[number])
    if place is None or place["function"] or not texts[number].startswith("  File "):
        return False
    return number == 0 or not (texts[number - 1].startswith(" ") or texts[number - 1].rstrip() == HEAD)


def _read(block: Sequence[Said], intro: str) -> Traceback | None:
    bare = [_bare(line.text) for line in block]
    last = next((number for number, text in enumerate(bare) if number and not text.startswith(" ")), None)
    found = _EXCEPTION.match(bare[last].strip()) if last is not None else None
    if last is None or found is None:
        return None
    return Traceback(
        at_ns=block[last].at_ns,
        type=found["type"],
        message=found["message"] or "",
        text="\n".join(line.text for line in block[: last + 1]),
        after=tuple(line.text for line in block[last + 1 :]),
        how=_CHAINS.get(intro.strip(), ""),
        intro=intro,
    )


def _bare(text: str) -> str:
    """The line without the bar of a group."""
    return _IN_GROUP.sub("", text, count=1)


def _members(after: Sequence[str]) -> Iterator[Cause]:
    """The last exception of each member is the member; those that led to it come before."""
    starts = [number for number, text in enumerate(after) if _MEMBER.match(text)]
    for start, end in zip(starts, [*starts[1:], len(after)], strict=False):
        texts = [_bare(text) for text in after[start + 1 : end] if _IN_GROUP.match(text)]
        said = [match for text in texts if text != HEAD and (match := _EXCEPTION.match(text))]
        if said:
            yield Cause(type=said[-1]["type"], message=said[-1]["message"] or "", how="member")
