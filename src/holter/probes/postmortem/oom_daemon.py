"""earlyoom, systemd-oomd and their like, which kill before Linux does and leave its counters alone."""

import re
from collections.abc import Collection, Iterable

from holter.model.evidence import Counters, OomDaemon
from holter.model.records import Looked
from holter.probes.postmortem.past import Past
from holter.probes.postmortem.process_table import Resident, read_table
from holter.probes.postmortem.scene import Scene
from holter.probes.postmortem.system_journal import read_entries

TURN = 8
DAEMONS = ("earlyoom", "systemd-oomd", "oomd", "nohang", "low-memory-monitor")
UNITS = ("earlyoom.service", "systemd-oomd.service", "nohang.service")
KILLS = re.compile(r"kill|SIGTERM|SIGKILL|Marked", re.IGNORECASE)
MOST_SAID = 8
MOST_TEXT = 300


def find_running(residents: Iterable[Resident]) -> tuple[str, ...]:
    """Return which of them run, by the names of all processes."""
    names = {each.name for each in residents}
    return tuple(name for name in DAEMONS if name in names)


def look(running: tuple[str, ...], since_ns: int, *, pids: Collection[int], cgroups: Collection[str]) -> OomDaemon:
    """Return what they said about a process or a cgroup of ours. Blocks for some time where one of them runs."""
    if not running:
        return OomDaemon()
    entries = read_entries([word for unit in UNITS for word in ("--unit", unit)], since_ns)
    if not entries:
        return OomDaemon(running=running)
    return OomDaemon(running=running, said=about_ours([each.text for each in entries], pids, cgroups=cgroups))


def at_death(scene: Scene) -> None:
    """Of a program that could not say anything itself."""
    if all(death.is_child or not death.is_silent for death in scene.unclean):
        return
    cgroups = {path for death in scene.unclean for path in death.cgroups}
    scene.say("oom-daemon", look(find_running(read_table()), scene.began_ns, pids=scene.pids, cgroups=cgroups))


def later(past: Past) -> Looked | None:
    """The same, in the boot in which it died."""
    if not past.is_this_boot or past.said("oom-daemon"):
        return None
    levels = [level for each in past.said("counters") if isinstance(each, Counters) for level in each.levels]
    cgroups = {level.path for level in levels if level.level == 0}
    running = find_running(read_table())
    return past.answer("oom-daemon", look(running, past.began_ns, pids=past.pids, cgroups=cgroups))


def about_ours(lines: Iterable[str], pids: Collection[int], *, cgroups: Collection[str]) -> tuple[str, ...]:
    """Return the lines that say that one of these was killed; the last of many."""
    found = []
    for line in lines:
        numbers = set(map(int, re.findall(r"(?:process|pid:?|PID) (\d+)", line)))
        is_ours = bool(numbers & set(pids)) or any(_names(line, path) for path in cgroups)
        if is_ours and KILLS.search(line):
            found.append(line[:MOST_TEXT])
    return tuple(found[-MOST_SAID:])


def _names(line: str, path: str) -> bool:
    """Whether the line is about this cgroup or one above it. The first that it names is the one that was killed."""
    words = [word.strip("'\",.") for word in line.split()]
    killed = next((word for word in words if len(word) > 1 and word.startswith("/")), None)
    return killed is not None and f"{path}/".startswith(f"{killed}/")
