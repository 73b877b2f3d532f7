"""The machine's memory, processors, pressure, network and disks."""

import math
import os
from pathlib import Path

import pytest

from holter.probes.live import disk, host, network, psi
from holter.probes.live.disk import DiskProbe
from holter.probes.live.host import HostProbe
from holter.probes.live.network import NetworkProbe
from holter.probes.live.psi import PressureProbe
from holter.probes.portable import PortableHostProbe
from tests.unit.probes.recordings import watch, write_files

HOST = {
    "meminfo": "MemTotal:       24684100 kB\nMemFree:        19223344 kB\nMemAvailable:   24229500 kB\n"
    "SwapCached:            0 kB\nSwapTotal:       2097148 kB\nSwapFree:        1048576 kB\n",
    "loadavg": "1.25 0.50 0.17 2/161 4242\n",
    "stat": "cpu  1000 50 500 8000 200 30 20 0 0 0\ncpu0 1000 50 500 8000 200 30 20 0 0 0\nintr 12345 0 0\n",
    "vmstat": "nr_free_pages 4805836\noom_kill 3\nballoon_inflate 0\n",
}
INTERFACES = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 9000 10 0 0 0 0 0 0 9000 10 0 0 0 0 0 0
  eth0: {} 161733 0 0 0 0 0 0 599606 8423 0 0 0 0 0 0
  eth1:77 1 0 0 0 0 0 0 33 1 0 0 0 0 0 0
"""  # noqa: E501  as the kernel prints it


def test_a_recorded_host_is_read(tmp_path: Path) -> None:
    row = HostProbe(write_files(tmp_path, HOST)).sample(watch(1))
    assert math.isnan(row.pop("host/cpu_percent"))
    assert row == {
        "host/memory_total_bytes": 24684100 * 1024,
        "host/memory_available_bytes": 24229500 * 1024.0,
        "host/swap_total_bytes": 2097148 * 1024,
        "host/swap_free_bytes": 1048576 * 1024,
        "host/load_1m": 1.25,
        "host/oom_kill": 3.0,
    }


def test_waiting_for_a_disk_is_not_being_busy(tmp_path: Path) -> None:
    probe = HostProbe(write_files(tmp_path, HOST))
    probe.sample(watch(1))
    write_files(tmp_path, {"stat": "cpu  1010 50 510 8050 230 30 20 0 0 0\n"})
    assert probe.sample(watch(1))["host/cpu_percent"] == 20.0


def test_a_kernel_that_does_not_count_kills_says_so(tmp_path: Path) -> None:
    proc = write_files(tmp_path, HOST | {"vmstat": "nr_free_pages 4805836\n"})
    assert math.isnan(HostProbe(proc).sample(watch(1))["host/oom_kill"])


def test_without_proc_psutil_is_asked_for_the_same_keys(tmp_path: Path) -> None:
    portable = host.open_probe(f"{tmp_path}/none")
    assert isinstance(portable, PortableHostProbe)
    row = portable.sample(watch(1))
    recorded = HostProbe(write_files(tmp_path, HOST)).sample(watch(1))
    assert {key: type(value) for key, value in row.items()} == {key: type(value) for key, value in recorded.items()}
    assert 0 < row["host/memory_available_bytes"] < row["host/memory_total_bytes"]


def test_recorded_pressure_is_read(tmp_path: Path) -> None:
    some = "some avg10={} avg60=0.38 avg300=0.17 total=2723149\n"
    full = "full avg10={} avg60=0.00 avg300=0.00 total=0\n"
    proc = write_files(
        tmp_path,
        {
            "pressure/cpu": some.format("0.96"),
            "pressure/io": some.format("5.00") + full.format("4.50"),
            "pressure/memory": some.format("61.20") + full.format("60.00"),
        },
    )
    row = PressureProbe(proc).sample(watch(1))
    assert math.isnan(row.pop("psi/cpu_full_avg10"))
    assert row == {
        "psi/cpu_some_avg10": 0.96,
        "psi/io_some_avg10": 5.0,
        "psi/io_full_avg10": 4.5,
        "psi/memory_some_avg10": 61.2,
        "psi/memory_full_avg10": 60.0,
    }


def test_the_loopback_does_not_count_as_network(tmp_path: Path) -> None:
    probe = NetworkProbe(write_files(tmp_path, {"net/dev": INTERFACES.format("244895384")}))
    assert probe.sample(watch(1)) == {"network/rx_bytes": 244895461.0, "network/tx_bytes": 599639.0}


def test_received_bytes_do_not_fall_when_an_interface_starts_anew(tmp_path: Path) -> None:
    probe = NetworkProbe(write_files(tmp_path, {"net/dev": INTERFACES.format("1000")}))
    probe.sample(watch(1))
    write_files(tmp_path, {"net/dev": INTERFACES.format("10")})
    assert probe.sample(watch(1))["network/rx_bytes"] == 1077


@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="not on this platform: it has no statvfs")
def test_the_run_directory_and_the_temporary_one_are_measured(tmp_path: Path) -> None:
    row = DiskProbe(temporary=str(tmp_path)).sample(watch(os.getpid(), directory=str(tmp_path)))
    real = os.statvfs(tmp_path)
    assert row["disk/run/total_bytes"] == real.f_blocks * real.f_frsize
    assert row["disk/tmp/total_bytes"] == row["disk/run/total_bytes"]
    assert 0 < row["disk/run/free_bytes"] < row["disk/run/total_bytes"]


def test_a_place_that_is_gone_keeps_its_keys(tmp_path: Path) -> None:
    row = DiskProbe(proc=str(tmp_path)).sample(watch(directory=f"{tmp_path}/gone"))
    assert [key for key in row if key.startswith(("disk/run/", "disk/cwd/")) and math.isnan(row[key])] == [
        "disk/run/free_bytes",
        "disk/run/total_bytes",
        "disk/run/free_inodes",
        "disk/cwd/free_bytes",
        "disk/cwd/total_bytes",
        "disk/cwd/free_inodes",
    ]


def test_what_only_linux_has_is_not_opened_elsewhere(tmp_path: Path) -> None:
    assert psi.open_probe(str(tmp_path)) is None
    assert network.open_probe(str(tmp_path)) is None
    assert disk.open_probe(str(tmp_path)) is not None
