"""Says numbers, times and texts the way people read them; and reads them the way people write them."""

import re
import time
from collections.abc import Mapping
from typing import Any

from holter.errors import UsageError

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d|w)", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
MOST_VALUE = 40
OLD_S = 30 * 86400
MEASURED = ("gradients/", "parameters/", "outputs/", "system_stats/")


def duration(seconds: float) -> str:
    """`0.4s`, `12s`, `2m 03s`, `3h 05m`, `2d 03h`."""
    seconds = max(0.0, seconds)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86400}d {whole % 86400 // 3600:02d}h"


def age(seconds: float) -> str:
    """How long ago something was, in one unit: `now`, `40s ago`, `3m ago`, `5h ago`, `12d ago`."""
    if seconds < 1:
        return "now"
    for unit, size in (("s", 60), ("m", 3600), ("h", 86400)):
        if seconds < size:
            return f"{int(seconds // _SECONDS[unit])}{unit} ago"
    return f"{int(seconds // 86400)}d ago"


def began(at: float, now: float) -> str:
    """A start for a table: its age, or the day where it is more than a month ago."""
    return age(now - at) if now - at < OLD_S else time.strftime("%Y-%m-%d", time.localtime(at))


def moment(at: float) -> str:
    """Local date and time."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def clock_time(at: float, now: float) -> str:
    """The time of day, with the date where that is not today's."""
    then = time.localtime(at)
    is_today = then[:3] == time.localtime(now)[:3]
    return time.strftime("%H:%M:%S" if is_today else "%Y-%m-%d %H:%M:%S", then) + f".{int(at % 1 * 10)}"


def size(count: float) -> str:
    """Bytes in powers of a thousand: `812 B`, `13.9 MB`."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        count /= 1000
        if count < 999.5 or unit == "PB":
            break
    return f"{count:.0f} {unit}" if count >= 100 else f"{count:.1f} {unit}"


def value(what: object, most: int = MOST_VALUE) -> str:
    """One value of a row, summary or configuration, in short."""
    if isinstance(what, float):
        return f"{what:.6g}".replace("nan", "NaN").replace("inf", "Infinity")
    if isinstance(what, str):
        return shorten(clean(what), most)
    if isinstance(what, Mapping | list | tuple):
        return shorten(clean(str(what)), most)
    return "true" if what is True else "false" if what is False else "null" if what is None else str(what)


def values(row: Mapping[str, Any]) -> str:
    """`loss=0.1 acc=0.98`."""
    return " ".join(f"{clean(key)}={value(what)}" for key, what in row.items())


def own_first(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What the program logged itself comes before the many numbers of `watch()`, and of an old run's machine."""
    return dict(sorted(summary.items(), key=lambda item: item[0].startswith(MEASURED)))


def flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested configuration with dotted names."""
    found: dict[str, Any] = {}
    for key, what in tree.items():
        if isinstance(what, Mapping) and what:
            found |= flat(what, f"{prefix}{key}.")
        else:
            found[f"{prefix}{key}"] = what
    return found


def clean(text: str) -> str:
    """The text without anything that moves the cursor, rings the bell or turns the writing around."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def shorten(text: str, most: int) -> str:
    """At most so many characters, the last of which say that there were more."""
    return text if len(text) <= most else text[: most - 3] + "..."


def plural(count: int, noun: str) -> str:
    """`1 run`, `1,204 runs`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def parse_duration(text: str) -> float:
    """Seconds of `90s`, `15m`, `12h`, `30d`, `2w`. Raises UsageError."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"a time must be a number with s, m, h, d or w, such as 30d or 12h; got {text!r}")
    return float(match[1]) * _SECONDS[match[2].lower()]
