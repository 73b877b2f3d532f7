"""What a sidecar is told of the process that started it."""

import os
import sys

from holter.recording.spawning import sidecar_environment, told_command, without_command


def test_a_sidecar_knows_the_command_of_whoever_started_it_and_of_nobody_else() -> None:
    environ = sidecar_environment(os.getpid(), sys.orig_argv)
    assert told_command(environ, os.getpid()) == sys.orig_argv
    assert told_command(environ, os.getpid() + 1) is None
    assert told_command({}, os.getpid()) is None
    assert without_command(environ).keys() - {"PYTHONPATH"} == os.environ.keys() - {"PYTHONPATH"}
