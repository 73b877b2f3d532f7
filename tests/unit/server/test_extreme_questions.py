"""Every parameter of every question at its extremes: it is answered or refused, and never the server's failure."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from holter.errors import HolterError
from holter.server.domain.services import ServerSettings, Services
from holter.server.route_table import load_routes
from holter.server.security.access import Visitor
from holter.server.transport.answering import respond
from holter.server.transport.problems import problem_of
from holter.server.transport.routing import Route, Visit, read_asked
from tests.unit.catalog.journals import Journal, elsewhere, named

NUMBERS = (-1, 0, 1 << 31, 1 << 53, (1 << 63) - 1, 1 << 63, -(1 << 63) - 1, 1 << 64, 10**40, 1e300, -1e300, 1e308, 0.5)
WORDS = ("nan", "inf", "-inf", "1e999", "", "x" * 3000)
TEXTS = ("", "\0", "\u202e", "x" * 3000, "a,b", "loss", "config.x", "step", "time", "relative", *map(str, NUMBERS))
FILTERS = (
    f"id in ({','.join('abc'[place % 3] for place in range(1900))})",
    f"config.a in ({','.join(map(str, range(900)))})",
    f"tags not in ({','.join(map(str, range(900)))})",
    " or ".join(["id=1"] * 490),
    " and ".join(["id!=1"] * 430),
    "not " * 48 + "id=1",
    "(" * 49 + "id=1" + ")" * 49,
    "not (id=1 and " * 48 + "id=1" + ")" * 48,
    "steps > 1e400 and started_at < -1e400 and last_step = 99999999999999999999999",
    "started_at > 9999-12-31",
    "started_at < 0001-01-01T00:00+14:00",
)
SORTS = (",".join(f"config.{name}" for name in range(400)), ",".join(["rows"] * 700))


@pytest.fixture(scope="module")
def visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    data = tmp_path_factory.mktemp("asked") / "data"
    place = data / "runs" / "r1"
    place.mkdir(parents=True)
    Journal(place, elsewhere()).say(named("far")).log(range(5)).close()
    services = Services(ServerSettings(data=str(data), kind="server"), {})
    services.follower._tick()
    yield Visit(services=services, visitor=Visitor(id="a", name="a", scope="admin"))
    services.close()


def answered(visit: Visit, route: Route, given: dict[str, Any]) -> int:
    """The status of the answer."""
    path = {name: str(given.pop(name, "r1")) for name in route.path_names}
    is_json = route.body == "json"
    query = {} if is_json else {name: str(value) for name, value in given.items()}
    try:
        data = msgspec.json.encode(given) if is_json else b""
        respond(route.answer(visit, read_asked(route, path=path, query=query, data=data)))
    except (HolterError, OSError) as error:
        return problem_of(error)[0]
    except Exception:  # noqa: BLE001  as the boundary of the server
        return 500
    return 200


def known(route: Route) -> dict[str, Any]:
    values = {"run": "r1", "runs": ["r1"] if route.body == "json" else "r1", "keys": ["loss"], "key": "loss"}
    names = [field.encode_name for field in msgspec.structs.fields(route.asked)]
    if route.body != "json":
        values["keys"] = "loss"
    return {name: values[name] for name in names if name in values}


def extremes(name: str, info: inspect.Type) -> tuple[Any, ...]:
    if name == "filter":
        return FILTERS
    if name == "sort":
        return SORTS
    match info:
        case inspect.UnionType():
            return tuple(value for inner in info.types for value in extremes(name, inner))
        case inspect.IntType() | inspect.FloatType():
            return (*NUMBERS, *WORDS)
        case inspect.StrType():
            return TEXTS
        case inspect.ListType():
            return ([], *([value] for value in extremes(name, info.item_type)))
        case inspect.DictType():
            return ({}, *({"r1": value} for value in extremes(name, info.value_type)))
    return ()


READING = [
    route
    for route in load_routes()
    if (route.method == "GET" and route.path != "/events")
    or route.path in ("/series", "/media", "/media/steps", "/media/histograms")
]


@pytest.mark.parametrize("route", READING, ids=lambda route: f"{route.method} {route.path}")
def test_no_question_is_the_servers_failure(visit: Visit, route: Route) -> None:
    failed = [
        (field.encode_name, value)
        for field in msgspec.structs.fields(route.asked)
        for value in extremes(field.encode_name, inspect.type_info(field.type))
        if answered(visit, route, {**known(route), field.encode_name: value}) >= 500
    ]
    assert failed == []


@pytest.mark.parametrize("x", ["step", "time", "relative", "loss"])
def test_a_part_of_an_axis_that_is_nowhere_near_is_empty_and_one_around_all_is_all(visit: Visit, x: str) -> None:
    route = next(route for route in READING if route.path == "/series")
    for first, last in ((-1e308, 1e308), (-1e300, 1e19), (1e19, 1e300)):
        given = {"runs": ["r1"], "keys": ["loss"], "x": x, "from": first, "to": last, "buckets": 2}
        assert answered(visit, route, given) == 200


def test_a_list_of_a_thousand_names_finds_the_one_that_is_there(visit: Visit) -> None:
    route = next(route for route in READING if route.path == "/runs")
    names = ",".join([*(f"a{number}" for number in range(500)), "r1"])
    asked = read_asked(route, path={}, query={"filter": f"id in ({names})"}, data=b"")
    assert [run.id for run in route.answer(visit, asked).runs] == ["r1"]
