"""What a process was near to running out of when it was last seen."""

from pathlib import Path

from holter.model.evidence import Disk, Surroundings
from holter.probes.postmortem.surroundings import look, measure_again, read_limits, read_outputs, with_outputs

LIMITS = b"""\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              60                   unlimited            seconds
Max file size             unlimited            unlimited            bytes
Max data size             unlimited            unlimited            bytes
Max stack size            8388608              unlimited            bytes
Max open files            1024                 524288               files
Max address space         4294967296           unlimited            bytes
"""
ROW = {
    "system/disk/cwd/free_bytes": 0.0,
    "system/disk/cwd/total_bytes": 1000.0,
    "system/disk/cwd/free_inodes": float("nan"),
    "system/disk/shm/free_bytes": 5.0,
    "system/disk/shm/total_bytes": float("nan"),
    "system/cgroup/pids_current": 99.0,
    "system/cgroup/pids_max": 100.0,
    "system/host/memory_available_bytes": 7.0,
}


def test_the_last_samples_and_the_limits_are_put_together() -> None:
    found = look(
        ROW,
        LIMITS,
        paths={"cwd": "/home/me", "shm": "/dev/shm"},
        process={"open_files": 1020.0, "address_space_bytes": 4e9},
    )
    assert found == Surroundings(
        disks=(Disk(path="/home/me", what="working directory", free_bytes=0, total_bytes=1000),),
        open_files=1020,
        open_files_limit=1024,
        threads=99,
        threads_limit=100,
        address_space_bytes=4_000_000_000,
        address_space_limit_bytes=4294967296,
        stack_limit_bytes=8388608,
        cpu_limit_s=60,
        memory_available_bytes=7,
    )


def test_what_was_never_sampled_is_not_known() -> None:
    assert look({}, b"", paths={}, process={}) == Surroundings()


def test_a_process_that_is_gone_has_no_limits() -> None:
    assert read_limits(1, proc="/nowhere") == b""


def test_a_disk_that_has_filled_up_since_the_last_sample_is_seen(tmp_path: Path) -> None:
    roomy = Disk(path=str(tmp_path), free_bytes=1 << 62, total_bytes=1 << 62)
    full = Disk(path=str(tmp_path), free_bytes=0, total_bytes=1 << 62)
    gone = Disk(path=str(tmp_path / "gone"), free_bytes=7)

    found = measure_again(Surroundings(disks=(roomy, full, gone))).disks

    assert found is not None
    assert [disk.free_bytes for disk in found[1:]] == [0, 7]
    assert 0 < (found[0].free_bytes or 0) < 1 << 62


def test_files_into_which_it_prints_are_found_and_pipes_and_terminals_are_none(tmp_path: Path) -> None:
    links = tmp_path / "7" / "fd"
    links.mkdir(parents=True)
    (links / "1").symlink_to("/scratch/train.log")
    (links / "2").symlink_to("/dev/pts/3")
    (tmp_path / "8" / "fd").mkdir(parents=True)
    (tmp_path / "8" / "fd" / "1").symlink_to("pipe:[12345]")
    assert read_outputs(7, str(tmp_path)) == ("/scratch/train.log",)
    assert read_outputs(8, str(tmp_path)) == ()
    assert read_outputs(9, str(tmp_path)) == ()


def test_the_disks_of_outputs_are_measured(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("loss 0.1")
    found = with_outputs(Surroundings(), [str(log), str(tmp_path / "gone")])
    assert [(disk.path, disk.what, disk.file_bytes) for disk in found.disks or ()] == [(str(log), "output", 8)]
