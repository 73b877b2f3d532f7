"""What is read out of kernel logs of several kernels.

Those of 6.18 were seen; in the one of cgroup v1 the cgroups are renamed and the victim's put below the limited one;
those of other kernels have the form in which their sources and mailing lists have them, with invented numbers.
"""

import os
import time
from pathlib import Path

import pytest

from holter.model.evidence import KernelLine, KernelLog, OomKill, Unseen
from holter.probes.postmortem.kernel_log import Entry, look, parse_record, understand
from holter.probes.postmortem.system_journal import parse_entries

GIB = 1 << 30
TEXTS = Path(__file__).parent / "texts"
OF_6_18 = (TEXTS / "oom-6.18.txt").read_text()
GLOBAL_OF_5_15 = (TEXTS / "oom-global-5.15.txt").read_text()
OF_4_15 = (TEXTS / "oom-4.15.txt").read_text()
GROUP_OF_6_18 = (TEXTS / "oom-group-6.18.txt").read_text()


def entries(text: str) -> list[Entry]:
    return [Entry(at_ns=1000 + number, text=line) for number, line in enumerate(text.splitlines())]


def kills(text: str) -> tuple[OomKill, ...]:
    return understand(entries(text), has_host_pids=True).kills


def test_a_kill_by_the_limit_of_a_parent_cgroup() -> None:
    (kill,) = kills(OF_6_18)
    assert (kill.pid, kill.name, kill.constraint) == (20290, "python", "CONSTRAINT_MEMCG")
    assert (kill.limited_cgroup, kill.cgroup) == ("/job", "/job/step")
    assert kill.anon_bytes == 132096 * 1024
    assert kill.at_ns == 1007
    assert kill.text.startswith("Memory cgroup out of memory: Killed process 20290")


def test_a_kill_because_the_machine_was_full() -> None:
    (kill,) = kills(GLOBAL_OF_5_15)
    assert (kill.pid, kill.constraint, kill.limited_cgroup) == (4711, "CONSTRAINT_NONE", "")
    assert kill.cgroup == "/user.slice/user-1000.slice/session-2.scope"
    assert kill.anon_bytes == 30 * GIB


def test_a_kill_as_kernels_before_5_0_report_it() -> None:
    (kill,) = kills(OF_4_15)
    assert (kill.pid, kill.name, kill.constraint) == (4711, "python", "CONSTRAINT_MEMCG")
    assert (kill.limited_cgroup, kill.cgroup) == (
        "/slurm/uid_1000/job_7",
        "/slurm/uid_1000/job_7/step_batch",
    )


def test_a_group_kill_names_every_process_once_and_the_same_limit() -> None:
    first, second = kills(GROUP_OF_6_18)
    assert [first.pid, second.pid] == [696, 698]
    assert (first.limited_cgroup, first.cgroup) == ("/grp", "/grp")
    assert (second.limited_cgroup, second.cgroup) == ("/grp", "")


def test_a_kill_as_kernels_of_10_years_ago_report_it() -> None:
    text = (
        "Task in /LXC killed as a result of limit of /LXC\n"
        "Memory cgroup out of memory: Kill process 215701 (java) score 854 or sacrifice child\n"
        "Killed process 215701, UID 679, (java) total-vm:11017300kB, anon-rss:7152432kB, file-rss:1232kB\n"
    )
    (kill,) = kills(text)
    assert (kill.pid, kill.name, kill.constraint) == (215701, "java", "CONSTRAINT_MEMCG")


def test_a_kernel_that_calls_the_limit_of_a_cgroup_no_constraint_is_understood() -> None:
    (kill,) = kills(OF_6_18.replace("CONSTRAINT_MEMCG", "CONSTRAINT_NONE"))
    assert kill.constraint == "CONSTRAINT_MEMCG"


