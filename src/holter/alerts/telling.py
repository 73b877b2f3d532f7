"""What is worth a message, as a message. Pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from holter.alerts.message import ALERT, DEATH, ERROR, FINISH, INFO, WARN, WARNING, Message
from holter.model.run_row import RunRow
from holter.model.state import FINISHED

RECORDS = ("Alerted", "Warned")
_LEVELS = (INFO, WARN, ERROR)


class About(msgspec.Struct, frozen=True, kw_only=True):
    """The run that a message is about."""

    run: str
    name: str = ""
    project: str = ""
    link: str = ""


def of_record(kind: str, fields: Mapping[str, Any], *, of: About) -> Message | None:
    """Of an alert or a warning, by the record's kind and fields; None for all others."""
    about: dict[str, Any] = {**msgspec.structs.asdict(of), "at_s": float(fields.get("at_ns", 0)) / 1e9}
    if kind == "Alerted":
        level = str(fields.get("level", INFO))
        level = level if level in _LEVELS else INFO
        return Message(kind=ALERT, title=fields["title"], text=fields.get("text", ""), level=level, **about)
    if kind == "Warned":
        advice = fields.get("advice") or ()
        return Message(kind=WARNING, title=fields["text"], text="\n".join(advice[:3]), level=WARN, **about)
    return None


def of_end(row: RunRow, *, why: str, advice: str, link: str) -> Message:
    """How and why a run ended."""
    is_well = row.state == FINISHED
    figures = f"after {_duration(row.duration_s)}, {row.rows:,} rows"
    return Message(
        kind=FINISH if is_well else DEATH,
        run=row.id,
        name=row.name,
        project=row.project,
        title=f"{row.state} {figures}" if is_well else f"{row.state}: {why}",
        text="" if is_well else "\n".join(filter(None, (figures, advice and f"try: {advice}"))),
        level=INFO if is_well else ERROR,
        link=link,
        at_s=row.ended_at or 0.0,
    )


def _duration(seconds: float) -> str:
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    hours, minutes = whole // 3600, whole % 3600 // 60
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"
