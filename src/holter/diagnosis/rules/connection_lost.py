"""Nothing is heard from the run any more, and its machine can't be seen from here: the connection to it was lost.

The program may well be alive and recording where it is; its state is corrected when data arrives again. A machine that
went down looks the same from here.

Look at the run's machine; there `holter ls` knows more, and `holter sync` sends what is missing.
"""

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import lost_a_peer
from holter.diagnosis.grades import COUNTED, INFERRED, OPEN
from holter.model.evidence import Evidence
from holter.model.verdicts import Answer, Grade, RuledOut, Verdict

ADVICE = ("check the network to the server; nothing is lost: holter sync sends what is missing",)
CURVES = ("network",)
OF_THE_LIVING = True


def diagnose(evidence: Evidence) -> Answer:
    """Fires where the heartbeats stopped without an end, on a machine that can't be seen."""
    end, host = evidence.subject, evidence.host
    if end.status is not None or end.raised is not None or end.finished is not None:
        return None
    if evidence.is_connected is False and end.is_alive:
        return _verdict(evidence, COUNTED, "The run is alive, but nothing arrives from it any more")
    if not evidence.is_late:
        return None
    if evidence.is_connected:
        return RuledOut(because="data still arrives from the run's machine")
    if host is not None and host.boot_id_now is not None:
        return RuledOut(because="the run's machine can be looked at from here")
    return _verdict(evidence, INFERRED, "Nothing more was heard from the run, and its machine can't be seen from here")


def _verdict(evidence: Evidence, grade: Grade, title: str, /) -> Verdict:
    end = evidence.subject
    late_s = (evidence.ended_ns - end.at_ns) / 1e9
    more = f", {words.seconds(late_s)} before this was written" if late_s > 1 else ""
    beat = f"the last heartbeat{words.told(' of {}', end.host)} came then{more}"
    silent = facts.fact("server", evidence.ended_ns, "no data arrives from there")
    is_silent = evidence.is_connected is False
    found = [facts.fact("heartbeats", end.at_ns, beat), silent if is_silent else None, facts.of_steps(end)]
    return Verdict(grade, title, found)


def hides_behind(verdict: Verdict, evidence: Evidence) -> Grade | None:
    """Who loses the other end of a connection did not die first; where nobody else is known to have, it may be so."""
    return OPEN if verdict.is_vague and lost_a_peer(evidence.subject) else None
