"""Which file system was full, and whether a mapped file had become shorter."""

import pytest

from holter.diagnosis import spaces
from holter.model.evidence import Disk, Surroundings
from tests.causes.specimens import caught, evidence, exited, raised

MAPPED = "100000-200000 rw-s 00001000 00:28 2 /data/a.npy"


@pytest.mark.parametrize(
    ("free_bytes", "total_bytes", "is_full"),
    [(0, 10**12, True), (10**6, 10**12, True), (10**8, 10**12, False), (2**20, 2**22, False), (4096, 2**22, True)],
)
def test_a_full_disk_may_have_some_blocks_left(free_bytes: int, total_bytes: int, is_full: bool) -> None:
    assert spaces.is_full(Disk(path="/", free_bytes=free_bytes, total_bytes=total_bytes)) == is_full


def test_a_disk_that_does_not_count_inodes_has_not_run_out_of_them() -> None:
    assert not spaces.is_out_of_inodes(Disk(path="/", free_inodes=0, total_inodes=0))
    assert not spaces.is_out_of_inodes(Disk(path="/"))
    assert spaces.is_out_of_inodes(Disk(path="/", free_inodes=0, total_inodes=100))


def test_the_disk_of_the_named_file_comes_first_and_shared_memory_never() -> None:
    disks = (
        Disk(path="/dev/shm", what="shared memory", free_bytes=0, total_bytes=2**26),
        Disk(path="/tmp", free_bytes=0, total_bytes=2**30),
        Disk(path="/data", free_bytes=0, total_bytes=2**30),
    )
    seen = evidence(exited(1), surroundings=Surroundings(disks=disks))
    assert spaces.full_disk(seen, "/data/a.npy") == disks[2]
    assert spaces.full_disk(seen) == disks[1]


def test_a_disk_with_less_than_was_wanted_has_no_room() -> None:
    disk = Disk(path="/data", free_bytes=2**22, total_bytes=2**22)
    assert not spaces.has_no_room(disk)
    assert spaces.has_no_room(disk, 2**25)


@pytest.mark.parametrize(("file_bytes", "is_cut"), [(0, True), (0x2000, True), (0x40000, False), (None, None)])
def test_a_fault_behind_the_end_of_the_file_means_that_it_was_cut(file_bytes: int | None, is_cut: bool | None) -> None:
    disk = Disk(path="/data/a.npy", what="mapped file", file_bytes=file_bytes)
    assert spaces.is_cut(disk, caught(7, code=2, address=0x110000, mapping=MAPPED)) is is_cut


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("[Errno 28] No space left on device: '/scratch/a b.pt'", "/scratch/a b.pt"),
        ("unable to allocate shared memory(shm) for file </torch_1>", "/torch_1"),
        ("nothing about a file", ""),
    ],
)
def test_the_file_of_an_exception_is_found_in_its_message(message: str, path: str) -> None:
    assert spaces.path_of(raised("OSError", message)) == path
