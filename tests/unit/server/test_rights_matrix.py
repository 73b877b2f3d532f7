"""Every route, for everybody, in every kind of project: who gets an answer, who is refused, who sees nothing at all."""

import asyncio
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from holter.artifacts.manifest import Manifest, content_digest, encode
from holter.artifacts.sealing import seal
from holter.artifacts.store import Store
from holter.artifacts.uploading import Batch
from holter.artifacts.wishes import Source, Wanted
from holter.model.media_records import HistogramLogged
from holter.model.records import Alerted, Finished, Flushed
from holter.server import api
from holter.server.api.events import AskedEvents
from holter.server.domain.services import ServerSettings, Services
from holter.server.route_table import load_routes
from holter.server.security.limits import Limiter, Rate
from holter.server.transport.admission import perform
from holter.server.transport.routing import Route, Visit
from holter.storage.places import Places
from holter.sweeps.configuration import read_configuration
from holter.sweeps.opening import begin_local
from holter.wire.batches import Head, encode_batch
from tests.clocks import FakeClock
from tests.e2e.programs import wait_until
from tests.unit.server.asking import Asking
from tests.unit.server.remote import RemoteJournal, send

# A file that was sent is closed when nothing refers to it any more.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
# There is no login server here.
LOGINS = ("/oidc/login", "/oidc/callback", "/oidc/device", "/oidc/device/key")
KINDS = ("open", "read-only", "private")
PEOPLE = {
    "stranger": None,
    "outsider who reads": ("olga", "read"),
    "outsider who writes": ("otto", "write"),
    "reader": ("rita", "write"),
    "writer": ("walt", "write"),
    "writer with a key to read": ("walt", "read"),
    "owner": ("oona", "write"),
    "admin": ("ada", "admin"),
    "guest": None,
    "guest of another run": None,
}
MEMBERS = {"rita": "reader", "walt": "writer", "oona": "writer"}
OK, NO, NOT_THERE, WHO = "answered", 403, 404, 401
CONFIGURATION = {
    "method": "random",
    "metric": {"name": "loss", "goal": "minimize"},
    "parameters": {"lr": {"min": 0.1, "max": 1.0}},
    "program": "train.py",
}
SEARCH = read_configuration(CONFIGURATION)
EMPTY = "answered without it"

