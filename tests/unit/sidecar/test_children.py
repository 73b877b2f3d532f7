"""What the sidecar calls a child."""

from pathlib import Path

import pytest

from holter.sidecar.children import MOST_COMMAND, read_command


@pytest.mark.parametrize(
    ("cmdline", "comm", "command"),
    [
        (b"python\0train.py\0", b"python\n", "python train.py"),
        (b"upload\0--api-key\0hunter2\0--token=abc\0", b"upload\n", "upload --api-key … --token=…"),
        (b"x" * 1000, b"x\n", "x" * MOST_COMMAND),
        (b"", b"sh\n", "[sh]"),
        (b"caf\xe9\0", b"caf\xe9\n", "caf\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_command_is_bounded_and_without_secrets(tmp_path: Path, cmdline: bytes, comm: bytes, command: str) -> None:
    process = tmp_path / "7"
    process.mkdir()
    (process / "cmdline").write_bytes(cmdline)
    (process / "comm").write_bytes(comm)
    assert read_command(7, proc=str(tmp_path)) == command


def test_a_process_that_is_gone_has_no_command(tmp_path: Path) -> None:
    assert read_command(7, proc=str(tmp_path)) == ""
