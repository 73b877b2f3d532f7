"""The system's own journal: Linux's lines where /dev/kmsg may not be read, and those of services."""

import json
from collections.abc import Collection

from holter.model.evidence import KernelLog, Unseen
from holter.model.records import Looked
from holter.model.witnesses import KERNEL_LOG, witnesses_without
from holter.probes.postmortem.commands import ask
from holter.probes.postmortem.kernel_log import REMEDY, Entry, look, switched_off, understand
from holter.probes.postmortem.past import Past
from holter.probes.postmortem.scene import Scene

TURN = 7
WITHIN_S = 2.0
MOST_LINES = 5000
# Somebody may have noticed the end late, or been the last to be seen.
UNTIL_SLACK_S = 60


def look_at_kernel(since_ns: int, pids: Collection[int], *, until_ns: int = 0) -> KernelLog | Unseen:
    """Return the same as `kernel_log.look`, by way of `journalctl`, also of an earlier boot. Blocks for some time."""
    until = [f"--until=@{until_ns // 1_000_000_000 + UNTIL_SLACK_S}"] if until_ns else []
    entries = read_entries(["_TRANSPORT=kernel", *until], since_ns)
    # A user who may not read Linux's lines is shown an empty journal.
    if not entries:
        return Unseen(because="neither the Linux kernel log nor the system's journal can be read", remedy=REMEDY)
    return understand(entries, pids)


def at_death(scene: Scene) -> None:
    """It has what the kernel log has, for more people, and takes its time."""
    if "kernel-log" not in scene.said and not all(death.is_child for death in scene.unclean):
        scene.say("kernel-log", look_at_kernel(scene.began_ns, scene.pids))


def later(past: Past) -> Looked | None:
    """What the kernel log still has; else what the journal has of it, also of an earlier boot."""
    if not past.is_here or past.said("kernel-log"):
        return None
    if KERNEL_LOG in witnesses_without():
        return past.answer("kernel-log", switched_off())
    found = look(past.began_ns, past.pids, near_ns=[past.ended_ns]) if past.is_this_boot else None
    if not isinstance(found, KernelLog):
        found = look_at_kernel(past.began_ns, past.pids, until_ns=past.ended_ns)
    return past.answer("kernel-log", found)


def read_entries(selection: list[str], since_ns: int) -> list[Entry] | None:
    """Return the chosen lines since then, oldest first; None where there is no journal to read. Blocks."""
    since = f"--since=@{since_ns // 1_000_000_000}"
    command = ["journalctl", *selection, since, "--output=json", "--quiet", "--no-pager", f"--lines={MOST_LINES}"]
    text = ask(command, WITHIN_S)
    return None if text is None else parse_entries(text)


def parse_entries(text: str) -> list[Entry]:
    """Take JSON lines apart; what is no line of text is left out."""
    found = []
    for line in text.splitlines():
        try:
            fields = json.loads(line)
            at_us, message = int(fields["__REALTIME_TIMESTAMP"]), fields["MESSAGE"]
        except (ValueError, KeyError, TypeError):
            continue
        # A program may write into the kernel log too, but not in Linux's name.
        is_trusted = "_SYSTEMD_UNIT" in fields or fields.get("SYSLOG_FACILITY", "0") == "0"
        if is_trusted and isinstance(message, str):
            found.append(Entry(at_ns=1000 * at_us, text=message))
    return found
