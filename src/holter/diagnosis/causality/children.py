"""Which child's death led to the end of the program.

Mostly the program says so, or hands on how the child ended: `find_lost_child`. Else there is only the time: a child
died of a fault, or was killed for memory, and soon after the program raised something of its own, or left with a code
of its own. How likely the one led to the other depends on how soon that was, on whether the program had waited for
something or chose to leave, and on whether it had gone on meanwhile: `find_suspect`.
"""

import signal

import msgspec

from holter.diagnosis.causality import ends
from holter.diagnosis.causality.console import SIGNALS_BY_WORDS
from holter.diagnosis.causality.tracebacks import HEAD
from holter.diagnosis.endings import BY_SHELL
from holter.diagnosis.grades import CONSISTENT, COUNTED, EVEN, LIKELY, REMOTE, UNLIKELY
from holter.diagnosis.kills import NEAR_NS
from holter.diagnosis.memory_reading import own_level
from holter.diagnosis.phrases.tags import says, tags_in
from holter.diagnosis.texts import USUAL, foreign_text, is_said_by_hand, last_line, type_names, whole_text
from holter.model.evidence import End, Evidence
from holter.model.records import Raised
from holter.model.verdicts import Grade

WITHIN_S = 30.0
"""How long ago a child may have died of which a library, a broken pipe, the program's own words or its code tell."""
NOTICED_WITHIN_S = 2.0
"""A death may be written down this much later than the exception that it led to."""
NOTICED_BY_TIME_S = 0.3
"""The same where no words connect both: then only the time does, and it has to be short."""
TIMEOUT_CODE, XARGS_CODE = 124, 125
AT_ONCE_S, SOON_S = 2.0, 15.0
WENT_ON_S, WENT_ON_LONG_S = 1.0, 3.0
"""Rows that were logged so long after the child's death: the program could do without it for a while, or at all."""
WAITED, PROBABLE, POSSIBLE = COUNTED, CONSISTENT, REMOTE
"""That the child's death is why the program ended, where nothing connects both but the time."""
BY_COUNTERS = "the counter of its memory limit (cgroup)"
_TIDY_UP = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGQUIT})
_OWN_ACTS = frozenset({"TimeoutExpired", "KeyboardInterrupt"})
"""Who raises this has killed the child itself, or was told to leave."""


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """A child that died before the subject ended, of something that was not the subject's doing."""

    evidence: Evidence
    """About the child."""
    likelihood: Grade
    """That its death is why the subject ended."""


def about(evidence: Evidence, child: End) -> Evidence:
    """The same evidence about one of the children, with what was looked at when that one died."""
    around = evidence.surroundings
    shared = msgspec.structs.replace(around, heeded=None, children_rss_bytes=None) if around is not None else None
    return msgspec.structs.replace(
        evidence,
        subject=child,
        memory=evidence.memory_of.get(child.pid, evidence.memory),
        surroundings=evidence.surroundings_of.get(child.pid, shared),
    )


def find_lost_child(evidence: Evidence) -> End | None:
    """The child without which the subject could not go on; None where it ended for a reason of its own."""
    end = evidence.subject
    known = _mourned(evidence, end.raised) if end.raised is not None else _handed_on(evidence)
    return known or _behind_a_pipe(evidence) or _mentioned(evidence)


def has_unheard_child(evidence: Evidence) -> bool | None:
    """Whether the subject has waited for a child of whose end nobody else may have heard; None where nobody knows."""
    around = evidence.surroundings
    most_rss_bytes = around.children_rss_bytes if around is not None else None
    if evidence.is_watched or most_rss_bytes == 0:
        return False
    return None if most_rss_bytes is None else True


def may_have_lost_a_child(evidence: Evidence) -> Grade | None:
    """How sure a verdict on the subject may be at most where it may have looked at a child, or waited for one, whose
    end nobody else saw; None where there was none, or it said itself what its run came to."""
    end, is_unheard = evidence.subject, has_unheard_child(evidence)
    if evidence.is_watched or (end.finished is not None and end.finished.how == "finish"):
        return None
    if ends.has_waited(end) or (ends.chose(end) and is_unheard):
        return EVEN
    # What a process used counts once somebody waited for it; who reads from one that is gone has not yet.
    # A command that failed may have had one itself, as make has.
    return UNLIKELY if _tells_of_another(end) or (ends.chose(end) and is_unheard is None) else None


