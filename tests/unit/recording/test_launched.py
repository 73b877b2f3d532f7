"""What a launcher tells the programs that it started."""

import os

import pytest

from holter.recording.launched import VARIABLE, Launched, as_variable, read_launched
from holter.recording.outlets import kind_of, stream_id


@pytest.mark.parametrize("captured", [(), ("1.2.3",), ("1.2.3", "4.5.6")])
def test_a_program_reads_what_its_launcher_wrote(captured: tuple[str, ...]) -> None:
    launched = Launched("run-1", "0f" * 16, captured)
    environ = {VARIABLE: as_variable(launched), "HOLTER_RUN_ID": "run-1"}
    assert read_launched(environ) == launched


@pytest.mark.parametrize(
    "environ",
    [{}, {VARIABLE: ""}, {VARIABLE: "run-1:j:"}, {VARIABLE: "run-1:j:", "HOLTER_RUN_ID": "mine"}],
)
def test_without_a_launcher_or_with_an_id_of_ones_own_there_is_none(environ: dict[str, str]) -> None:
    assert read_launched(environ) is None


def test_a_stream_is_known_by_what_is_behind_it() -> None:
    read, write = os.pipe()
    copy = os.dup(write)
    null = os.open(os.devnull, os.O_WRONLY)
    assert stream_id(copy) == stream_id(write) != stream_id(null)
    assert [kind_of(fd) for fd in (read, write, null)] == ["pipe", "pipe", "device"]
    for fd in (read, write, copy, null):
        os.close(fd)
    assert (stream_id(copy), kind_of(copy)) == ("", "closed")
