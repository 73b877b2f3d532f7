"""Whether the machine itself went down: its boot id, its login records, what a panicking kernel left behind."""

import os
import struct
from collections.abc import Iterable

from holter.model.evidence import ALL_ASKED, HostEnd
from holter.model.records import Looked
from holter.probes.identity import boot_id
from holter.probes.postmortem.past import Past
from holter.probes.procfs import PROC, find_number, read_file

TURN = 1
LOGIN_RECORDS = "/var/log/wtmp"
PANIC_DIRECTORIES = ("/sys/fs/pstore", "/var/lib/systemd/pstore")
# struct utmp of glibc: type, pid, line, id, user, host, exit, session, seconds, microseconds, address, unused.
UTMP = struct.Struct("=hxxi32s4s32s256shhiii16s20s")
RUN_LEVEL, BOOT = 1, 2
MOST_RECORDS_BYTES = UTMP.size * 4096
MOST_PANIC = 400


def look(then: str, began_ns: int, *, proc: str = PROC, records: str = LOGIN_RECORDS) -> HostEnd:
    """Return what became of the boot in which the run ran.

    Args:
        then: its boot id.
        began_ns: when the run began.
    """
    now = boot_id(proc)
    booted_s = find_number(read_file(f"{proc}/stat") or b"", b"btime ")
    has_rebooted = bool(then and now) and then != now
    return HostEnd(
        boot_id=then,
        boot_id_now=now or None,
        booted_ns=booted_s * 1_000_000_000 if booted_s else None,
        last_shutdown=first_end(read_login_records(records), began_ns // 1_000_000_000) if has_rebooted else "",
        panic=find_panic(PANIC_DIRECTORIES, began_ns) if has_rebooted else "",
    )


def later(past: Past) -> Looked | None:
    """What became of its boot; a sidecar that outlived the run was there to see that it went on."""
    has_outlived_it = any(record.source == ALL_ASKED for record in past.looked)
    if not past.is_here or past.said("host") or has_outlived_it:
        return None
    return past.answer("host", look(past.opened.boot_id, past.began_ns))


def read_login_records(path: str = LOGIN_RECORDS) -> list[tuple[int, str, int]]:
    """Return type, user and time of the newest login records, oldest first; none where nobody can look."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - size % UTMP.size - MOST_RECORDS_BYTES))
            return parse_login_records(file.read())
    except OSError:
        return []


def parse_login_records(data: bytes) -> list[tuple[int, str, int]]:
    """Take a `wtmp` apart; an incomplete last record is left out."""
    whole = data[: len(data) - len(data) % UTMP.size]
    return [
        (fields[0], fields[4].partition(b"\0")[0].decode(errors="replace"), fields[9])
        for fields in UTMP.iter_unpack(whole)
    ]


def first_end(records: Iterable[tuple[int, str, int]], since_s: int) -> str:
    """How the first boot that ended after this time has ended: `clean`, `crash`, or nothing where no record says so."""
    is_shut_down = False
    for kind, user, at_s in records:
        if at_s < since_s:
            continue
        if kind == RUN_LEVEL and user == "shutdown":
            is_shut_down = True
        if kind == BOOT:
            return "clean" if is_shut_down else "crash"
    return ""


def find_panic(directories: Iterable[str], began_ns: int) -> str:
    """Return what Linux left of a panic since then, empty where there is nothing or nobody may look."""
    for directory in directories:
        for root, _, names in os.walk(directory):
            for name in sorted(names):
                path = os.path.join(root, name)
                try:
                    is_recent = os.stat(path).st_mtime_ns >= began_ns
                except OSError:
                    continue
                if name.startswith("dmesg") and is_recent and (text := parse_panic(read_file(path) or b"")):
                    return text
    return ""


def parse_panic(text: bytes) -> str:
    """Return the line that says why Linux gave up, empty where none does."""
    for line in text.decode(errors="replace").splitlines():
        if "Kernel panic" in line or "BUG:" in line or "Oops" in line:
            return line[line.find("]") + 1 :].strip()[:MOST_PANIC]
    return ""