def test_two_kills_do_not_borrow_from_each_other() -> None:
    first, second = kills(OF_6_18 + GLOBAL_OF_5_15)
    assert (first.limited_cgroup, second.limited_cgroup) == ("/job", "")
    assert second.constraint == "CONSTRAINT_NONE"


def test_in_a_container_the_pids_of_the_host_say_nothing() -> None:
    log = understand(entries(OF_6_18), {20290}, has_host_pids=False)
    assert [kill.pid for kill in log.kills] == [0]
    assert log.kills[0].limited_cgroup == "/job"


@pytest.mark.parametrize(
    ("text", "kind", "pid", "number"),
    [
        (
            "NVRM: Xid (PCI:0000:00:06): 31, pid=485, name=python3, channel 0x2, MMU Fault: ENGINE GRAPHICS GPC3",
            "xid",
            485,
            31,
        ),
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", "xid", 0, 79),
        ("NVRM: Xid (PCI:0000:3b:00): 48, DBE (double bit error) ECC Error", "xid", 0, 48),
        ("python[7]: segfault at 0 ip 00007fc6c6d85ad8 sp 00007ffeb4904cf8 error 4 in libc.so.6", "fault", 7, 0),
        ("traps: python3[7] trap divide error ip:7f1 sp:7ff error:0 in x.so[7f1+1000]", "fault", 7, 0),
        ("traps: python[7] general protection fault ip:5 sp:7 error:0 in python3.11", "fault", 7, 0),
        (
            "__vm_enough_memory: pid: 7, comm: python, bytes: 35184372092928 not enough memory for the allocation",
            "refused",
            7,
            0,
        ),
        ("blk_update_request: I/O error, dev sda, sector 12345 op 0x0:(READ) flags 0x80700", "io", 0, 0),
        ("Buffer I/O error on dev dm-0, logical block 5, lost async page write", "io", 0, 0),
        ("nvme nvme0: I/O 123 QID 4 timeout, aborting", "io", 0, 0),
        ("critical medium error, dev sdb, sector 99 op 0x0:(READ)", "io", 0, 0),
        ("nfs: server nas not responding, still trying", "io", 0, 0),
        ("EXT4-fs error (device sda1): ext4_lookup:1785: inode #2: comm python", "file-system", 0, 0),
        ("EXT4-fs (sda1): Remounting filesystem read-only", "file-system", 0, 0),
        ("XFS (dm-0): Corruption of in-memory data detected.  Shutting down filesystem", "file-system", 0, 0),
        ("mce: [Hardware Error]: Machine check events logged", "hardware", 0, 0),
        ("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0", "hardware", 0, 0),
        ("Memory failure: 0x12345: Sending SIGBUS to python:7 due to hardware memory corruption", "hardware", 0, 0),
        ("mce: CPU3: Package temperature above threshold, cpu clock throttled", "hardware", 0, 0),
    ],
)
def test_lines_that_may_matter(text: str, kind: str, pid: int, number: int) -> None:
    log = understand([Entry(at_ns=5, text=text)], {7}, has_host_pids=True)
    assert log.lines == (KernelLine(at_ns=5, kind=kind, text=text, pid=pid, number=number),)


def test_the_fault_of_a_thread_is_that_of_its_process() -> None:
    text = "python[8]: segfault at 0 ip 00007fc6c6d85ad8 sp 00007ffeb4904cf8 error 4 in libc.so.6"
    log = understand([Entry(at_ns=5, text=text)], {7}, threads={8: 7}, has_host_pids=True)
    assert [line.pid for line in log.lines] == [7]


@pytest.mark.parametrize(
    "text",
    [
        "python[8]: segfault at 0 ip 00007fc6c6d85ad8 sp 00007ffeb4904cf8 error 4 in libc.so.6",
        "EXT4-fs (loop0): mounted filesystem 841bc9c3 r/w with ordered data mode. Quota mode: none.",
        "mce: CPU0: Thermal monitoring enabled (TM1)",
        "EDAC MC: Ver: 3.0.0",
        "loop0: detected capacity change from 0 to 131072",
        "Code: e1 ff ff ff c3 66 2e 0f 1f 84",
        "oom_reaper: reaped process 4711 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
    ],
)
def test_lines_of_others_and_of_everyday_are_left_out(text: str) -> None:
    assert understand([Entry(at_ns=5, text=text)], {7}, has_host_pids=True).lines == ()


