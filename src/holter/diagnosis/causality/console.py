"""What the console says of processes in which nothing of ours ran: their exceptions, torchrun's ranks, srun's tasks."""

import signal
from collections.abc import Collection, Sequence

import msgspec

from holter.diagnosis.causality import tracebacks
from holter.diagnosis.causality.ends import BY_SRUN, WITHOUT_CLIENT, is_python, left_with
from holter.diagnosis.phrases.tags import says, tags_in
from holter.diagnosis.texts import lines_near_end
from holter.model.evidence import End, Evidence, Job, Memory, Said
from holter.model.records import Raised

PRINTED, LAST_WORDS = "printed", "last words"
"""Where an exception is known from: a traceback near the end of the output, or one that is the end of it, goes back to
where the program began, and stands beside the exit code 1: that is how the interpreter itself ends a program."""
NEAR_S = 60.0
TOGETHER_S = 10.0
SHELL_CODES = 126
"""From here on a code is about how a shell could or could not run something."""
MOST_AFTER = 12
"""More lines after a traceback, and the program went on."""
SIGNALS_BY_WORDS = {signal.strsignal(each): each for each in signal.valid_signals()}
_OUT_OF_MEMORY = "Out Of Memory"


def with_printed_exception(evidence: Evidence) -> Evidence:
    """The same evidence; where the subject's last words were a traceback, with it as `raised`; `where` says how sure.

    Only for a process in which holter's client did not run, and which left with an exit code that a traceback may have
    led to: elsewhere one that nobody recorded is one that somebody caught. What torchrun reports of its ranks makes
    `ranks`.
    """
    subject = evidence.subject
    if subject.role not in WITHOUT_CLIENT or subject.raised is not None or not 0 < (subject.code or 0) < SHELL_CODES:
        return evidence
    lines = list(lines_near_end(evidence, NEAR_S))[::-1]
    own = [line for line in lines if not says(line.text, "rank-prefix")]
    others = _recorded(evidence)
    told = read_last_traceback(own, subject.code, speakers=_speakers(evidence), others=others)
    raised = told or _read_one_line(own, subject.code)
    if raised is None or _name(raised) in others or not _may_have_led_to(subject, raised):
        return evidence
    ranks = _reported_ranks(evidence, raised, lines)
    known = {subject.pid: raised, **{end.pid: end.raised for end in ranks}}
    return msgspec.structs.replace(
        evidence,
        subject=_with(raised, subject),
        ranks=ranks or tuple(_with(known.get(end.pid), end) for end in evidence.ranks),
        children=tuple(_with(known.get(child.pid), child) for child in evidence.children),
    )


def _with(raised: Raised | None, end: End) -> End:
    return msgspec.structs.replace(end, raised=end.raised or raised)


def _recorded(evidence: Evidence) -> frozenset[tuple[str, str]]:
    """What ended other processes, which said so themselves: they print it on the same console."""
    others = [end for end in evidence.ranks if end.pid != evidence.subject.pid]
    known = [end.raised for end in others if end.raised and (end.role not in WITHOUT_CLIENT or is_python(end))]
    return frozenset(map(_name, known))


def _name(error: Raised | tracebacks.Traceback) -> tuple[str, str]:
    return error.type.rpartition(".")[2], error.message.strip().partition("\n")[0]


def _speakers(evidence: Evidence) -> int:
    """How many children of a command left as it did, at about the same time; one where nobody knows of any."""
    end = evidence.subject
    alike = [child for child in evidence.children if child.code == end.code]
    return max(1, sum(child.times for child in alike if abs(end.at_ns - child.at_ns) / 1e9 <= TOGETHER_S))


def _may_have_led_to(end: End, raised: Raised) -> bool:
    """Python leaves with 1: with another code it had caught it. A script around it may choose any."""
    return end.code == 1 or (not is_python(end) and tracebacks.looks_uncaught(raised) and "\n" not in raised.message)


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
    found = tracebacks.read_tracebacks(_errors(lines))
    while found and (found[-1].ends_nothing or _name(found[-1]) in others):
        found.pop()
    while speakers > 1 and len(found) > 1 and _has_lost_a_peer(found[-1]):
        found.pop()
        speakers -= 1
    if not found:
        return None
    last, chain = found[-1], tracebacks.chain_of(found)
    after = [text for text in last.after if not says(text, "wrapper")]
    more = sum(not says(text, "goes-on") for text in after)
    if more > MOST_AFTER:
        return None
    raised = Raised(
        at_ns=last.at_ns,
        type=last.type,
        message="\n".join([last.message, *(() if last.members else after)]).strip(),
        traceback=tracebacks.text_of(chain),
        where=PRINTED,
        causes=tracebacks.causes_behind(chain),
        frames=last.frames,
    )
    was_logged = says(chain[0].intro, "logged")
    is_sure = code == 1 and not more and tracebacks.looks_uncaught(raised) and not was_logged
    return msgspec.structs.replace(raised, where=LAST_WORDS) if is_sure else raised


