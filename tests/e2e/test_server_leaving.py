"""A server that is asked to leave leaves, whatever it is in the middle of."""

import signal
import time

from tests.e2e.programs import data_directory, wait_until
from tests.e2e.servers import ui
from tests.unit.catalog.journals import Journal, dead, named

KEYS = 60_000
WITHIN_S = 20.0


def test_a_row_of_very_many_keys_does_not_make_it_deaf_to_sigterm() -> None:
    directory = data_directory() / "runs" / "wide"
    Journal(directory, dead()).say(named("wide")).log([0], **{f"key {number}": 1.0 for number in range(KEYS)}).close()
    with ui() as served:
        wait_until(lambda: served.state("wide"), within_s=60)
        asked_at = time.monotonic()
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(60) == 0
        assert time.monotonic() - asked_at < WITHIN_S
