"""The route table: what each resource offers, and how a request becomes a question and a result an answer."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal

import msgspec

from holter.errors import Refused
from holter.server.domain.services import Services
from holter.server.domain.visible import VisibleRuns
from holter.server.security.access import Visitor
from holter.server.security.audit import Act
from holter.server.security.rights import Rights

PREFIX = "/api/v1"
Needs = Literal["nothing", "read", "write", "admin"]
Body = Literal["none", "json", "bytes"]
Touches = Literal["server", "listing", "run", "own run", "runs", "every run", "arrival"]
"""What of the runs an answer has to do with: none of them; those that `Visit.runs` shows; the one that the question
names in `run`, which with `own run` its owner alone may change; those that it names in `runs`, of which with
`every run` all must be there; one that is sent."""


class Nothing(msgspec.Struct, frozen=True):
    """A question without parameters, an answer without content."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that is not JSON, or has headers of its own."""

    data: bytes = b""
    status: int = 200
    media: str = "application/json"
    headers: dict[str, str] = {}
    stream: AsyncIterator[bytes] | None = None


class Visit(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """Who asks, whom, and the bytes and headers that came with it. `visitor` is None only where nobody is needed."""

    services: Services
    visitor: Visitor | None
    data: bytes = b""
    headers: Mapping[str, str] = {}
    is_secure: bool = False
    address: str = ""
    """Where the request comes from, as far as limits go: of IPv6 only the network."""

    @property
    def who(self) -> Visitor:
        """The visitor of a route that needs one."""
        if self.visitor is None:
            raise Refused(401, "nobody has logged in")
        return self.visitor

    def note(self, act: str, /, **what: Any) -> None:
        """Write down in the audit what they did."""
        who = self.who
        self.services.audit.note(Act(at=self.services.now(), user=who.user, act=act, key=who.id, what=what))

    @cached_property
    def rights(self) -> Rights:
        """What they may do."""
        return self.services.access.rights(self.who)

    @cached_property
    def runs(self) -> VisibleRuns:
        """The runs that they may know of: whatever lists, counts or searches runs asks here, and not the storage."""
        return VisibleRuns(self.services.runs, self.rights)


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be asked for.

    The fields of `asked` stand in the path where it names them; the rest in the query, or in the JSON body.
    """

    method: str
    path: str
    """Below the prefix; `{run}` is one part of a path, `{path:path}` all that follows."""
    touches: Touches
    """By this `admission.perform` decides who may ask it."""
    answer: Callable[[Visit, Any], Any]
    """Called in a worker thread; its first line of documentation is the summary."""
    answer_all: Callable[[Sequence[tuple[Visit, Any]]], Sequence[object]] | None = None
    """Instead of `answer`, for many requests at once, in a thread of its own: an answer or an exception for each."""
    asked: type[msgspec.Struct] = Nothing
    result: Any = Nothing
    """The type of the answer, bytes for one that is not JSON."""
    needs: Needs = "read"
    act: str = ""
    """Its name in the audit, for what somebody may have to answer for."""
    body: Body = "none"
    media: str = "application/json"

    @property
    def path_names(self) -> list[str]:
        """The parameters in the path."""
        return [part.strip("{}").partition(":")[0] for part in self.path.split("/") if part.startswith("{")]


def read_asked(route: Route, *, path: Mapping[str, str], query: Mapping[str, str], data: bytes) -> msgspec.Struct:
    """The question of a request. Raises Refused."""
    fields = _field_names(route.asked)
    given: dict[str, Any] = {}
    unknown = [name for name in query if name not in fields]
    if unknown:
        named = [field.encode_name for field in msgspec.structs.fields(route.asked)]
        known = ", ".join(name for name in named if name not in route.path_names) or "none"
        raise Refused(400, f"there is no parameter {unknown[0][:100]!r} here", do=f"there are: {known}")
    try:
        if route.body == "json":
            given |= _json_object(data)
        given |= {**query, **path}
        return msgspec.convert(given, route.asked, strict=False)
    except msgspec.ValidationError as error:
        raise Refused(400, f"the request can't be understood: {error}", do=f"see {PREFIX}/openapi.json") from error


@cache
def _field_names(asked: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(field.encode_name for field in msgspec.structs.fields(asked))


def _json_object(data: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(data or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(400, f"the body is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused(400, f"the body must be a JSON object, not {type(found).__name__}")
    return found
