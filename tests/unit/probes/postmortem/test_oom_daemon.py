"""Daemons that kill before the kernel does."""

from holter.model.evidence import OomDaemon
from holter.probes.postmortem.oom_daemon import about_ours, find_running, look
from holter.probes.postmortem.process_table import Resident

# As the sources of earlyoom and of systemd print them, with invented numbers.
EARLYOOM = (
    'sending SIGTERM to process 4711 uid 1000 "python3": oom_score 1350, VmRSS 30720 MiB, cmdline "python3 train.py"'
)
OOMD = (
    "Killed /user.slice/user-1000.slice/user@1000.service/app.slice/train.scope due to memory pressure for "
    "/user.slice/user-1000.slice/user@1000.service being 75.41% > 50.00% for > 20s with reclaim activity"
)
OURS = "/user.slice/user-1000.slice/user@1000.service/app.slice/train.scope"


def test_daemons_are_known_by_their_names() -> None:
    table = [Resident(1, "systemd", 5), Resident(2, "earlyoom", 5), Resident(3, "systemd-oomd", 5)]
    assert find_running(table) == ("earlyoom", "systemd-oomd")


def test_their_lines_about_our_process_or_cgroup_are_kept() -> None:
    lines = [EARLYOOM, OOMD, "mem avail: 100 of 200 MiB", EARLYOOM.replace("4711", "12")]
    assert about_ours(lines, {4711}, cgroups={OURS}) == (EARLYOOM, OOMD)


def test_a_kill_of_a_neighbour_is_not_ours() -> None:
    assert about_ours([OOMD], {4711}, cgroups={"/user.slice/user-1001.slice"}) == ()
    assert about_ours([OOMD], set(), cgroups={f"{OURS}2"}) == ()


def test_where_none_runs_nobody_is_asked() -> None:
    assert look((), 0, pids={1}, cgroups={"/"}) == OomDaemon()
