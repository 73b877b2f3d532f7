"""Limits of time, room and rate, and the checks of every write, on a real server in this process."""

import contextlib
import functools
import http.client
import re
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import uvicorn

from holter.server.api import events
from holter.server.app import make_app
from holter.server.domain.services import ServerSettings, Services
from holter.server.process import byte_budget
from holter.server.route_table import load_routes
from holter.server.security.gate import SAFE
from holter.server.security.limits import Limiter, Rate
from holter.server.serving import PatientProtocol, listen
from holter.server.transport import answering
from holter.server.transport.routing import PREFIX, Route
from holter.storage.places import Places
from holter.wire.batches import Head, encode_batch
from tests.e2e.programs import wait_until

TOKEN = "t" * 64
AUTHORIZATION = {"authorization": f"Bearer {TOKEN}"}
OCTETS = {"content-type": "application/octet-stream"}
WRITES = [route for route in load_routes() if route.method not in SAFE]


class Door:
    """A server for one services, and how to reach it."""

    def __init__(self, services: Services, port: int) -> None:
        self.services = services
        self.port = port
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{port}{PREFIX}", headers=AUTHORIZATION, timeout=60)

    def begin(self, method: str, path: str, *, told: int, sent: bytes) -> http.client.HTTPConnection:
        """A request whose body does not come as a whole."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest(method, PREFIX + path)
        for name, value in {**AUTHORIZATION, **OCTETS, "content-length": str(told)}.items():
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(sent)
        return connection

    def other_key(self) -> dict[str, str]:
        """The header of somebody else."""
        made = self.http.post("/tokens", json={"name": "other", "scope": "write"}).json()
        return {"authorization": f"Bearer {made['key']}"}


@contextlib.contextmanager
def opened(data: Path) -> Iterator[Door]:
    services = Services(ServerSettings(data=str(data), places=Places.at("memory:"), token=TOKEN, user="ada"), {})
    door = listen("127.0.0.1", 0)
    protocol = functools.partial(PatientProtocol, crowd=services.crowd)
    config = uvicorn.Config(make_app(services), http=protocol, ws="none", log_config=None, lifespan="on")  # type: ignore[arg-type]  # it makes one
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        wait_until(lambda: server.started)
        found = Door(services, door.getsockname()[1])
        with found.http:
            yield found
    finally:
        services.changes.close()
        server.should_exit = True
        thread.join()
        services.close()
        door.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Door]:
    with opened(tmp_path / "data") as door:
        yield door


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Door]:
    with opened(tmp_path_factory.mktemp("limits") / "data") as door:
        yield door


def concrete(route: Route) -> str:
    """An address of a route."""
    return PREFIX + re.sub(r"\{\w+(:path)?\}", "x", route.path)


def bare(route: Route, content_type: str) -> dict[str, str]:
    return {**AUTHORIZATION, "content-type": content_type}


@pytest.mark.parametrize("route", WRITES, ids=lambda route: f"{route.method} {route.path}")
def test_no_other_page_reaches_any_route_that_writes(shared: Door, route: Route) -> None:
    kind = "application/json" if route.body != "bytes" else "application/octet-stream"
    address = f"http://127.0.0.1:{shared.port}{concrete(route)}"
    for headers, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"host": "evil.example"}, 421),
    ):
        answer = httpx.request(route.method, address, headers=bare(route, kind) | headers, content=b"{}")
        assert answer.status_code == status, headers
    if route.method == "DELETE":
        return  # a form can't send it
    for forms in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = httpx.request(route.method, address, headers=bare(route, forms), content=b"{}")
        assert answer.status_code == 415, forms


@pytest.mark.parametrize("route", WRITES, ids=lambda route: f"{route.method} {route.path}")
def test_no_cookie_alone_writes_anything(shared: Door, route: Route) -> None:
    if route.needs == "nothing":
        assert route.path in ("/login", "/logout", "/oidc/device", "/oidc/device/key")
        return
    session = shared.services.access.open_session(shared.services.access.check(TOKEN))  # type: ignore[arg-type]  # it is known
    kind = "application/json" if route.body != "bytes" else "application/octet-stream"
    headers = {"cookie": f"{shared.services.access.cookie}={session}", "content-type": kind}
    answer = httpx.request(route.method, f"http://127.0.0.1:{shared.port}{concrete(route)}", headers=headers)
    assert (answer.status_code, "X-Holter-CSRF" in answer.text) == (403, True)


def test_a_body_that_does_not_come_is_not_waited_for(served: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "BODY_WITHIN_S", 0.3)
    slow = served.begin("POST", "/ingest/r1/transcripts/output.log?offset=0", told=1000, sent=b"x")
    with contextlib.closing(slow):
        answer = slow.getresponse()
        assert (answer.status, b"did not arrive in time" in answer.read()) == (408, True)


def test_a_body_that_comes_by_the_byte_is_ended(served: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "SLOW_S", 0.5)
    slow = served.begin("POST", "/ingest/r1/transcripts/output.log?offset=0", told=10_000_000, sent=b"x")
    sent = 0
    with contextlib.closing(slow):
        assert slow.sock is not None
        while not select.select([slow.sock], [], [], 0.05)[0]:
            slow.send(b"x")
            sent += 1
        answer = slow.getresponse()
        assert (answer.status, answer.getheader("connection"), sent < 1000) == (408, "close", True)


def test_what_is_announced_and_not_sent_takes_no_room_from_others(served: Door) -> None:
    path = "/ingest/r1/transcripts/output.log?offset=0"
    with contextlib.ExitStack() as open_ones:
        for _ in range(8):
            begun = served.begin("POST", path, told=answering.MOST_BODY_BYTES, sent=b"x")
            open_ones.enter_context(contextlib.closing(begun))
        answer = served.http.post(path, content=b"y" * (8 << 20), headers=OCTETS)
        assert answer.status_code == 200


def test_one_key_has_half_of_the_room_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "HELD_BODY_BYTES", 1 << 20)
    monkeypatch.setattr(byte_budget, "WAITS_S", 0.3)
    path = "/ingest/r1/transcripts/output.log?offset=0"
    with opened(tmp_path / "data") as served:
        other = served.other_key()
        begun = [served.begin("POST", path, told=400_001, sent=b"x" * 400_000) for _ in range(2)]
        # At least one of the two waited for the other's room in vain.
        with contextlib.closing(begun[0]), contextlib.closing(begun[1]):
            ready, _, _ = select.select([each.sock for each in begun], [], [], 20)
            assert ready
            assert served.http.post(path, content=b"y" * 500_000, headers=OCTETS | other).status_code == 200


def test_whoever_asks_too_often_is_told_when_to_come_back_and_nobody_else_is(served: Door) -> None:
    served.services.requests = Limiter(Rate(per_s=1, burst=5))
    other = served.http.post("/tokens", json={"name": "other", "scope": "read"}).json()["key"]
    answers = [served.http.get("/runs") for _ in range(8)]
    assert [answer.status_code for answer in answers[:3]] == [200] * 3
    assert answers[-1].status_code == 429
    assert answers[-1].json()["error"]["what"] == "too many requests"
    wait_s = int(answers[-1].headers["retry-after"])
    assert served.http.get("/runs", headers={"authorization": f"Bearer {other}"}).status_code == 200
    time.sleep(wait_s + 0.1)
    assert served.http.get("/runs").status_code == 200


def test_only_so_many_streams_are_open_at_once(served: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_STREAMS", 2)
    with contextlib.ExitStack() as streams:
        lines = [streams.enter_context(served.http.stream("GET", "/events")).iter_lines() for _ in range(2)]
        assert [next(each)[:4] for each in lines] == ["id: "] * 2
        refused = served.http.get("/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "30")
    wait_until(lambda: served.services.changes.readers < 2)
    with served.http.stream("GET", "/events") as again:
        assert again.status_code == 200


def test_a_stranger_may_send_less_than_who_is_known(served: Door) -> None:
    body = b'{"key": "' + b"x" * answering.MOST_STRANGER_BYTES + b'"}'
    with httpx.Client(base_url=f"http://127.0.0.1:{served.port}{PREFIX}") as stranger:
        answer = stranger.post("/login", content=body, headers={"content-type": "application/json"})
        assert answer.status_code == 413
        chunked = stranger.post("/login", content=iter([body]), headers={"content-type": "application/json"})
        assert chunked.status_code == 413
        sends = stranger.post("/ingest/r1/transcripts/output.log?offset=0", content=b"x", headers=OCTETS)
        assert sends.status_code == 401


def test_where_too_much_is_on_its_way_the_next_is_sent_back_and_reading_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "HELD_BODY_BYTES", 1000)
    monkeypatch.setattr(byte_budget, "WAITS_S", 0.3)
    path = "/ingest/r1/transcripts/output.log?offset=0"
    with opened(tmp_path / "data") as served:
        others = OCTETS | served.other_key()
        slow = served.begin("POST", path, told=900, sent=b"x" * 890)
        with contextlib.closing(slow):
            wait_until(lambda: served.http.post(path, content=b"y" * 200, headers=others).status_code == 503)
            refused = served.http.post(path, content=b"y" * 200, headers=others)
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert served.http.post(path, content=b"y" * 50, headers=others).status_code == 200  # there is room for it
            assert served.http.get("/runs").status_code == 200
            slow.send(b"x" * 10)
            assert slow.getresponse().status == 200
        assert served.http.post(path, content=b"y" * 200, headers=OCTETS).status_code == 200


def test_who_goes_away_in_the_middle_leaves_its_room_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "HELD_BODY_BYTES", 1000)
    path = "/ingest/r1/transcripts/output.log?offset=0"
    with opened(tmp_path / "data") as served:
        for _ in range(3):
            gone = served.begin("POST", path, told=900, sent=b"x" * 890)
            assert gone.sock is not None
            gone.sock.shutdown(socket.SHUT_RDWR)
            gone.close()
        assert served.http.post(path, content=b"y" * 900, headers=OCTETS).status_code == 200


def test_strangers_who_say_nothing_leave_for_those_who_ask(served: Door) -> None:
    served.services.crowd._most, served.services.crowd._most_strangers = 80, 20
    with contextlib.ExitStack() as strangers:
        assert served.http.get("/runs").status_code == 200
        for _ in range(200):
            strangers.enter_context(socket.create_connection(("127.0.0.1", served.port)))
        # The connection of somebody who showed a key is still the same one; and somebody new finds a place.
        assert served.http.get("/runs").status_code == 200
        assert httpx.get(f"http://127.0.0.1:{served.port}{PREFIX}/runs", headers=AUTHORIZATION).status_code == 200
        wait_until(lambda: served.services.crowd.strangers <= 20)
        assert (served.services.crowd.known >= 1, served.services.crowd.refused) == (True, 0)


def test_where_everybody_is_busy_somebody_new_hears_it(served: Door) -> None:
    served.services.crowd._most = 2
    with served.http.stream("GET", "/events") as one, served.http.stream("GET", "/events") as other:
        lines = [each.iter_lines() for each in (one, other)]
        assert [next(each)[:4] for each in lines] == ["id: "] * 2
        refused = httpx.get(f"http://127.0.0.1:{served.port}{PREFIX}/info")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert refused.json()["error"]["what"] == "too many connections"


def test_where_places_run_out_senders_do_not_keep_theirs_until_they_come_back(served: Door) -> None:
    message = encode_batch(Head(id="1", ranges=[]), [])
    answers = []
    for most in (100, 1):
        served.services.crowd._most = most
        answers.append(served.http.post("/ingest/r1", content=message, headers=OCTETS))
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.headers.get("connection") for answer in answers] == [None, "close"]
    wait_until(lambda: served.services.crowd.known == 0)
