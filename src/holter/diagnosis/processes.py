"""Many processes, one death: who went first, who was dragged along, and in a hang, who kept the others waiting."""

import re
import signal
from collections.abc import Sequence

import msgspec

from holter.diagnosis import words
from holter.diagnosis.texts import foreign_text, type_names, whole_text
from holter.model.evidence import End, Evidence
from holter.model.records import Raised
from holter.model.verdicts import Fact

FOLLOWS_WITHIN_S = 90.0
"""How long after the first death the rest may still be ended: an agent sends SIGTERM, waits 30 s, sends SIGKILL."""
NOTICED_WITHIN_S = 2.0
"""A death may be written down this much later than that of a process that followed it."""
CHILD_WITHIN_S = 60.0
CODE_WITHIN_S = 10.0
TIMEOUT_CODE, XARGS_CODE = 124, 125
SHELL_SIGNALS = 128
BY_MULTIPROCESSING = "multiprocessing"
BY_SHELL = "shell"
"""The source of a status that is known by the exit code of a shell alone."""

PEER_LOST = re.compile(
    r"Connection closed by peer|remote process exited|Connection reset by peer|[Bb]roken pipe|caused by a remote worker"
    r"|Connection refused|recvValue failed|failed to recv, got 0 bytes|Socket closed|NCCL communicator was aborted"
    r"|TCPStore.*(?:closed|failed|recv|send)|DistNetworkError|Gloo connectFullMesh failed",
)
"""What a process says that lost a partner; who says so did not die first."""
CHILD_LOST = re.compile(
    r"DataLoader worker .*(?:exited unexpectedly|is killed by signal)|BrokenProcessPool|BrokenExecutor"
    r"|terminated abruptly|ProcessExitedException|process \d+ terminated with (?:signal|exit code)"
    r"|CalledProcessError: .*died with|ChildFailedError|WorkerDiedError|TerminatedWorkerError|WorkerCrashedError"
    r"|ActorDiedError|[Aa] worker (?:process )?.*(?:died|was killed|stopped unexpectedly)",
)
"""What a process says that lost a child."""
COLLECTIVE_TIMEOUT = re.compile(
    r"collective operation timeout|Timed out waiting \d+ ?ms for (?:recv|send)|monitoredBarrier"
    r"|Timeout.*(?:all_?reduce|all_?gather|barrier|broadcast|reduce_scatter)|wait timeout after \d+ ?ms"
    r"|Timed out after \d+ ?ms waiting for|DistStoreError: .*[Tt]imed? ?out|Socket Timeout",
    re.IGNORECASE,
)
"""What a rank says that waited for another in vain; who says so is the victim."""
_PIPE_ERRORS = {"EOFError", "ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError"}
_ENDS = re.compile(rf"^(?:{'|'.join(sorted(_PIPE_ERRORS))})\b", re.MULTILINE)
_ENQUEUED = re.compile(r"Rank (\d+)\].*last enqueued (?:NCCL )?work: (\d+)")
_TOLD = re.compile(
    r"died with <Signals\.\w+: (?P<number>\d+)>|is killed by signal: (?P<words>[A-Z][\w ]+)"
    r"|terminated with signal (?P<name>SIG\w+)"
)
TELLING = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGKILL})
"""Nobody leaves with 128 and one of these by chance; but a program may hand on a request as 128 + 15 by itself."""
BY_WORDS = {signal.strsignal(each): each for each in signal.valid_signals()}
_COMMAND = re.compile(r"Command '(.+)' died with")
_PIDS = re.compile(r"pid(?:\(s\))?[ =:]*(\d+(?:, \d+)*)")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """The ranks of a run by their deaths."""

    first: End
    """Who died first of itself; by the time of death, not by the order in which they reported."""
    followers: tuple[End, ...] = ()
    """Who was ended by that, or because of it."""
    bystanders: tuple[End, ...] = ()
    """Who left in order, or lives on."""


def order_of_death(ranks: Sequence[End]) -> Order | None:
    """Who of several died first; None where fewer than two ranks are known or all are well."""
    dead = sorted((end for end in ranks if not ended_well(end)), key=died_ns)
    if len(ranks) < 2 or not dead:
        return None
    first = min(dead, key=_innocence)  # the first of the equal ones, and they are in the order of their deaths
    late = [end for end in dead if end is not first]
    return Order(
        first=first,
        followers=tuple(end for end in late if _follows(end, first)),
        bystanders=tuple(end for end in ranks if end is not first and (ended_well(end) or not _follows(end, first))),
    )