# What each may do with a run of a project of each kind, in the order of PEOPLE.
EXPECTED: dict[str, dict[str, tuple[object, ...]]] = {
    "see": {
        "open": (WHO, OK, OK, OK, OK, OK, OK, OK, OK, NOT_THERE),
        "read-only": (WHO, OK, OK, OK, OK, OK, OK, OK, OK, NOT_THERE),
        "private": (WHO, NOT_THERE, NOT_THERE, OK, OK, OK, OK, OK, OK, NOT_THERE),
    },
    "list": {
        "open": (WHO, OK, OK, OK, OK, OK, OK, OK, OK, EMPTY),
        "read-only": (WHO, OK, OK, OK, OK, OK, OK, OK, OK, EMPTY),
        "private": (WHO, EMPTY, EMPTY, OK, OK, OK, OK, OK, OK, EMPTY),
    },
    "change": {
        "open": (WHO, NO, OK, OK, OK, NO, OK, OK, NO, NO),
        "read-only": (WHO, NO, NO, NO, OK, NO, OK, OK, NO, NO),
        "private": (WHO, NO, NOT_THERE, NO, OK, NO, OK, OK, NO, NO),
    },
    "own": {
        "open": (WHO, NO, NO, NO, OK, NO, OK, OK, NO, NO),
        "read-only": (WHO, NO, NO, NO, OK, NO, OK, OK, NO, NO),
        "private": (WHO, NO, NOT_THERE, NO, OK, NO, OK, OK, NO, NO),
    },
    # A run that is somebody else's is 409 for whoever sends, whatever its project: not a byte of it changes.
    "send": {
        "open": (WHO, NO, 409, 409, 409, NO, OK, 409, NO, NO),
        "read-only": (WHO, NO, 409, 409, 409, NO, OK, 409, NO, NO),
        "private": (WHO, NO, 409, 409, 409, NO, OK, 409, NO, NO),
    },
    # A sender that says its project first gets a run of its own where the id is somebody else's.
    "claim": {
        "open": (WHO, NO, OK, OK, OK, NO, OK, OK, NO, NO),
        "read-only": (WHO, NO, NO, NO, OK, NO, OK, OK, NO, NO),
        "private": (WHO, NO, NO, NO, OK, NO, OK, OK, NO, NO),
    },
    "share": {
        "open": (WHO, NO, OK, OK, OK, NO, OK, OK, NO, NO),
        "read-only": (WHO, NO, OK, OK, OK, NO, OK, OK, NO, NO),
        "private": (WHO, NO, NOT_THERE, OK, OK, NO, OK, OK, NO, NO),
    },
    # Whoever sees a project has views of their own of it; a link is nobody's.
    "keep": {
        "open": (WHO, OK, OK, OK, OK, OK, OK, OK, NO, NO),
        "read-only": (WHO, OK, OK, OK, OK, OK, OK, OK, NO, NO),
        "private": (WHO, NOT_THERE, NOT_THERE, OK, OK, OK, OK, OK, NO, NO),
    },
    # A link shows runs, and no artifacts or sweeps.
    "see artifacts": {
        "open": (WHO, OK, OK, OK, OK, OK, OK, OK, NOT_THERE, NOT_THERE),
        "read-only": (WHO, OK, OK, OK, OK, OK, OK, OK, NOT_THERE, NOT_THERE),
        "private": (WHO, NOT_THERE, NOT_THERE, OK, OK, OK, OK, OK, NOT_THERE, NOT_THERE),
    },
    "write at all": dict.fromkeys(KINDS, (WHO, NO, OK, OK, OK, NO, OK, OK, NO, NO)),
    "administer": dict.fromkeys(KINDS, (WHO, NO, NO, NO, NO, NO, NO, OK, NO, NO)),
    "be somebody": dict.fromkeys(KINDS, (WHO, OK, OK, OK, OK, OK, OK, OK, OK, OK)),
    "be anybody": dict.fromkeys(KINDS, (OK, OK, OK, OK, OK, OK, OK, OK, OK, OK)),
}

ROUTES: dict[str, str] = {
    "GET /info": "be anybody",
    "POST /login": "be anybody",
    "GET /oidc/login": "be anybody",
    "GET /oidc/callback": "be anybody",
    "POST /oidc/device": "be anybody",
    "POST /oidc/device/key": "be anybody",
    "POST /logout": "be somebody",
    "GET /causes": "be somebody",
    "GET /figures/plotly.js": "be somebody",
    "GET /figures/frame": "be somebody",
    "GET /axis": "be somebody",
    "GET /artifacts": "be somebody",
    "GET /artifact": "see artifacts",
    "GET /artifact/files": "see artifacts",
    "GET /artifact/preview": "see artifacts",
    "GET /artifact/content": "see artifacts",
    "GET /artifact/book": "see artifacts",
    "GET /artifact/manifest": "see artifacts",
    "GET /artifact/archive": "see artifacts",
    "POST /artifact/read": "see artifacts",
    "POST /artifact/use": "change",
    "PATCH /artifact/version": "change",
    "GET /sweeps": "be somebody",
    "GET /sweeps/{sweep}": "see artifacts",
    "GET /sweeps/{sweep}/configuration": "see artifacts",
    "POST /sweeps": "claim",
    "POST /sweeps/{sweep}/ask": "change",
    "POST /sweeps/{sweep}/word": "change",
    "POST /sweeps/{sweep}/trials": "change",
    "PATCH /sweeps/{sweep}": "change",
    "POST /artifact/alias": "change",
    "POST /artifact/missing": "claim",
    "POST /artifact/pieces": "claim",
    "POST /artifact/publish": "claim",
    "DELETE /artifact/version": "change",
    "POST /artifact/restore": "change",
    "GET /runs": "list",
    "GET /keys": "list",
    "GET /flushes": "list",
    "GET /resumes": "list",
    "GET /importance": "list",
    "GET /groups": "list",
    "GET /fields": "list",
    "GET /projects": "list",
    "GET /attention": "list",
    "GET /crashes": "list",
    "GET /deaths": "list",
    "GET /events": "list",
    "POST /series": "list",
    "GET /media": "list",
    "POST /media": "list",
    "POST /media/steps": "list",
    "POST /media/histograms": "list",
    "GET /series.csv": "list",
    "GET /runs/{run}": "see",
    "GET /runs/{run}/artifacts": "see",
    "GET /runs/{run}/checkpoints": "see",
    "GET /runs/{run}/console": "see",
    "GET /runs/{run}/files": "see",
    "GET /runs/{run}/table": "see",
    "GET /runs/{run}/files/{path:path}": "see",
    "GET /runs/{run}/health": "see",
    "GET /runs/{run}/keys": "see",
    "GET /runs/{run}/points": "see",
    "GET /runs/{run}/verdict": "see",
    "GET /runs/{run}/raised": "see",
    "PATCH /runs/{run}": "change",
    "POST /runs/{run}/marks": "change",
    "DELETE /runs/{run}/marks": "change",
    "POST /runs/{run}/silence": "change",
    "POST /runs/{run}/stop": "change",
    "DELETE /runs/{run}": "own",
    "PUT /runs/{run}/senders/{user}": "own",
    "DELETE /runs/{run}/senders/{user}": "own",
    "GET /ingest/{run}": "send",
    "POST /ingest/{run}": "send",
    "POST /ingest/{run}/restore": "send",
    "POST /ingest/{run}/journals/{journal}": "send",
    "POST /ingest/{run}/transcripts/{name}": "send",
    "PUT /ingest/{run}/files/{path:path}": "send",
    "POST /ingest/{run}/claim": "claim",
    "GET /views": "be somebody",
    "PATCH /views": "keep",
    "POST /views": "keep",
    "PATCH /views/{id}": "keep",
    "DELETE /views/{id}": "keep",
    "GET /shares": "write at all",
    "POST /shares": "share",
    "DELETE /shares/{id}": "write at all",
    "POST /deletions/{id}/undo": "write at all",
    "GET /me/tokens": "be somebody",
    "POST /me/tokens": "write at all",
    "DELETE /me/tokens/{id}": "write at all",
    "GET /audit": "administer",
    "GET /tokens": "administer",
    "POST /tokens": "administer",
    "DELETE /tokens/{id}": "administer",
    "GET /users": "administer",
    "POST /users": "administer",
    "PATCH /users/{name}": "administer",
    "GET /rights": "administer",
    "PATCH /rights/{project:path}": "administer",
}


