"""How soon the server answers."""

import time

from tests.e2e.servers import ui

ASKED = 20
# With Nagle's delay each answer but the first on a connection takes the 40 ms that the reader's acknowledgement does.
AT_MOST_S = 0.03


def test_answers_on_a_kept_connection_do_not_wait_for_acknowledgements() -> None:
    with ui() as server:
        server.get("/info")
        took = []
        for _ in range(ASKED):
            began = time.perf_counter()
            server.get("/info")
            took.append(time.perf_counter() - began)
    # The quickest: other work on this machine slows some of them, and that delay would be in all of them.
    assert min(took) < AT_MOST_S
