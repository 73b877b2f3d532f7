"""Output on its way from one descriptor to another, and what is left of it when whoever moves it is gone."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.console.claims import LAUNCHER, SIDECAR, Claims, make_claims
from holter.console.envelope import Envelope
from holter.console.files import STDOUT, claim_name
from holter.console.pump import Flow, Pump, open_sink
from holter.console.transcript import TranscriptWriter
from holter.model.clock import Clock


class Side:
    """One of the two processes that can move, here both in one; the envelope is the launcher's."""

    def __init__(self, claims_fd: int, directory: Path, side: int, *, source: int, sink: int) -> None:
        self.claims = Claims(os.open(f"/proc/self/fd/{claims_fd}", os.O_RDWR))
        writer = TranscriptWriter(str(directory), "output", limit_bytes=1 << 20, clock=Clock())
        self.flow = Flow(
            os.dup(source),
            os.dup(sink),
            stream=STDOUT,
            areas=(self.claims.area(side, 0), self.claims.area(1 - side, 0)),
            envelope=Envelope.seal(source, sink),
        )
        self.pump = Pump([self.flow], writer, claims=self.claims)

    def close(self) -> None:
        self.flow.close()
        self.flow.envelope.close()
        self.pump._transcript.close()
        self.claims.close()

    def move(self) -> None:
        for _ in range(4):
            self.pump.move(self.pump.wait(0))


class Scene:
    """A program's end, a reader's end, and both sides."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        claim_name(str(directory))
        source, self.program = os.pipe()
        self.reader, sink = os.pipe()
        os.set_blocking(sink, False)
        os.set_blocking(self.reader, False)
        claims_fd = make_claims()
        self.launcher = Side(claims_fd, directory, LAUNCHER, source=source, sink=sink)
        self.sidecar = Side(claims_fd, directory, SIDECAR, source=source, sink=sink)

    def read(self) -> bytes:
        try:
            return os.read(self.reader, 1 << 20)
        except BlockingIOError:
            return b""

    @property
    def kept(self) -> bytes:
        return (self.directory / "output.log").read_bytes()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.launcher.close()
    scene.sidecar.close()


def test_what_the_program_prints_is_handed_on_and_kept(scene: Scene) -> None:
    os.write(scene.program, b"hello")
    scene.launcher.move()
    assert (scene.read(), scene.kept) == (b"hello", b"hello")
    assert scene.launcher.pump.is_drained()


def test_whoever_comes_next_goes_on(scene: Scene) -> None:
    for side, text in ((scene.launcher, b"one "), (scene.sidecar, b"two "), (scene.launcher, b"three")):
        os.write(scene.program, text)
        side.move()
    assert (scene.read(), scene.kept) == (b"one two three",) * 2


def test_a_chunk_that_was_read_and_not_noted_is_found(scene: Scene) -> None:
    os.write(scene.program, b"before ")
    scene.launcher.move()
    os.write(scene.program, b"read")
    os.readv(scene.launcher.flow.source, scene.launcher.flow.area._buffers)  # killed right here
    scene.sidecar.move()
    assert (scene.read(), scene.kept) == (b"before read",) * 2


def test_a_chunk_that_was_noted_and_not_handed_on_is_found(scene: Scene) -> None:
    scene.launcher.move()
    os.write(scene.program, b"read")
    scene.launcher.flow.pull()  # killed right here
    scene.sidecar.move()
    assert (scene.read(), scene.kept) == (b"read",) * 2


def test_a_chunk_that_was_handed_on_and_not_kept_is_kept(scene: Scene) -> None:
    scene.launcher.move()
    os.write(scene.program, b"read")
    scene.launcher.flow.pull()
    scene.launcher.flow.push(lambda: True)  # killed right here
    os.write(scene.program, b" more")
    scene.sidecar.move()
    assert (scene.read(), scene.kept) == (b"read more",) * 2


def test_a_chunk_that_was_kept_is_not_kept_twice(scene: Scene) -> None:
    scene.launcher.move()
    os.write(scene.program, b"read")
    flow = scene.launcher.flow
    flow.pull()
    flow.area.note_keeping(0)
    scene.launcher.pump._transcript.append(b"re", STDOUT)  # killed in the middle of it
    scene.sidecar.move()
    assert (scene.read(), scene.kept) == (b"read",) * 2


def test_one_who_wakes_up_in_the_middle_does_not_go_on_with_what_another_took_over(scene: Scene) -> None:
    scene.launcher.move()
    os.write(scene.program, b"read")
    scene.launcher.flow.pull()  # stopped right here
    scene.sidecar.move()
    scene.launcher.flow.push(scene.launcher.pump._is_ours)
    scene.launcher.flow.keep(scene.launcher.pump._transcript, scene.launcher.pump._is_ours)
    scene.launcher.move()
    assert (scene.read(), scene.kept) == (b"read",) * 2


def test_a_full_reader_is_waited_for_and_nothing_more_is_read_meanwhile(scene: Scene) -> None:
    total = b""
    os.set_blocking(scene.program, False)
    while True:
        try:
            os.write(scene.program, b"x" * 4096)
            total += b"x" * 4096
        except BlockingIOError:
            scene.launcher.move()
            if len(total) > 1 << 18 or scene.launcher.flow.is_pending:
                break
    assert scene.launcher.flow.is_pending
    read = b""
    while len(read) < len(total):
        read += scene.read()
        scene.launcher.move()
    assert (read, scene.kept) == (total, total)


def test_the_program_is_told_when_nobody_reads_any_more(scene: Scene) -> None:
    scene.launcher.move()
    scene.sidecar.flow.close()
    os.close(scene.reader)
    scene.launcher.move()
    assert scene.launcher.flow.is_broken


def test_the_end_is_handed_on_too(scene: Scene) -> None:
    os.write(scene.program, b"last")
    os.close(scene.program)
    scene.launcher.move()
    assert not scene.launcher.pump.is_open
    assert scene.read() == b"last"


def test_an_envelope_keeps_ends_open_until_it_is_emptied() -> None:
    source, program = os.pipe()
    reader, sink = os.pipe()
    envelope = Envelope.seal(source, sink)
    os.close(source)
    os.close(sink)
    os.write(program, b"not broken")
    for _ in range(2):
        ends = envelope.peek()
        assert ends is not None
        for fd in ends:
            os.close(fd)
    envelope.discard()
    assert envelope.take() is None
    assert os.read(reader, 1) == b""
    with pytest.raises(BrokenPipeError):
        os.write(program, b"x")
    envelope.close()
    os.close(program)
    os.close(reader)


def test_a_sink_does_not_block_and_leaves_the_flags_of_others_alone() -> None:
    reader, theirs = os.pipe()
    ours = open_sink(theirs)
    assert (os.get_blocking(theirs), os.get_blocking(ours)) == (True, False)
    for fd in (reader, theirs, ours):
        os.close(fd)
