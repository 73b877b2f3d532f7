"""Reads the exception that a program without holter inside it printed as its last words, and a launcher's report."""

import re
from collections.abc import Collection, Sequence

import msgspec

from holter.diagnosis.processes import CODE_WITHIN_S, PEER_LOST, is_python
from holter.diagnosis.texts import lines_near_end
from holter.diagnosis.tracebacks import HEAD, Traceback, causes_behind, looks_uncaught, read_tracebacks, text_of
from holter.model.evidence import End, Evidence, Said
from holter.model.records import Raised

PRINTED, LAST_WORDS = "printed", "last words"
"""Where an exception is known from: a traceback near the end of the output, or one that is the end of it, goes back to
where the program began, and stands beside the exit code 1: that is how the interpreter itself ends a program."""
WITHOUT_CLIENT = ("command", "watched", "child")
_RANK = re.compile(r"^\[(?:rank|default)(?P<rank>\d+)\]: ?(?P<text>.*)$")
_CONTINUES = re.compile(r"^(?:\s|$|Original Traceback|\[\d+\]:|[=-]{8,}|[\w.]+(?:Error|Exception|Warning)\b)")
"""What may follow an exception without the program having gone on: more of its message, or another one's."""
_OF_A_WRAPPER = re.compile(r"^g?make(?:\[\d+\])?: \*\*\* |^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ ")
"""What `make` says of a command, and what the logger of a launcher writes."""
_FAILED_RANK = re.compile(r"rank\s+: (?P<rank>\d+) \(local_rank: \d+\)\s+exitcode\s+: -?\d+ \(pid: (?P<pid>\d+)\)")
_NAMED = re.compile(r"^(?:.*[\s\]|:>])?(?P<type>(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)): (?P<message>\S.*)$")
"""An exception in one line, as a hook prints it in place of the traceback, or a program that caught it."""
_NEAR_S = 60.0
_SHELL_CODES = 126
"""From here on a code is about how a shell could or could not run something."""
_MOST_AFTER = 12
"""More lines after a traceback, and the program went on."""


def with_printed_exception(evidence: Evidence) -> Evidence:
    """The same evidence; where the subject's last words were a traceback, with it as `raised`; `where` says how sure.

    Only for a process in which holter's client did not run, and which left with an exit code that a traceback may have
    led to: elsewhere one that nobody recorded is one that somebody caught. What torchrun reports of its ranks makes
    `ranks`.
    """
    subject = evidence.subject
    if subject.role not in WITHOUT_CLIENT or subject.raised is not None or not 0 < (subject.code or 0) < _SHELL_CODES:
        return evidence
    lines = list(lines_near_end(evidence, _NEAR_S))[::-1]
    own = [line for line in lines if not _RANK.match(line.text)]
    others = _recorded(evidence)
    told = read_last_traceback(own, subject.code, speakers=_speakers(evidence), others=others)
    raised = told or _read_one_line(own, subject.code)
    if raised is None or _name(raised.type, raised.message) in others or not _may_have_led_to(subject, raised):
        return evidence
    ranks = _reported_ranks(evidence, raised, lines)
    known = {end.pid: end.raised for end in ranks}
    return msgspec.structs.replace(
        evidence,
        subject=_with(raised, subject),
        ranks=ranks or tuple(_with(raised, end) if end.pid == subject.pid else end for end in evidence.ranks),
        children=tuple(
            msgspec.structs.replace(child, raised=child.raised or known.get(child.pid)) for child in evidence.children
        ),
    )


def _with(raised: Raised, end: End) -> End:
    return msgspec.structs.replace(end, raised=raised)


def _recorded(evidence: Evidence) -> frozenset[tuple[str, str]]:
    """What ended other processes, which said so themselves: they print it on the same console."""
    others = [end for end in evidence.ranks if end.pid != evidence.subject.pid]
    known = [end.raised for end in others if end.raised and (end.role not in WITHOUT_CLIENT or is_python(end))]
    return frozenset(_name(each.type, each.message) for each in known)


def _name(kind: str, message: str) -> tuple[str, str]:
    return kind.rpartition(".")[2], message.strip().partition("\n")[0]


