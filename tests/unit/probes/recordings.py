"""Writes trees of small files like those of /proc and of cgroups, in the shape that Linux 6.18 gives them."""

from collections.abc import Mapping
from pathlib import Path

from holter.probes.probe import Target


def write_files(root: Path, files: Mapping[str, str]) -> str:
    """Write each text under its relative path and return the root as the probes want it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


def stat_line(*, name: str = "python3", state: str = "S", parent: int = 1, **numbers: int) -> str:
    """Return a line of `/proc/PID/stat` with the given fields, the others 0."""
    places = {
        "flags": 9,
        "majflt": 12,
        "cmajflt": 13,
        "utime": 14,
        "stime": 15,
        "cutime": 16,
        "cstime": 17,
        "threads": 20,
        "started": 22,
        "rss_pages": 24,
        "blocked": 32,
        "caught": 34,
        "exit_code": 52,
    }
    fields = ["4242", f"({name})", state, str(parent), *["0"] * 48]
    for field, value in {"threads": 1, **numbers}.items():
        fields[places[field] - 1] = str(value)
    return " ".join(fields) + "\n"


def watch(*pids: int, directory: str = "/") -> Target:
    return Target(roots=pids[:1], tree=pids, directory=directory)