def ended_well(end: End) -> bool:
    """It lives, left with 0, or said that it was done. An exit that nobody read counts as well where it said so."""
    if end.is_alive:
        return True
    if end.finished is not None and end.finished.how in ("finish", "context", "replaced"):
        return not end.finished.exit_code
    if end.status is None:
        return end.finished is not None and end.raised is None and not end.finished.exit_code
    return end.status == 0


def left_with(end: End) -> int | None:
    """Its exit code, as somebody read it or as it said itself; None where a signal ended it or nobody knows."""
    if end.code is not None or end.signal is not None:
        return end.code
    return end.finished.exit_code if end.finished is not None else None


def is_python(end: End) -> bool:
    """Whether an interpreter of Python is what was started, and no shell or launcher around one."""
    return end.name.strip("[]").partition(" ")[0].rpartition("/")[2].startswith("python")


def died_ns(end: End) -> int:
    """When it died. Where nobody saw that, it was after the last row, and not before the last signal arrived."""
    if end.status is not None:
        return end.at_ns
    return max([end.at_ns, *(each.at_ns for each in end.signals), *([end.raised.at_ns] if end.raised else [])])


def lost_a_peer(end: End) -> bool:
    """It died because another process stopped answering, by its own words."""
    return end.raised is not None and PEER_LOST.search(whole_text(end.raised)) is not None


def lost_a_child(end: End) -> bool:
    """It died because a worker or command that it had started did, by its own words or by a pipe that broke."""
    error = end.raised
    if error is None:
        return False
    if _is_unreadable(error):
        return False
    is_pipe = bool(type_names(error) & _PIPE_ERRORS) and "/multiprocessing/" in error.traceback
    return is_pipe or CHILD_LOST.search(whole_text(error)) is not None


def _is_unreadable(error: Raised) -> bool:
    """A pool gives up, too, where what a worker sent can't be read; then it says why, and the worker was well."""
    read = [error.traceback, *(each.message for each in error.causes if each.type.endswith("_RemoteTraceback"))]
    is_broken = error.type.endswith("BrokenProcessPool")
    return is_broken and any("result_reader.recv()" in text and not _ENDS.search(text) for text in read)


def waited_in_vain(end: End) -> bool:
    """It gave up waiting for another rank, by its own words."""
    return end.raised is not None and COLLECTIVE_TIMEOUT.search(whole_text(end.raised)) is not None


def find_laggard(evidence: Evidence) -> End | None:
    """The rank that kept the others waiting; None where nothing tells it from them.

    In this order: the least work given to NCCL, the lowest last step, the only one that did not report a timeout,
    the earliest last row.
    """
    ranks = [end for end in evidence.ranks if end.rank is not None]
    if len(ranks) < 2:
        return None
    by_work = _only_lowest(_enqueued(evidence))
    if by_work is not None:
        return next((end for end in ranks if end.rank == by_work), None)
    steps = {end.pid: end.last_step for end in ranks if end.last_step is not None}
    pid = _only_lowest(steps) if len(steps) == len(ranks) else None
    silent = [end for end in ranks if not waited_in_vain(end)]
    if pid is None and len(silent) == 1:
        return silent[0]
    rows = {end.pid: end.last_row_ns for end in ranks if end.last_row_ns is not None}
    pid = pid or (_only_lowest(rows) if len(rows) == len(ranks) else None)
    return next((end for end in ranks if end.pid == pid), None)


def find_fatal_child(evidence: Evidence) -> End | None:
    """The child whose death ended the subject: by the pid in its last words, by its words, or by how it left."""
    subject = evidence.subject
    before = [
        child
        for child in evidence.children
        if child.pid != subject.pid and _seconds_before(child, subject) >= -NOTICED_WITHIN_S
    ]
    if subject.raised is not None:
        return _named_child(evidence, before) if lost_a_child(subject) else None
    return _child_of_signal(subject, before) if subject.signal else _child_of_code(evidence, before)


def call(end: End) -> str:
    """`rank 1`, `worker 812 (Process-3)`, `process 812`."""
    if end.role == "child":
        what = "worker" if end.source == BY_MULTIPROCESSING or "work" in end.name.lower() else "child"
        return f"{what} {end.pid} ({words.quote(end.name, 60)})" if end.name else f"{what} process {end.pid}"
    if end.rank is not None:
        return f"rank {end.rank}"
    return f"process {end.pid}"


def how_it_went(end: End) -> str:
    """`was ended by SIGKILL`, `exited with exit code 3`, or that nobody saw; to follow its name."""
    if end.signal is not None:
        return f"was ended by {words.signal(end.signal)}"
    return f"exited with exit code {end.code}" if end.code is not None else "is gone, nobody saw how"