def _before(evidence: Evidence) -> list[End]:
    """The children that died not long before the subject's end was decided, by their times."""
    end_ns = ends.decided_ns(evidence.subject)
    near = [each for each in evidence.children if -NOTICED_WITHIN_S <= (end_ns - each.at_ns) / 1e9 <= WITHIN_S]
    return sorted((each for each in near if each.pid != evidence.subject.pid), key=lambda each: each.at_ns)


def _unheard(end: End, number: int, *, name: str = "", source: str = BY_SHELL) -> End:
    """A child of which only is known that it died of this signal before the subject's end was decided."""
    return End(pid=0, role="child", name=name, at_ns=ends.decided_ns(end), status=number, source=source)


def _handed_on(evidence: Evidence) -> End | None:
    """A shell leaves with 128 + n where its command died by signal n, and else with its command's code; `timeout` and
    its like end themselves by that signal, so that it shows."""
    end, code = evidence.subject, ends.left_with(evidence.subject)
    if end.signal in ends.TELLING and end.role in ("command", "watched"):
        at_once = [child for child in _before(evidence) if 0 <= end.at_ns - child.at_ns <= NOTICED_WITHIN_S * 1e9]
        like = [child for child in at_once if child.signal == end.signal]
    else:
        like = [child for child in _before(evidence) if code and code in _codes(child)]
    return like[-1] if like else _commanded(evidence, (code or 0) - ends.SHELL_SIGNALS)


def _codes(child: End) -> tuple[int | None, ...]:
    """With what a shell leaves, what Python calls it, and with what xargs leaves, or `timeout` that ended the child
    itself with a signal of its choice."""
    if child.signal is None:
        return (child.code,)
    return ends.SHELL_SIGNALS + child.signal, -child.signal, TIMEOUT_CODE, XARGS_CODE


def _commanded(evidence: Evidence, number: int) -> End | None:
    """What a process ran that left as a shell does whose command died by a signal; nobody else saw that one."""
    end = evidence.subject
    if end.role == "child":
        is_shell = end.source != ends.BY_MULTIPROCESSING and not ends.is_python(end)
        return _unheard(end, number, name=end.name) if is_shell and number in ends.TELLING else None
    got_none = end.has_signal_witness and not end.signals
    has_waited_for_it = got_none and has_unheard_child(evidence) and number in ends.TELLING | {signal.SIGTERM}
    return _unheard(end, number, name=end.name) if has_waited_for_it else None


def _mourned(evidence: Evidence, raised: Raised) -> End | None:
    """The child that a library says it lost: by its pid, by how it ended, or the first that nobody ended on purpose."""
    end = evidence.subject
    if not ends.lost_a_child(end):
        return None
    pids = {int(pid) for found in tags_in(whole_text(raised)).every("pids") for pid in found[1].split(", ")}
    named = [child for child in _before(evidence) if child.pid in pids]
    recent = [child for child in _before(evidence) if not _was_ended_by(end, child)]
    told = _told(evidence, raised)
    alike = [child for child in recent if told is not None and child.signal == told.signal]
    own = [child for child in recent if child.signal != signal.SIGTERM]  # a pool ends its other workers with that
    return next(iter([*named, *alike, *([told] if told else []), *own, *recent]), None)


def _was_ended_by(parent: End, child: End) -> bool:
    """The parent itself asked the child to leave: that is how it tidies up, and no reason for its own end."""
    asked = child.caught(signal.SIGTERM) if child.signal == signal.SIGTERM else None
    return asked is not None and asked.is_sent and asked.sender_pid == parent.pid


def _told(evidence: Evidence, raised: Raised) -> End | None:
    """A child as a library says that it ended, which had waited for it: it may have come and gone too fast for others.

    The words of `CalledProcessError` are a library's, whoever raises it, unless there was no child.
    """
    is_reported = raised.type.rpartition(".")[2] == "CalledProcessError" and has_unheard_child(evidence) is not False
    text = f"{raised.type}: {raised.message}\n" if is_reported else ""
    found = tags_in(text + foreign_text(raised)).get("signal-of-child") if raised.where != "printed" else None
    if found is None:
        return None
    told = found[1].strip()
    number = int(told) if told.isdigit() else SIGNALS_BY_WORDS.get(told) or signal.Signals.__members__.get(told) or 0
    command = tags_in(raised.message).get("command-of-child")
    return _unheard(evidence.subject, number, name=command[1] if command else "", source="wait") if number else None


def _behind_a_pipe(evidence: Evidence) -> End | None:
    """A queue or pipe that breaks while a child has just died."""
    raised = evidence.subject.raised
    if raised is None or raised.type.rpartition(".")[2] not in ends.PIPE_ERRORS or is_said_by_hand(raised):
        return None
    return _first_dead(evidence)


