"""The disk and the length of a file in which a bus error was."""

from pathlib import Path

from holter.model.evidence import Disk, Surroundings
from holter.probes.postmortem.surroundings import with_mapped_files


def test_a_mapped_file_is_measured(tmp_path: Path) -> None:
    file = tmp_path / "a b.npy"
    file.write_bytes(bytes(5000))
    found = with_mapped_files(Surroundings(), [f"7f00-7fff rw-s 00000000 00:28 2 {file}"])
    [disk] = found.disks or ()
    assert (disk.path, disk.what, disk.file_bytes) == (str(file), "mapped file", 5000)
    assert disk.free_bytes is not None


def test_what_is_gone_or_no_file_is_left_out(tmp_path: Path) -> None:
    before = Surroundings(disks=(Disk(path="/"),))
    lines = [
        "7f00-7fff rw-p 00000000 00:00 0",
        "",
        "7f00-7fff rw-p 0 00:00 0 [heap]",
        f"1-2 rw-s 0 0:1 2 {tmp_path}/gone",
    ]
    assert with_mapped_files(before, lines) == before