def at_step(end: End) -> str:
    """`, at step 41`, or nothing where it logged none."""
    return f", at step {end.last_step:,}" if end.last_step is not None else ""


def tell_order(evidence: Evidence) -> tuple[Fact, ...]:
    """The deaths of the ranks in sentences, the first first; nothing where there is but one."""
    order = order_of_death(evidence.ranks)
    if order is None:
        return ()
    first = order.first
    told = f"{call(first)} died first, {_manner(first)}{at_step(first)}"
    if order.followers:
        told += f"; {_call_all(order.followers)} followed {_delay(first, order.followers)}{_how_all(order.followers)}"
    facts = [Fact("exit status", died_ns(first) / 1e9, told)]
    steps = [f"{call(end)} at step {end.last_step:,}" for end in order.bystanders if end.last_step is not None]
    if steps:
        facts.append(Fact("journal", evidence.ended_ns / 1e9, f"ended normally or alive: {words.listed(steps)}"))
    return tuple(facts)


def tell_laggard(evidence: Evidence) -> tuple[Fact, ...]:
    """How far each rank got, where one of them kept the others waiting."""
    laggard = find_laggard(evidence)
    ranks = sorted((end for end in evidence.ranks if end.rank is not None), key=lambda end: end.rank or 0)
    steps = [f"{call(end)} at {end.last_step:,}" for end in ranks if end.last_step is not None]
    facts = []
    if len(steps) > 1:
        facts.append(Fact("journal", evidence.ended_ns / 1e9, f"last steps: {words.listed(steps)}"))
    victims = [end for end in ranks if waited_in_vain(end)]
    if laggard is not None and victims:
        told = f"{_call_all(victims)} gave up waiting; {call(laggard)} was the one waited for"
        source = "console" if victims[0].raised and victims[0].raised.where == "printed" else "exception"
        facts.append(Fact(source, victims[0].at_ns / 1e9, told))
    return tuple(facts)


def _innocence(end: End) -> int:
    """The lower, the more likely it died of itself."""
    if not _is_like_a_follower(end):
        is_known = end.status is not None or end.raised is not None or bool(end.signals)
        return 0 if is_known else 2
    return 1 if waited_in_vain(end) else 3


def _is_like_a_follower(end: End) -> bool:
    is_term = end.signal == signal.SIGTERM or (end.status is None and end.caught(signal.SIGTERM) is not None)
    was_sent_term = not end.raised and (is_term or signal.SIGTERM in end.handled)
    return was_sent_term or lost_a_peer(end) or waited_in_vain(end)


def _follows(end: End, first: End) -> bool:
    late_s = (died_ns(end) - died_ns(first)) / 1e9
    if not -NOTICED_WITHIN_S <= late_s <= FOLLOWS_WITHIN_S:
        return waited_in_vain(end) and late_s > 0
    was_ended = end.signal == signal.SIGKILL and end.caught(signal.SIGTERM) is not None
    return was_ended or _is_like_a_follower(end)


def _only_lowest(numbers: dict[int, int]) -> int | None:
    if len(numbers) < 2:
        return None
    (least, low), (_, next_low) = sorted(numbers.items(), key=lambda pair: pair[1])[:2]
    return least if low < next_low else None


def _enqueued(evidence: Evidence) -> dict[int, int]:
    found = (_ENQUEUED.search(line.text) for line in evidence.said)
    return {int(match[1]): int(match[2]) for match in found if match}


def _seconds_before(child: End, subject: End) -> float:
    return ((subject.raised.at_ns if subject.raised else subject.at_ns) - child.at_ns) / 1e9


def _named_child(evidence: Evidence, before: Sequence[End]) -> End | None:
    subject = evidence.subject
    if subject.raised is None:
        return None
    pids = {int(pid) for found in _PIDS.findall(whole_text(subject.raised)) for pid in found.split(", ")}
    named = [child for child in before if child.pid in pids]
    # A pool ends its other workers with SIGTERM once one of them is gone.
    recent = [
        child
        for child in before
        if _seconds_before(child, subject) <= CHILD_WITHIN_S and not was_ended_by(subject, child)
    ]
    own = [child for child in recent if child.signal != signal.SIGTERM]
    told = _told_child(evidence, named)
    if told is not None:
        own = [child for child in recent if child.signal == told.signal] or [told]
    return min(named or own or recent, key=lambda child: child.at_ns, default=None)


def was_ended_by(parent: End, child: End) -> bool:
    """The parent itself asked the child to leave: that is how it tidies up, and no reason for its own end."""
    asked = child.caught(signal.SIGTERM) if child.signal == signal.SIGTERM else None
    return asked is not None and asked.is_sent and asked.sender_pid == parent.pid