def _mentioned(evidence: Evidence) -> End | None:
    """A program that looks at the exit codes of its children, and raises or leaves because of one."""
    text = _words(evidence.subject)
    if not says(text, "exit-spoken-of"):
        return _unseen(evidence, text)
    numbers = {int(number[0]) for number in tags_in(text).every("number")}
    named = [child for child in _before(evidence) if numbers.intersection(_telling_codes(child))]
    if named and named[-1].raised is None and HEAD.rstrip(":") in text:
        return None  # the program has the worker's own exception in its words, and nobody else has
    if named or is_about_a_code(evidence):
        # Whoever died of a signal first took the others along.
        signalled = [child for child in named if child.signal is not None]
        return next(iter([*signalled, *named[-1:]]), None)
    return _first_dead(evidence) or _unseen(evidence, text)


def _words(end: End) -> str:
    return whole_text(end.raised) if end.raised else end.finished.exit_text if end.finished else ""


def _telling_codes(child: End) -> tuple[int, ...]:
    """Codes that mean this child where the program names one: of a worker any, of others those of a signal."""
    is_told = (
        child.source == ends.BY_MULTIPROCESSING or child.signal is not None or (child.code or 0) > ends.SHELL_SIGNALS
    )
    return tuple(code for code in _codes(child)[:2] if code and is_told)


def is_about_a_code(evidence: Evidence) -> bool:
    """Whether the subject gives the code with which a child had just left by itself, and is not about one that died."""
    said = {int(code[1]) for code in tags_in(_words(evidence.subject)).every("exit-code")}
    return any(child.code and child.code in said for child in _before(evidence))


def _unseen(evidence: Evidence, text: str) -> End | None:
    """A child that the subject has waited for and whose end nobody else saw, by the code that the subject's last words
    give: a shell's 128 + n, or Python's -n."""
    end, last, is_unheard = evidence.subject, last_line(evidence), has_unheard_child(evidence)
    if is_unheard is False or evidence.children or not (end.raised or ends.left_with(end)):
        return None
    said = text or (last.text if last is not None else "")
    negative = tags_in(said).every("negative-number") if says(said, "child-spoken-of") else []
    codes = [
        int(code)
        for code in [*(found[1] for found in tags_in(said).every("exit-code")), *(found[0] for found in negative)]
    ]
    if is_unheard is None:
        codes = [code for code in codes if code < 0 and end.role == "command"]
    numbers = [-code if code < 0 else code - ends.SHELL_SIGNALS for code in codes]
    number = next((each for each in numbers if each in ends.TELLING), None)
    return _unheard(end, number) if number else None


def _first_dead(evidence: Evidence) -> End | None:
    return next((child for child in _before(evidence) if _died_of_itself(child, evidence)), None)


def _died_of_itself(child: End, evidence: Evidence) -> bool:
    """It did not end in order, nor because another process of the run asked it to, or had gone before it."""
    number = child.signal
    if number is None:
        arrived = [each for each in child.signals if not each.is_sent and each.signal not in _TIDY_UP]
        return child.raised is not None or (child.status is None and bool(arrived))
    caught = child.caught(number)
    if caught is not None and caught.is_sent:
        ours = {0, *(end.pid for end in (evidence.subject, *evidence.ranks, *evidence.children))}
        return caught.sender_pid not in ours or (caught.sender_pid == child.pid and number not in _TIDY_UP)
    return number not in _TIDY_UP


def find_suspect(evidence: Evidence, program: End | None = None) -> Suspect | None:
    """The first child that may have ended the subject, by time; None where `find_lost_child` has one, or there is none.

    Args:
        program: whose rows tell that the run went on, where the subject itself logs none.
    """
    end = _with_rows_of(program, evidence.subject) if program is not None else evidence.subject
    if end.signal is not None or not (end.raised or ends.left_with(end)) or find_lost_child(evidence) is not None:
        return None
    if end.raised is not None and type_names(end.raised) & _OWN_ACTS:
        return None
    near = [child for child in evidence.children if child.pid != end.pid and _died_of_itself(child, evidence)]
    likely = [(child, weight) for child in near if (weight := weigh(child, end)) is not None]
    if not likely:
        return _unseen_victim(evidence, end)
    child, weight = min(likely, key=lambda each: each[0].at_ns)
    most = _most_likely(evidence, child, end)
    return Suspect(evidence=about(evidence, child), likelihood=min(weight, most)) if most else None