def _errors(lines: Sequence[Said]) -> Sequence[Said]:
    return [line for line in lines if line.is_error] or lines


def _has_lost_a_peer(found: tracebacks.Traceback) -> bool:
    return not found.how and says(f"{found.type}: {found.message}", "peer-lost")


def _read_one_line(lines: Sequence[Said], code: int | None) -> Raised | None:
    """The exception that the very last line names, of a program that left as Python does for one."""
    last = next((line for line in reversed(_errors(lines)) if line.text.strip()), None)
    found = tags_in(last.text).get("exception-named") if last is not None else None
    if last is None or found is None or code != 1:
        return None
    return Raised(at_ns=last.at_ns, type=found["type"], message=found["message"], traceback="", where=PRINTED)


def _reported_ranks(evidence: Evidence, raised: Raised, lines: Sequence[Said], /) -> tuple[End, ...]:
    """The children that torchrun's report calls ranks, each with what it printed behind its `[rank1]:`."""
    numbers = {int(found["pid"]): int(found["rank"]) for found in tags_in(raised.message).every("rank-failed")}
    shared = _before_the_report(lines, raised) if numbers else None
    failed = [child for child in evidence.children if child.pid in numbers]
    return tuple(_as_rank(child, numbers[child.pid], lines, shared=shared) for child in failed)


def _as_rank(child: End, number: int, lines: Sequence[Said], /, *, shared: Raised | None) -> End:
    found = [(line, match) for line in lines if (match := tags_in(line.text).get("rank-prefix"))]
    own = [msgspec.structs.replace(line, text=match["text"]) for line, match in found if int(match["rank"]) == number]
    raised = child.raised or read_last_traceback(own) or (shared if child.code == 1 else None)
    return msgspec.structs.replace(child, role="rank", rank=number, raised=raised)


def _before_the_report(lines: Sequence[Said], raised: Raised) -> Raised | None:
    """What the ranks printed before the launcher's own exception, where none of them says which rank it is; None where
    they end in several ways, of which nobody can tell whose is whose."""
    at = next((number for number, line in enumerate(lines) if raised.type in line.text), len(lines))
    head = max((number for number, line in enumerate(lines[:at]) if line.text.rstrip() == tracebacks.HEAD), default=0)
    plain = [each for each in lines[:head] if not says(each.text, "rank-prefix")]
    kinds = {each.type for each in tracebacks.read_tracebacks(plain) if not each.ends_nothing}
    return read_last_traceback(plain) if len(kinds) == 1 else None


def find_task(evidence: Evidence) -> Evidence | None:
    """The same evidence about the first task of which srun says that it did not end well; None where it tells of none.

    Tasks are children of SLURM's daemon, so `holter run` sees none end.
    """
    command = evidence.subject
    lines = list(lines_near_end(evidence))[::-1] if command.role == "command" and left_with(command) else []
    for number, line in enumerate(lines):
        found = tags_in(line.text.strip()).get("srun-task")
        status = _status(found["how"]) if found else None
        if found is None or not status:
            continue
        task = End(
            pid=0,
            role="rank",
            rank=int(found["task"]),
            began_ns=command.began_ns,
            at_ns=line.at_ns,
            status=status,
            source=BY_SRUN,
            raised=read_last_traceback(lines[:number]) if status == 1 << 8 else None,
        )
        job = evidence.job or Job(scheduler="slurm", job="")
        told = msgspec.structs.replace(job, said=line.text) if found["how"] == _OUT_OF_MEMORY else evidence.job
        # The step has a cgroup of its own, perhaps on another machine.
        return msgspec.structs.replace(evidence, subject=task, memory=Memory(), surroundings=None, job=told)
    return None


def _status(how: str) -> int | None:
    """The wait status that srun puts into words; None for none, and for SIGTERM, with which the rest are ended."""
    code = tags_in(how).get("srun-code")
    if code is not None:
        return int(code[1]) << 8
    number = signal.SIGKILL if how == _OUT_OF_MEMORY else SIGNALS_BY_WORDS.get(how)
    return None if number == signal.SIGTERM else number
