"""The clock is wrong."""

import time
from collections.abc import Iterator

from holter.doctor.machine import Machine

DAY_S = 86400


def check(machine: Machine) -> Iterator[tuple[str, str, str]]:
    """It is earlier than files that are there already."""
    host = machine.host
    if host.now_s and host.newest_file_s > host.now_s + DAY_S:
        now, newest = (time.strftime("%Y-%m-%d", time.gmtime(at)) for at in (host.now_s, host.newest_file_s))
        what = f"the clock says {now}, and files of this environment are of {newest}"
        why = "certificates are refused (downloads fail), and times of runs mean nothing beside those of other machines"
        yield what, why, "sudo timedatectl set-ntp true; in a container: set the clock of its host"
