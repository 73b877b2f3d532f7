"""Who sent a signal."""

from pathlib import Path

from holter.model.evidence import Sender, Unseen
from holter.probes.postmortem.sender import look
from tests.unit.probes.recordings import stat_line, write_files


def test_a_sender_has_a_command_a_parent_and_a_user(tmp_path: Path) -> None:
    proc = write_files(
        tmp_path,
        {
            "7/stat": stat_line(parent=5),
            "7/cmdline": "bash\0-c\0kill 42\0",
            "7/status": "Name:\tbash\nUid:\t0\t0\t0\t0\n",
            "5/comm": "sshd\n",
        },
    )
    assert look(7, proc) == Sender(pid=7, command="bash -c kill 42", parent="sshd", uid=0, user="root")


def test_one_that_is_gone_is_not_guessed(tmp_path: Path) -> None:
    assert look(7, str(tmp_path)) == Unseen(because="process 7, which sent the signal, is gone")