class Server:
    """A real application with a run of the owner in a project of each kind, and a key for everybody."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.services = Services(ServerSettings(data=str(data), kind="server", places=Places.at("memory:")), {})
        self.keys: dict[str, str] = {}
        for who, known in PEOPLE.items():
            if known is not None:
                self.keys[who] = self.services.access.keys.add(known[0], known[1], now=1.0)[1]  # type: ignore[arg-type]
        self.journals: dict[str, RemoteJournal] = {}
        self.sweeps: dict[str, str] = {}
        links = {"guest": [f"{word}-{kind}" for kind in KINDS for word in ("run", "dead")]}
        for who, runs in {**links, "guest of another run": ["other"]}.items():
            self.keys[who] = self.services.access.accounts.add_share(runs, by="oona", now=1.0, expires_at=None)[1]
        self.services.failures = Limiter(Rate(1e6, 1e6))
        self.services.open()
        for kind in KINDS:
            self.services.access.accounts.change_project(kind, kind=kind, members=dict(MEMBERS))  # type: ignore[arg-type]
            self._send(f"run-{kind}", kind, exit_code=None)
            wanted = Wanted(project=kind, name="model", type="model", at_ns=1)
            seal(Store(str(data)), [Source("notes.txt", __file__)], wanted)
            self.sweeps[kind] = begin_local(str(data), SEARCH, project=kind, by="oona")
            self._send(f"dead-{kind}", kind, exit_code=1)
        wait_until(lambda: len(self.services.storage.runs.projects()) == len(KINDS))
        wait_until(lambda: all(self.services.runs.project_of(run) for run in self.journals))
        self._asking = Asking(self.services)

    def _send(self, run: str, kind: str, exit_code: int | None) -> None:
        """A run that died, or one that is alive: nothing that is asked of it here ends it."""
        at_ns = self.services.clock.now_ns()
        journal = RemoteJournal(self.data / "far" / run, run, clock=FakeClock(at_ns))
        journal.project = kind
        journal.describe()
        journal.log(3)
        journal.beat()
        journal.say(HistogramLogged(at_ns=at_ns, step=3, key="weights", counts=(1.0,), low=0.0, high=1.0))
        journal.say(Alerted(at_ns=at_ns, title=f"look at {kind}", text="", level="WARN"), Flushed(at_ns=at_ns, step=3))
        if exit_code is not None:
            journal.say(Finished(at_ns=at_ns, exit_code=exit_code))
        self.journals[run] = journal
        owner = self.services.access.check(self.keys["owner"])
        assert owner is not None
        self.services.arrivals.claim(owner, run, project=kind, journals=[journal.id])
        send(self.services.ingest, journal)
        self.services.ingest.accept_transcript(run, "output.log", offset=0, data=b"hello\n")
        self.services.follower.nudge()

    def ask(self, route: Route, who: str, run: str, project: str) -> httpx.Response:
        """One request as somebody would make it."""
        path, query, content, media = request_of(route, run, project, self.journals.get(run))
        path = path.replace("SWEEP", self.sweeps.get(project, "elsewhere"))
        headers = {"content-type": media} if content is not None else {}
        key = self.keys.get(who, "")
        return self._asking.ask(route.method, path, key=key, params=query, content=content, headers=headers)

    def close(self) -> None:
        self._asking.__exit__(None, None, None)
        self.services.close()


def request_of(
    route: Route, run: str, project: str, journal: RemoteJournal | None
) -> tuple[str, dict[str, Any], bytes | None, str]:
    """The address, the query, the body and its type: a question that would be answered where nobody is refused."""
    names = {"run": run, "path": "output.log", "journal": "0" * 32, "name": "output.log", "user": "guest", "id": "none"}
    names["sweep"] = "SWEEP"
    names["project"] = project
    if "{name}" in route.path and route.path.startswith("/users"):
        names["name"] = "nobody"
    path = re.sub(r"{(\w+)(:path)?}", lambda found: names[found[1]], route.path)
    version = {"project": project, "name": "model", "version": "v0"}
    queries: dict[str, dict[str, Any]] = {
        "/artifacts": {"project": project},
        "/artifact": {"project": project, "name": "model"},
        "/artifact/files": version,
        "/artifact/preview": {**version, "path": "notes.txt"},
        "/artifact/content": {**version, "path": "notes.txt"},
        "/artifact/book": {"project": project, "name": "model"},
        "/artifact/manifest": version,
        "/artifact/archive": version,
        "/artifact/version": version if route.method == "DELETE" else {},
        "/artifact/pieces": {"project": project},
        "/artifact/publish": {"project": project},
        "/keys": {"runs": run},
        "/flushes": {"runs": run},
        "/media": {"runs": run} if route.method == "GET" else {},
        "/resumes": {"runs": run},
        "/axis": {"x": "tokens / 1e6"},
        "/series.csv": {"runs": run, "keys": "loss", "name": "loss"},
        "/importance": {"project": project, "target": "summary.loss"},
        "/groups": {"project": project, "by": "project"},
        "/fields": {"project": project},
        "/runs": {"filter": f"id = '{run}'"},
        "/crashes": {"project": project},
        "/deaths": {"project": project},
        "/runs/{run}/table": {"key": "predictions"},
        "/runs/{run}/points": {"key": "loss"},
        "/views": {"project": project} if route.method == "GET" else {},
        "/views/{id}": {"project": project} if route.method == "DELETE" else {},
        "/ingest/{run}/journals/{journal}": {"offset": 0},
        "/ingest/{run}/transcripts/{name}": {"offset": 0},
        "/ingest/{run}/files/{path:path}": {"offset": 0, "total": 0, "sha256": hashlib.sha256(b"").hexdigest()},
    }
    bodies: dict[str, Any] = {
        "/series": {"runs": [run], "keys": ["loss"]},
        "/artifact/alias": {**version, "alias": "best"},
        "/sweeps": {"configuration": CONFIGURATION, "project": project},
        "/sweeps/{sweep}": {"act": "pause"},
        "/sweeps/{sweep}/ask": {"asker": {"id": "agent"}},
        "/sweeps/{sweep}/word": {"word": {"asker": {"id": "agent"}, "number": 1, "fence": 1}},
        "/sweeps/{sweep}/trials": {"params": {"lr": 0.5}},
        "/artifact/restore": version,
        "/artifact/version": version,
        "/artifact/use": {**version, "by": run},
        "/artifact/read": {**version, "pieces": [hashlib.sha256(Path(__file__).read_bytes()).hexdigest()]},
        "/artifact/missing": {"project": project, "pieces": []},
        "/media": {"runs": [run], "keys": ["weights"]},
        "/media/steps": {"runs": [run], "keys": ["weights"]},
        "/media/histograms": {"runs": [run], "key": "weights"},
        "/shares": {"runs": [run]},
        "/views": {"project": project, **({"name": "n", "settings": {}} if route.method == "POST" else {})},
        "/views/{id}": {"project": project},
        "/me/tokens": {"name": "mine", "scope": "read"},
        "/oidc/device/key": {"device_code": "none"},
        "/login": {"key": "hk_none_none"},
        "/runs/{run}/silence": {"guard": "leak"},
        "/runs/{run}/marks": {"state": "failed", "reason": "r"},
        "/tokens": {"name": "new", "user": "nobody"},
        "/users": {"name": "not a name"},
        "/users/{name}": {"scope": "read"},
        "/rights/{project:path}": {"members": {}},
        "/ingest/{run}/claim": {"project": project, "journals": [journal.id] if journal else []},
    }
    content = None
    media = "application/json"
    if route.body == "json":
        content = msgspec.json.encode(bodies.get(route.path, {}))
    elif route.body == "bytes":
        content, media = b"", "application/octet-stream"
        if route.path == "/artifact/publish":
            empty = Manifest(entries=())
            wanted = Wanted(project=project, name="empty", type="model", at_ns=1)
            content = msgspec.msgpack.encode(Batch(wanted, encode(empty), content_digest(empty.entries)))
        if route.path == "/ingest/{run}":
            content = encode_batch(Head(id="1", ranges=[]), [])
    return path, queries.get(route.path, {}), content, media


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("matrix") / "data")
    yield found
    found.close()


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


def test_every_route_says_what_it_touches_and_has_its_row_here() -> None:
    assert sorted(map(name_of, load_routes())) == sorted(ROUTES)
    for route in load_routes():
        fields = {field.name for field in msgspec.structs.fields(route.asked)}
        if route.touches in ("run", "own run", "arrival"):
            assert "run" in fields
            assert "{run}" in route.path
        elif route.touches in ("runs", "every run"):
            assert "runs" in fields
        else:
            assert "{run}" not in route.path
            assert "run" not in fields


def test_whatever_lists_runs_asks_for_those_that_may_be_seen() -> None:
    files = sorted(Path(api.__path__[0]).glob("*.py"))
    assert len(files) > 10
    around = re.compile(r"(storage|services)\.runs\.(query|groups|fields|projects|seen)")
    assert [path.name for path in files if around.search(path.read_text())] == []


# A live stream does not end: it has a test of its own.
ASKED = [route for route in load_routes() if route.path != "/events"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("route", ASKED, ids=map(name_of, ASKED))
def test_everybody_gets_what_is_theirs(server: Server, route: Route, kind: str) -> None:
    told = {who: told_by(server, route, who, kind) for who in PEOPLE}
    assert told == dict(zip(PEOPLE, EXPECTED[ROUTES[name_of(route)]][kind], strict=True))


def told_by(server: Server, route: Route, who: str, kind: str) -> object:
    """What somebody learns from an answer."""
    # Whoever claims has a run of that id from then on: one of its own.
    run = f"dead-{kind}" if ROUTES[name_of(route)] == "claim" else f"run-{kind}"
    answer = server.ask(route, who, run, kind)
    assert answer.status_code < 500, answer.text
    if is_refused(route, answer):
        return answer.status_code
    if ROUTES[name_of(route)] != "list":
        return OK
    return OK if tells_of(route, answer.content, kind) else EMPTY


def tells_of(route: Route, content: bytes, kind: str) -> bool:
    if route.path == "/keys":
        return b'"loss"' in content
    if route.path == "/media/steps":
        return b'"steps":[3]' in content
    if route.path == "/series.csv":
        return b"," in content
    if route.path == "/fields":
        return b'"summary.loss"' in content
    if route.path == "/importance":
        return b'"total":0' not in content
    return kind.encode() in content


def is_refused(route: Route, answer: httpx.Response) -> bool:
    """Whether the rights, and not something about the question, are the reason for an error."""
    if route.path in (
        "/login",
        "/tokens",
        "/tokens/{id}",
        "/shares/{id}",
        "/me/tokens/{id}",
        *LOGINS,
    ) and answer.status_code in (
        401,
        404,
    ):
        return "what" in answer.json()["error"] and answer.json()["error"]["what"] == "you are not logged in"
    if answer.status_code == 409:
        return "somebody else's" in answer.text
    if answer.status_code == 404 and re.search("there is no (view|table)", answer.text):
        return False
    return answer.status_code in (401, 403, 404)


SENDING = [route for route in load_routes() if ROUTES[name_of(route)] == "send" and route.body == "bytes"]


@pytest.mark.parametrize("route", SENDING, ids=map(name_of, SENDING))
def test_an_owner_who_may_not_send_to_the_project_any_more_is_refused(server: Server, route: Route) -> None:
    accounts = server.services.access.accounts
    accounts.change_project("read-only", members={"oona": None})
    try:
        assert server.ask(route, "owner", "run-read-only", "read-only").status_code == 403
    finally:
        accounts.change_project("read-only", members={"oona": "writer"})


@pytest.mark.parametrize("who", ["outsider who reads", "outsider who writes", "guest of another run"])
@pytest.mark.parametrize("route", ASKED, ids=map(name_of, ASKED))
def test_what_is_private_looks_like_what_is_not_there(server: Server, route: Route, who: str) -> None:
    if ROUTES[name_of(route)] in ("send", "claim"):
        return  # whoever sends learns that an id is taken, and gets another: nothing else of the run
    hidden = server.ask(route, who, "run-private", "private")
    absent = server.ask(route, who, "run-nowhere", "nowhere")
    assert hidden.status_code == absent.status_code
    of_hidden = told(hidden, "run-private", "private").replace(server.sweeps["private"], "elsewhere")
    assert of_hidden == told(absent, "run-nowhere", "nowhere")


def told(answer: httpx.Response, run: str, project: str) -> str:
    """An answer without what was asked for, and without the time."""
    text = answer.text.replace(run, "RUN").replace(f'"{project}"', "PROJECT").replace(f"'{project}'", "PROJECT")
    return re.sub(r'"(duration_s|last_used_at)":[\d.]+', "", text)


@pytest.mark.parametrize("who", [who for who in PEOPLE if who != "stranger"])
def test_a_live_stream_tells_everybody_what_they_may_see(
    server: Server, who: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holter.server.live.changes.KEEP_ALIVE_S", 0.2)  # all that comes to who may see nothing
    [route] = [route for route in load_routes() if route.path == "/events"]
    visitor = server.services.access.check(server.keys[who])
    assert visitor is not None

    async def listen() -> str:
        after = server.services.changes.seq
        for kind in (*KINDS, "open"):
            server.services.changes.note("rows", f"run-{kind}", project=kind, data={"run": f"run-{kind}"})
        reply = perform(route, Visit(services=server.services, visitor=visitor), AskedEvents(after=after))
        assert reply.stream is not None
        return str((await anext(reply.stream)).decode())

    told = asyncio.run(listen())
    expected = EXPECTED[ROUTES["GET /events"]]
    for kind in KINDS:
        is_told = expected[kind][list(PEOPLE).index(who)] == OK
        assert (f"run-{kind}" in told) == is_told


@pytest.mark.parametrize("who", PEOPLE)
def test_runs_that_can_not_be_read_are_told_to_those_who_may_see_them(server: Server, who: str) -> None:
    [route] = [route for route in load_routes() if route.path == "/info"]
    server.services.ingest.unreadable |= {f"run-{kind}": "damaged" for kind in KINDS} | {"run-nowhere": "damaged"}
    try:
        told = server.ask(route, who, "", "").json().get("unreadable", {})
    finally:
        server.services.ingest.unreadable.clear()
    place = list(PEOPLE).index(who)
    seen = {f"run-{kind}" for kind in KINDS if EXPECTED["see"][kind][place] == OK}
    assert told.keys() - {"run-nowhere"} == seen
    assert ("run-nowhere" in told) == (who in ("reader", "writer", "writer with a key to read", "owner", "admin"))