def test_a_record_has_its_time_on_the_wall_clock() -> None:
    record = b"6,4112,11803923439,-,caller=T22803;python[22803]: segfault\n SUBSYSTEM=x\n"
    assert parse_record(record, 1_000) == Entry(at_ns=1_000 + 11803923439_000, text="python[22803]: segfault")


@pytest.mark.parametrize("record", [b"14,1,5,-;Out of memory: Killed process 7", b"", b"x,y;z", b"6,1;z"])
def test_what_a_program_wrote_into_the_log_is_not_believed(record: bytes) -> None:
    assert parse_record(record, 0) is None


def test_a_log_that_nobody_lets_us_read_says_what_would(tmp_path: Path) -> None:
    found = look(0, (), device=str(tmp_path / "kmsg"))
    assert isinstance(found, Unseen)
    assert found.because == "the Linux kernel log can't be read (No such file or directory)"
    assert "kernel.dmesg_restrict=0" in found.remedy


def test_only_what_is_newer_than_the_run_counts(tmp_path: Path) -> None:
    device = tmp_path / "kmsg"
    device.write_bytes(b"6,1,5,-;I/O error\n")
    found = look(0, (), device=str(device))
    assert not isinstance(found, Unseen)
    assert [line.kind for line in found.lines] == ["io"]
    later = look(1 << 62, (), device=str(device))
    assert not isinstance(later, Unseen)
    assert later.lines == ()


def test_a_fault_of_a_thread_that_is_gone_is_kept_without_its_pid_where_it_may_have_been_ours(tmp_path: Path) -> None:
    now_us = time.monotonic_ns() // 1000
    nobody = 1 << 22  # no process has such a pid
    text = "python[{pid}]: segfault at 0 ip 0f sp 7ffd00 error 4"
    (tmp_path / "kmsg").write_text(f"4,1,{now_us},-;{text.format(pid=nobody)}\n")

    def faults(*near_ns: int) -> list[int]:
        found = look(0, (), near_ns=near_ns, device=str(tmp_path / "kmsg"))
        assert isinstance(found, KernelLog)
        return [line.pid for line in found.lines]

    assert faults(time.time_ns()) == [0]
    assert faults(time.time_ns() - 60_000_000_000) == []


def test_the_system_journal_has_the_same_lines() -> None:
    text = (
        '{"__REALTIME_TIMESTAMP":"1794742428752929","_TRANSPORT":"kernel","SYSLOG_FACILITY":"0",'
        '"MESSAGE":"EXT4-fs error (device sda1): oh"}\n'
        '{"__REALTIME_TIMESTAMP":"1794742428752930","_TRANSPORT":"kernel","SYSLOG_FACILITY":"1","MESSAGE":"forged"}\n'
        '{"__REALTIME_TIMESTAMP":"1794742428752931","_SYSTEMD_UNIT":"earlyoom.service","SYSLOG_FACILITY":"3",'
        '"MESSAGE":"sending SIGTERM"}\n'
        '{"__REALTIME_TIMESTAMP":"1794742428752932","SYSLOG_FACILITY":"0","MESSAGE":[1,2]}\n'
        "-- No entries --\n"
    )
    found = parse_entries(text)
    assert [entry.text for entry in found] == ["EXT4-fs error (device sda1): oh", "sending SIGTERM"]
    assert found[0].at_ns == 1794742428752929000


def test_this_machine_answers_or_says_why_not() -> None:
    found = look(0, (os.getpid(),))
    assert not isinstance(found, Unseen) or found.remedy
