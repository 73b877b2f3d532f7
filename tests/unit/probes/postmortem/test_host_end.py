"""How the boot of a machine ended."""

from pathlib import Path

import pytest

from holter.model.evidence import HostEnd
from holter.probes.postmortem.host import (
    BOOT,
    RUN_LEVEL,
    UTMP,
    find_panic,
    first_end,
    look,
    parse_login_records,
    parse_panic,
)
from tests.unit.probes.recordings import write_files


def record(kind: int, user: str, at_s: int) -> bytes:
    return UTMP.pack(kind, 0, b"~", b"~~", user.encode(), b"6.1.0", 0, 0, 0, at_s, 0, b"", b"")


def test_a_login_record_has_the_size_that_glibc_gives_it() -> None:
    assert UTMP.size == 384


def test_login_records_are_taken_apart_and_a_torn_one_is_left_out() -> None:
    data = record(BOOT, "reboot", 100) + record(RUN_LEVEL, "shutdown", 200) + b"torn"
    assert parse_login_records(data) == [(BOOT, "reboot", 100), (RUN_LEVEL, "shutdown", 200)]


@pytest.mark.parametrize(
    ("records", "end"),
    [
        ([(BOOT, "reboot", 50), (7, "me", 60), (RUN_LEVEL, "shutdown", 200), (BOOT, "reboot", 220)], "clean"),
        ([(BOOT, "reboot", 50), (7, "me", 120), (BOOT, "reboot", 220)], "crash"),
        ([(BOOT, "reboot", 150), (RUN_LEVEL, "shutdown", 200), (BOOT, "reboot", 220)], "crash"),
        ([(RUN_LEVEL, "shutdown", 90), (BOOT, "reboot", 95)], ""),
        ([], ""),
    ],
    ids=["shut down", "not shut down", "the first boot after the run counts", "before the run", "no records"],
)
def test_how_the_boot_of_the_run_ended(records: list[tuple[int, str, int]], end: str) -> None:
    assert first_end(records, 100) == end


def test_another_boot_id_means_that_the_machine_was_started_again(tmp_path: Path) -> None:
    proc = write_files(tmp_path / "proc", {"sys/kernel/random/boot_id": "b\n", "stat": "cpu 1\nbtime 300\n"})
    records = tmp_path / "wtmp"
    records.write_bytes(record(BOOT, "reboot", 300))
    assert look("a", 100 * 10**9, proc=proc, records=str(records)) == HostEnd(
        boot_id="a", boot_id_now="b", booted_ns=300 * 10**9, last_shutdown="crash"
    )
    assert look("b", 100 * 10**9, proc=proc, records=str(records)) == HostEnd(
        boot_id="b", boot_id_now="b", booted_ns=300 * 10**9
    )


def test_the_reason_of_a_panic_is_found(tmp_path: Path) -> None:
    write_files(tmp_path, {"dmesg-efi-1": "<6>[   10.0] usb 1-1\n<0>[ 9999.1] Kernel panic - not syncing: sysrq\n"})
    assert find_panic([str(tmp_path)], 0) == "Kernel panic - not syncing: sysrq"
    assert find_panic([str(tmp_path)], 1 << 62) == ""
    assert find_panic([str(tmp_path / "none")], 0) == ""


def test_a_log_without_a_panic_has_no_reason() -> None:
    assert parse_panic(b"[ 1.0] all is well\n") == ""
