"""The thread that hears the sidecar hears on, whatever it is asked."""

from holter.recording.sidecar_link import SidecarLink
from holter.recording.voice import Voice
from holter.wire.way_back import Here, WhereAreYou


def test_a_stack_that_is_no_text_ends_no_listening() -> None:
    link = SidecarLink(Voice(silent=True))
    link.where_we_are = lambda run: Here(directory="/runs/1", stack="thread MainThread:\n  /d\udcffta/train.py:1 main")
    link._understand(WhereAreYou(run="1"))