def weigh(child: End, end: End) -> Grade | None:
    """How likely the death of the one led to the end of the other, by their times; None for not at all."""
    delay_s = (ends.decided_ns(end) - child.at_ns) / 1e9
    went_on_s = ((end.last_row_ns or 0) - child.at_ns) / 1e9
    if not -NOTICED_BY_TIME_S <= delay_s <= (WITHIN_S if ends.has_waited(end) else SOON_S):
        return None
    if ends.has_waited(end):
        return LIKELY if went_on_s > WENT_ON_S else WAITED
    has_own_code = _has_own_code(end, child)
    if delay_s <= AT_ONCE_S and went_on_s <= (0 if has_own_code else WENT_ON_S):
        return PROBABLE if ends.chose(end) else LIKELY
    if not ends.chose(end):
        return None if went_on_s > WENT_ON_LONG_S else POSSIBLE
    # Where it logs no rows, nobody knows whether it went on; words of its own are about something else then.
    is_apart = has_own_code or went_on_s > WENT_ON_S or (end.last_row_ns is None and end.raised is not None)
    return POSSIBLE if is_apart else LIKELY


def _has_own_code(end: End, child: End) -> bool:
    """A program that left with neither the code of any failure nor one that speaks of the child's signal; scripts
    choose their codes for what they ran."""
    is_program = end.finished is not None or ends.is_python(end)
    number = child.signal or 0
    usual = {1, number, ends.SHELL_SIGNALS + number, 256 - number}
    return is_program and end.raised is None and ends.left_with(end) not in usual


def _most_likely(evidence: Evidence, child: End, end: End, /) -> Grade | None:
    """What is left of that where the subject went on printing, or may have killed the child itself, as programs do when
    they are done."""
    if _printed_on(evidence, child, end):
        return POSSIBLE
    if child.signal != signal.SIGKILL or _was_for_memory(child, about(evidence, child)):
        return WAITED
    if child.parent_signal == signal.SIGKILL or not (ends.chose(end) or ends.has_waited(end)):
        return None
    return LIKELY if ends.has_waited(end) or child.parent_signal is not None else POSSIBLE


def _printed_on(evidence: Evidence, child: End, end: End, /) -> bool:
    """Who logs no rows, gave up no waiting, and whose output went on for a while after the child was gone."""
    if end.last_row_ns is not None or ends.has_waited(end) or _tells_of_another(end):
        return False
    since_ns = child.at_ns + int(NOTICED_BY_TIME_S * 1e9)
    # What came together with a printed exception belongs to it, or had only waited to be written.
    until_ns = ends.decided_ns(end) - (end.raised is not None)
    later = [line for line in evidence.said if since_ns < line.at_ns <= until_ns and not line.is_error]
    return len(later) >= USUAL


def _tells_of_another(end: End) -> bool:
    return end.raised is not None and bool(type_names(end.raised) & {"EOFError", "CalledProcessError"})


def _was_for_memory(child: End, evidence: Evidence) -> bool:
    log = evidence.kernel_log
    is_logged = log and any(each.pid == child.pid and abs(each.at_ns - child.at_ns) <= NEAR_NS for each in log.kills)
    return bool(is_logged or _kills_lately(evidence))


def _kills_lately(evidence: Evidence) -> int:
    """How many processes Linux killed for memory in the run's cgroup, where it killed one just before."""
    own = own_level(evidence)
    return own.kills or 0 if own is not None and own.kills_lately != 0 else 0


def _with_rows_of(program: End, end: End) -> End:
    """The last row before the end; of later ones it is only known that there were some."""
    rows = [min(each, ends.decided_ns(end)) for each in (end.last_row_ns, program.last_row_ns) if each is not None]
    return msgspec.structs.replace(end, last_row_ns=max(rows, default=None))


def _unseen_victim(evidence: Evidence, end: End) -> Suspect | None:
    """Linux killed somebody of the run for memory since it was last looked at, and nobody saw whom."""
    if evidence.is_watched or not has_unseen_victim(evidence):
        return None
    child = _unheard(end, signal.SIGKILL, source=BY_COUNTERS)
    return Suspect(evidence=about(evidence, child), likelihood=min(weigh(child, end) or POSSIBLE, LIKELY))


def has_unseen_victim(evidence: Evidence) -> bool:
    """Whether Linux killed somebody in the run's cgroup for memory just before, and nobody knows whom."""
    return _kills_lately(evidence) > sum(child.signal == signal.SIGKILL for child in evidence.children)