def read_last_traceback(
    lines: Sequence[Said],
    code: int | None = None,
    *,
    speakers: int = 1,
    others: Collection[tuple[str, str]] = (),
) -> Raised | None:
    """The last traceback of these lines that may end a program, if it is about the last thing that they say.

    Args:
        code: what the program left with, where it did.
        speakers: how many processes may have ended with a traceback here: of several, one that lost the other end of
            a connection did not die first.
        others: exceptions of which it is known that other processes ended with them.
    """
    errors = [line for line in lines if line.is_error] or list(lines)
    found = read_tracebacks(errors)
    while found and (found[-1].ends_nothing or _name(found[-1].type, found[-1].message) in others):
        found.pop()
    while speakers > 1 and len(found) > 1 and _has_lost_a_peer(found[-1]):
        found.pop()
        speakers -= 1
    if not found:
        return None
    last = _without_wrapper(found[-1])
    more = sum(not _CONTINUES.match(text) for text in last.after)
    if more > _MOST_AFTER:
        return None
    raised = Raised(
        at_ns=last.at_ns,
        type=last.type,
        message="\n".join([last.message, *(() if last.members else last.after)]).strip(),
        traceback=text_of(found),
        where=PRINTED,
        causes=causes_behind(found),
        frames=last.frames,
    )
    is_sure = code == 1 and not more and looks_uncaught(raised) and not _was_logged(found)
    return msgspec.structs.replace(raised, where=LAST_WORDS) if is_sure else raised


def _without_wrapper(found: Traceback) -> Traceback:
    """Without what a tool says of the command that it ran: that is no part of the message."""
    return msgspec.structs.replace(found, after=tuple(text for text in found.after if not _OF_A_WRAPPER.match(text)))


def _speakers(evidence: Evidence) -> int:
    """How many children of a command left as it did, at about the same time; one where nobody knows of any."""
    end = evidence.subject
    alike = [
        child
        for child in evidence.children
        if child.code == end.code and abs(end.at_ns - child.at_ns) / 1e9 <= CODE_WITHIN_S
    ]
    return max(1, sum(child.times for child in alike))


def _has_lost_a_peer(found: Traceback) -> bool:
    return not found.how and PEER_LOST.search(f"{found.type}: {found.message}") is not None


def _read_one_line(lines: Sequence[Said], code: int | None) -> Raised | None:
    """The exception that the very last line names, of a program that left as Python does for one."""
    errors = [line for line in lines if line.is_error] or list(lines)
    last = next((line for line in reversed(errors) if line.text.strip()), None)
    found = _NAMED.match(last.text) if last is not None else None
    if last is None or found is None or code != 1:
        return None
    return Raised(at_ns=last.at_ns, type=found["type"], message=found["message"], traceback="", where=PRINTED)


def _was_logged(found: Sequence[Traceback]) -> bool:
    """The line before a chain of exceptions stands before its first."""
    first = next((each for each in reversed(found) if not each.how), found[-1])
    return first.is_logged


def _may_have_led_to(end: End, raised: Raised) -> bool:
    """Python leaves with 1: with another code it had caught it. A script around it may choose any."""
    return end.code == 1 or (not is_python(end) and looks_uncaught(raised) and "\n" not in raised.message)


def _reported_ranks(evidence: Evidence, raised: Raised, lines: Sequence[Said], /) -> tuple[End, ...]:
    """The children that torchrun's report calls ranks, each with what it printed behind its `[rank1]:`."""
    numbers = {int(found["pid"]): int(found["rank"]) for found in _FAILED_RANK.finditer(raised.message)}
    shared = _before_the_report(lines, raised) if numbers else None
    failed = [child for child in evidence.children if child.pid in numbers]
    return tuple(_as_rank(child, numbers[child.pid], lines, shared=shared) for child in failed)


def _as_rank(child: End, number: int, lines: Sequence[Said], /, *, shared: Raised | None) -> End:
    found = [(line, match) for line in lines if (match := _RANK.match(line.text)) and int(match["rank"]) == number]
    own = [msgspec.structs.replace(line, text=match["text"]) for line, match in found]
    raised = child.raised or read_last_traceback(own) or (shared if child.code == 1 else None)
    return msgspec.structs.replace(child, role="rank", rank=number, raised=raised)


def _before_the_report(lines: Sequence[Said], raised: Raised) -> Raised | None:
    """What the ranks printed before the launcher's own exception, where none of them says which rank it is; None where
    they end in several ways, of which nobody can tell whose is whose."""
    at = next((number for number, line in enumerate(lines) if raised.type in line.text), len(lines))
    head = max((number for number, line in enumerate(lines[:at]) if line.text.rstrip() == HEAD), default=0)
    plain = [each for each in lines[:head] if not _RANK.match(each.text)]
    kinds = {each.type for each in read_tracebacks(plain) if not each.ends_nothing}
    return read_last_traceback(plain) if len(kinds) == 1 else None