def _told_child(evidence: Evidence, named: Sequence[End]) -> End | None:
    """A child as a library says that it ended, which had waited for it; None where no library says so.

    Nobody else may have seen it: it came and went too fast.
    """
    raised = evidence.subject.raised
    found = _TOLD.search(_told_text(evidence, raised)) if raised is not None and raised.where != "printed" else None
    if raised is None or found is None or named:
        return None
    number = found["number"] or BY_WORDS.get((found["words"] or "").strip()) or _number_of(found["name"] or "")
    command = _COMMAND.search(raised.message)
    name = command[1] if command else ""
    return (
        End(pid=0, role="child", name=name, at_ns=raised.at_ns, status=int(number), source="wait") if number else None
    )


def _told_text(evidence: Evidence, raised: Raised) -> str:
    """A library's words; those of `CalledProcessError` are its own, whoever raises it, unless there was no child."""
    is_told = raised.type.rpartition(".")[2] == "CalledProcessError" and may_have_missed_a_child(evidence)
    return "\n".join([f"{raised.type}: {raised.message}" if is_told else "", foreign_text(raised)])


def may_have_missed_a_child(evidence: Evidence) -> bool:
    """Whether the subject may have waited for a child whose end nobody else heard of."""
    around = evidence.surroundings
    most_rss_bytes = around.children_rss_bytes if around is not None else None
    return not evidence.is_watched and most_rss_bytes != 0


def _number_of(name: str) -> int | None:
    return signal.Signals[name].value if name in signal.Signals.__members__ else None


def _child_of_code(evidence: Evidence, before: Sequence[End]) -> End | None:
    """A shell leaves with 128 + n where its command died by signal n, and else with its command's code."""
    subject = evidence.subject
    code = left_with(subject)
    if not code:
        return None
    near = [child for child in before if _seconds_before(child, subject) <= CODE_WITHIN_S]
    like = [child for child in near if code in _shell_codes(child)]
    return max(like, key=lambda child: child.at_ns, default=_commanded(evidence))


def _child_of_signal(subject: End, before: Sequence[End]) -> End | None:
    """`timeout` and their like end themselves by the signal that ended their command, so that it shows."""
    if subject.role not in ("command", "watched") or subject.signal not in TELLING:
        return None
    like = [child for child in before if child.signal == subject.signal]
    near = [child for child in like if 0 <= _seconds_before(child, subject) <= NOTICED_WITHIN_S]
    return max(near, key=lambda child: child.at_ns, default=None)


def _commanded(evidence: Evidence) -> End | None:
    """What a process ran that left as a shell does whose command died by a signal; nobody else saw that one."""
    end = evidence.subject
    number = (left_with(end) or 0) - SHELL_SIGNALS
    if number not in (TELLING if end.role == "child" else TELLING | {signal.SIGTERM}):
        return None
    if end.role != "child" and not _has_handed_on(evidence):
        return None
    if end.source == BY_MULTIPROCESSING or (end.role == "child" and is_python(end)):
        return None  # no shell
    return End(pid=0, role="child", name=end.name, at_ns=end.at_ns, status=number, source=BY_SHELL)


def _has_handed_on(evidence: Evidence) -> bool:
    """A program that waited for a child which nobody else saw, and got no signal itself: the code is that child's."""
    end, around = evidence.subject, evidence.surroundings
    has_waited = around is not None and bool(around.children_rss_bytes)
    return end.has_signal_witness and not end.signals and has_waited and not evidence.is_watched


def _shell_codes(child: End) -> tuple[int | None, ...]:
    """With what a shell, xargs, or `timeout` that ended the child itself with a signal of its choice, leaves."""
    return (child.code,) if child.signal is None else (128 + child.signal, TIMEOUT_CODE, XARGS_CODE)


def _call_all(ends: Sequence[End]) -> str:
    numbers = [str(end.rank) for end in ends if end.rank is not None]
    if len(numbers) < 2 or len(numbers) < len(ends):
        return words.listed([call(end) for end in ends])
    return f"ranks {words.listed(sorted(numbers, key=int))}"


def _delay(first: End, followers: Sequence[End]) -> str:
    late_s = min(died_ns(end) for end in followers) - died_ns(first)
    return f"{words.seconds(late_s / 1e9)} later" if late_s > 0 else "at once"


def _manner(end: End) -> str:
    if end.signal is None and end.raised is not None:
        return f"with {end.raised.type.rpartition('.')[2]}"
    return words.exit_words(end)


def _how_all(followers: Sequence[End]) -> str:
    hows = {_manner(end) for end in followers}
    return f", {hows.pop()}" if len(hows) == 1 else ""
