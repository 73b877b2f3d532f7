"""The route table and the document that is made from it."""

import inspect
import re

import msgspec
import pytest

from holter.errors import (
    DigestMismatch,
    FilterError,
    HolterError,
    NoRun,
    OffsetGap,
    Refused,
    StorageDamaged,
    StorageFull,
    UsageError,
)
from holter.server.route_table import load_routes
from holter.server.security.gate import SAFE
from holter.server.serving import MOST_HEADER_BYTES
from holter.server.transport.openapi import make_document
from holter.server.transport.problems import problem_of
from holter.server.transport.routing import Nothing, Route, read_asked

ROUTES = load_routes()
NAMES = [f"{route.method} {route.path}" for route in ROUTES]
OPEN = {
    "GET /info",
    "POST /login",
    "GET /oidc/login",
    "GET /oidc/callback",
    "POST /oidc/device",
    "POST /oidc/device/key",
}
READS_BY_POST = {"POST /series", "POST /logout", "POST /media", "POST /media/steps", "POST /media/histograms"}
READS_BY_POST |= {"POST /artifact/read"}
# Whoever sees a project has views of their own; the right to change the team's is asked for behind the door.
OWN_VIEWS = {"PATCH /views", "POST /views", "PATCH /views/{id}", "DELETE /views/{id}"}


def test_every_route_is_there_once() -> None:
    assert len(set(NAMES)) == len(NAMES) > 25


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_whatever_changes_something_needs_the_right_to_write(route: Route) -> None:
    name = f"{route.method} {route.path}"
    if name in OPEN:
        assert route.needs == "nothing"
    elif route.method in SAFE or name in READS_BY_POST | OWN_VIEWS:
        assert route.needs in ("read", "write", "admin")
    else:
        assert route.needs in ("write", "admin")


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_every_parameter_of_a_path_is_one_of_the_question(route: Route) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(route.asked)}
    assert set(route.path_names) <= fields
    assert inspect.getdoc(route.answer)


def test_the_document_is_whole() -> None:
    document = make_document(ROUTES)
    text = msgspec.json.encode(document).decode()
    references = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert references <= set(document["components"]["schemas"])
    assert len([1 for path in document["paths"].values() for _ in path]) == len(ROUTES)
    ids = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    assert len(set(ids)) == len(ids)


class Question(msgspec.Struct, rename={"first": "from"}):
    run: str
    first: int = 0
    tags: list[str] = []


def asked(body: bytes = b"", **query: str) -> msgspec.Struct:
    route = Route(
        method="POST",
        path="/runs/{run}/x",
        touches="run",
        answer=lambda visit, asked: Nothing(),
        asked=Question,
        body="json",
    )
    return read_asked(route, path={"run": "r1"}, query=query, data=body)


def test_a_question_comes_from_path_query_and_body() -> None:
    assert asked(b'{"tags": ["a"]}', **{"from": "3"}) == Question("r1", 3, ["a"])


def test_the_path_has_the_last_word_on_what_it_names() -> None:
    assert asked(b'{"run": "other"}') == Question("r1")


@pytest.mark.parametrize(
    ("body", "query"),
    [(b"{", {}), (b"[1]", {}), (b'{"tags": 3}', {}), (b"", {"from": "x"}), (b"", {"unknown": "1"}), (b"\xff", {})],
)
def test_what_cannot_be_understood_is_refused(body: bytes, query: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        asked(body, **query)
    assert refused.value.status == 400


@pytest.mark.parametrize(
    ("error", "status", "retry_s"),
    [
        (NoRun("x"), 404, None),
        (UsageError("x"), 400, None),
        (FilterError("x", 3), 400, None),
        (OffsetGap("x", 5), 409, None),
        (DigestMismatch("x"), 422, None),
        (StorageFull("x"), 503, 30),
        (StorageDamaged("x"), 503, 30),
        (Refused(429, "x", retry_s=2), 429, 2),
        (OSError(28, "No space left on device"), 503, 30),
        pytest.param(OSError(24, "Too many open files"), 503, 30, id="too-many-open-files"),
        (FileNotFoundError(2, "No such file"), 404, None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_error_has_a_status_and_one_shape(error: HolterError | OSError, status: int, retry_s: int | None) -> None:
    found, problem, wait_s = problem_of(error)
    assert (found, wait_s) == (status, retry_s)
    assert {"what", "why", "do"} <= set(msgspec.json.decode(problem.encode())["error"])


@pytest.mark.parametrize("route", [route for route in ROUTES if route.method == "GET"], ids=lambda route: route.path)
def test_what_a_question_may_hold_fits_into_its_address(route: Route) -> None:
    """Each character may be four bytes, and each byte three characters; a longer address has no answer of ours."""
    for field in msgspec.structs.fields(route.asked):
        told = msgspec.json.schema(field.type)
        assert 12 * told.get("maxLength", 0) < MOST_HEADER_BYTES, field.name
