"""What the guards of a run said, and what people made of that."""

from collections.abc import Iterable

import msgspec

from holter.journal.digest import Digest
from holter.model.evidence import Stall
from holter.model.warning_records import Eased, Silenced, Stood, Warned


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One warning; `eta_s` counts from `at`."""

    guard: str
    at: float
    text: str
    eta_s: float | None
    advice: tuple[str, ...]


def warnings_of(digests: Iterable[Digest]) -> list[Told]:
    """In the order of their times, as `holter show --json` has them."""
    found = [each for digest in digests for each in digest.said if isinstance(each, Warned)]
    return [
        Told(guard=each.guard, at=each.at_ns / 1e9, text=each.text, eta_s=each.eta_s, advice=each.advice)
        for each in sorted(found, key=lambda each: each.at_ns)
    ]


def silenced_guards(digests: Iterable[Digest]) -> frozenset[str]:
    """Those of which people want to hear no more."""
    said = [each for digest in digests for each in digest.said if isinstance(each, Silenced)]
    last = {each.guard: each.is_over for each in sorted(said, key=lambda each: each.at_ns)}
    return frozenset(guard for guard, is_over in last.items() if not is_over)


def standing_warning(digests: Iterable[Digest]) -> str:
    """What the newest warning of the newest attempt says that still holds, if nobody silenced its guard; else empty."""
    known = [*digests]
    newest = max((each.opened.attempt for each in known), default=0)
    said = [record for each in known if each.opened.attempt == newest for record in each.said]
    # What grows is said beside the warning that memory will be full, and stands for as long as that does.
    warned = [record for record in said if isinstance(record, Warned) and "holder" not in record.figures]
    if not warned:
        return ""
    eased = [record for record in said if isinstance(record, Eased)]
    silenced = silenced_guards(known)
    found = [each for each in warned if each.guard not in silenced and is_open(each, eased)]
    return max(found, key=lambda each: each.at_ns).text if found else ""


def stalls_of(said: Iterable[Stood], *, since_ns: int) -> list[Stall]:
    """Of each process the stall that lasted to the end."""
    newest = {(each.rank, each.pid): each for each in said if each.at_ns >= since_ns}
    return [
        Stall(
            silent_s=each.silent_s,
            usual_s=each.usual_s,
            rank=each.rank,
            cpu_percent=each.cpu_percent,
            kernel_state=each.kernel_state,
            stack=each.stack,
        )
        for each in newest.values()
        if not each.is_over
    ]


def is_open(warned: Warned, said: Iterable[Warned | Eased]) -> bool:
    """Whether nothing was heard since that it is over."""
    return not any(
        isinstance(each, Eased)
        and (each.guard, each.subject) == (warned.guard, warned.subject)
        and each.at_ns >= warned.at_ns
        for each in said
    )
