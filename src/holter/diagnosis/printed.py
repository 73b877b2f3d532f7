"""Reads the exception that a program without holter inside it printed as its last words, and a launcher's report."""

import re
from collections.abc import Sequence

import msgspec

from holter.diagnosis.texts import lines_near_end
from holter.model.evidence import End, Evidence, Said
from holter.model.records import OwnFrame, Raised

WITHOUT_CLIENT = ("command", "watched", "child")
_HEAD = "Traceback (most recent call last):"
_RANK = re.compile(r"^\[(?:rank|default)(?P<rank>\d+)\]: ?(?P<text>.*)$")
_PLACE = re.compile(r'^\s+File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>.+)$')
_EXCEPTION = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?::(?: (?P<message>.*))?)?$")
_CONTINUES = re.compile(r"^(?:\s|$|Original Traceback|\[\d+\]:|[=-]{8,}|[\w.]+(?:Error|Exception|Warning)\b)")
"""What may follow an exception without the program having gone on: more of its message, or another one's."""
_NOT_OWN = re.compile(r"site-packages|dist-packages|/lib/python3|<frozen|<string>|/bin/")
_FAILED_RANK = re.compile(r"rank\s+: (?P<rank>\d+) \(local_rank: \d+\)\s+exitcode\s+: -?\d+ \(pid: (?P<pid>\d+)\)")
_NEAR_S = 60.0
_MOST_AFTER = 12
"""More lines after a traceback, and the program went on."""


def with_printed_exception(evidence: Evidence) -> Evidence:
    """The same evidence; where the subject's last words were a traceback, with it as `raised` (`where` is `printed`).

    Only for a process in which holter's client did not run, and which left with exit code 1 as Python does: elsewhere a
    traceback that nobody recorded is one that somebody caught. What torchrun reports of its ranks makes `ranks`.
    """
    subject = evidence.subject
    if subject.role not in WITHOUT_CLIENT or subject.raised is not None or subject.code != 1:
        return evidence
    lines = list(lines_near_end(evidence, _NEAR_S))[::-1]
    raised = read_last_traceback([line for line in lines if not _RANK.match(line.text)])
    if raised is None:
        return evidence
    return msgspec.structs.replace(
        evidence,
        subject=msgspec.structs.replace(subject, raised=raised),
        ranks=_reported_ranks(evidence, raised, lines) or evidence.ranks,
    )


def read_last_traceback(lines: Sequence[Said]) -> Raised | None:
    """The last traceback of these lines, if it is about the last thing that they say."""
    errors = [line for line in lines if line.is_error] or list(lines)
    heads = [number for number, line in enumerate(errors) if line.text.rstrip() == _HEAD]
    if not heads:
        return None
    block = errors[heads[-1] :]
    last = next((number for number, line in enumerate(block) if number and not line.text.startswith(" ")), None)
    found = _EXCEPTION.match(block[last].text.strip()) if last is not None else None
    if last is None or found is None:
        return None
    after = block[last + 1 :]
    if sum(not _CONTINUES.match(line.text) for line in after) > _MOST_AFTER:
        return None
    return Raised(
        at_ns=block[last].at_ns,
        type=found["type"],
        message="\n".join([found["message"] or "", *(line.text for line in after)]).strip(),
        traceback="\n".join(line.text for line in block[: last + 1]),
        where="printed",
        frames=tuple(frame for line in block[:last] if (frame := _own_frame(line.text))),
    )


def is_printed(end: End) -> bool:
    """Its exception is known by the console alone."""
    return end.raised is not None and end.raised.where == "printed"


def _reported_ranks(evidence: Evidence, raised: Raised, lines: Sequence[Said], /) -> tuple[End, ...]:
    """The children that torchrun's report calls ranks, each with what it printed behind its `[rank1]:`."""
    numbers = {int(found["pid"]): int(found["rank"]) for found in _FAILED_RANK.finditer(raised.message)}
    return tuple(_as_rank(child, numbers[child.pid], lines) for child in evidence.children if child.pid in numbers)


def _as_rank(child: End, number: int, lines: Sequence[Said]) -> End:
    found = [(line, match) for line in lines if (match := _RANK.match(line.text)) and int(match["rank"]) == number]
    own = [msgspec.structs.replace(line, text=match["text"]) for line, match in found]
    raised = child.raised or read_last_traceback(own)
    return msgspec.structs.replace(child, role="rank", rank=number, raised=raised)


def _own_frame(line: str) -> OwnFrame | None:
    place = _PLACE.match(line)
    if place is None or _NOT_OWN.search(place["file"]):
        return None
    return OwnFrame(file=place["file"], line=int(place["line"]), function=place["function"])
