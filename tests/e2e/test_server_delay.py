"""How soon the server answers."""

import time

import httpx

from tests.e2e.servers import API, ui

ASKED = 200
# With Nagle's delay each answer but the first on a connection takes the 40 ms that the reader's acknowledgement does.
AT_MOST_S = 0.03


def test_answers_on_a_kept_connection_do_not_wait_for_acknowledgements() -> None:
    with ui() as server, httpx.Client(base_url=server.address + API, headers=server.authorization) as kept:
        took_s(kept)
        # Any of them: other work on this machine slows some, and that delay would be in all of them.
        assert any(took_s(kept) < AT_MOST_S for _ in range(ASKED))


def took_s(kept: httpx.Client) -> float:
    began = time.perf_counter()
    assert kept.get("/info").status_code == 200
    return time.perf_counter() - began
