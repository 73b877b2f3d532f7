"""Processes of one run hand themselves over to one sidecar; nobody else's program gets to hear of it."""

import contextlib
import hashlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from holter.model.records import Exited
from holter.sidecar import sharing
from holter.wire.way_back import Upload, Watch
from tests.e2e.programs import data_directory, rows, said, sidecars, start, wait_until

NOBODY = 65534
LISTENS = f"""
import os, socket, sys
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
door = socket.socket(socket.AF_UNIX)
door.bind(b"\\0" + sys.argv[1].encode()); door.listen()
print("listening", flush=True)
while True:
    guest, _ = door.accept()
    data, fds, _, _ = socket.recv_fds(guest, 65536, 2)
    print(len(data), len(fds), flush=True)
"""
RANK = """
import os, time, holter
run = holter.init()
run.log({"rank": int(os.environ["RANK"])})
print("logged", flush=True)
time.sleep(60)
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="not on this platform: needs root, to become somebody else")


@contextlib.contextmanager
def stranger(name: str) -> Iterator[IO[str]]:
    """A program of another user that listens at an abstract address, and tells in lines what it was sent."""
    with subprocess.Popen([sys.executable, "-c", LISTENS, name], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        try:
            assert program.stdout.readline() == "listening\n"
            yield program.stdout
        finally:
            program.kill()


def test_a_stranger_who_took_the_name_that_a_run_would_have_gets_nothing_and_every_process_is_watched() -> None:
    directory = str(data_directory() / "runs" / "shared")
    digest = hashlib.sha256(os.path.realpath(directory).encode()).hexdigest()
    told = {"HOLTER_RUN_ID": "shared", "HOLTER_URL": "http://127.0.0.1:9", "HOLTER_API_KEY": "secret"}
    with stranger(f"holter/0/{digest[:32]}") as heard:
        with start(RANK, RANK="0", **told) as first:
            assert first.stdout is not None
            first.stdout.readline()
            wait_until(lambda: list(Path(directory).glob("sidecar-*.lock")))
            with start(RANK, RANK="1", **told) as second:
                assert second.stdout is not None
                second.stdout.readline()
                wait_until(lambda: any(_watches(each, first.pid, second.pid) for each in sidecars(directory)))
                second.kill()
            first.kill()
        wait_until(lambda: len(said(directory, Exited, "sidecar")) == 2)
        for sidecar in sidecars(directory):
            os.kill(sidecar, signal.SIGKILL)  # it would go on trying to reach the server
        assert select.select([heard], [], [], 0)[0] == []
    assert sorted(row.values["rank"] for row in rows(directory)) == [0, 1]


def _watches(sidecar: int, *pids: int) -> bool:
    """Whether it has a pidfd of each of these processes."""
    with contextlib.suppress(OSError):  # gone meanwhile
        told = "".join(path.read_text() for path in Path(f"/proc/{sidecar}/fdinfo").iterdir())
        return all(f"\nPid:\t{pid}\n" in told for pid in pids)
    return False


def test_a_stranger_who_has_the_leaders_own_address_gets_neither_a_byte_nor_a_descriptor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "HAND_OVER_WITHIN_S", 0.1)
    watch = Watch(
        run="r1",
        directory=str(tmp_path),
        journal="0" * 32,
        pid=os.getpid(),
        process_started=1,
        upload=Upload(url="http://127.0.0.1:9", key="secret"),
    )
    ours, theirs = socket.socketpair()
    lead = sharing.take_lead(str(tmp_path))
    assert lead is not None
    address = lead.listener.getsockname()
    lead.listener.close()  # as a leader that is just leaving: its lock is the last to go
    with ours, theirs, stranger(address[1:].decode()) as heard:
        assert sharing.hand_over(watch, ours, pidfd=-1) is None
        assert heard.readline() == "0 0\n"
    lead.close()


def test_the_address_of_a_leader_is_another_each_time_and_for_its_user_alone_to_read(tmp_path: Path) -> None:
    addresses = set()
    for _ in range(2):
        lead = sharing.take_lead(str(tmp_path))
        assert lead is not None
        addresses.add(lead.listener.getsockname())
        lead.close()
    (lock,) = tmp_path.glob("sidecar-*.lock")
    assert len(addresses) == 2
    assert lock.stat().st_mode & 0o777 == 0o600


def test_a_stranger_who_knocks_is_not_let_in(tmp_path: Path) -> None:
    lead = sharing.take_lead(str(tmp_path))
    assert lead is not None
    knock = f"""
import os, socket, sys
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
guest = socket.socket(socket.AF_UNIX); guest.connect(b"\\0" + sys.argv[1].encode())
socket.send_fds(guest, [b'{{"type": "watch"}}'], [0, 1])
"""
    name = lead.listener.getsockname()[1:].decode()
    subprocess.run([sys.executable, "-c", knock, name], check=True, timeout=30)
    before = os.listdir("/proc/self/fd")
    assert lead.accept() is None
    assert os.listdir("/proc/self/fd") == before
    lead.close()


def test_what_is_no_message_of_ours_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    lead = sharing.take_lead(str(tmp_path))
    assert lead is not None
    before = len(os.listdir("/proc/self/fd"))
    for message in (b"nonsense\n", b'{"type":"ended","journal":"x"}\n'):
        with socket.socket(socket.AF_UNIX) as guest:
            guest.connect(lead.listener.getsockname())
            socket.send_fds(guest, [message], [0, 1])
        assert lead.accept() is None
    assert len(os.listdir("/proc/self/fd")) == before
    lead.close()


def test_the_lead_is_free_again_once_it_was_given_away(tmp_path: Path) -> None:
    lead = sharing.take_lead(str(tmp_path))
    assert lead is not None
    assert sharing.take_lead(str(tmp_path)) is None
    lead.close()
    again = sharing.take_lead(str(tmp_path))
    assert again is not None
    again.close()
