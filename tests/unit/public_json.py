"""Every JSON that tells of runs, for runs of all kinds, with what differs from one time to the next taken out.

`python -m tests.unit.public_json` writes what `test_public_json.py` expects: only where a change of it is meant.
"""

import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from holter.api.recorded_runs import Api
from holter.catalog import catalog
from holter.catalog.read.loaded_run import read_digests
from holter.cli.main import main
from holter.journal.digest import Digest
from holter.model.records import (
    KERNEL,
    Alerted,
    Beat,
    Configured,
    Described,
    Edited,
    Exited,
    Facts,
    Finished,
    KernelAsked,
    Launched,
    Marked,
    Masked,
    Preempting,
    Raised,
    Summarised,
)
from holter.probes.identity import ProcessIdentity
from holter.server.domain.services import ServerSettings, Services
from holter.server.ingest.followed_run import Change, FollowedRun
from holter.storage.places import Places
from tests.unit.catalog.journals import BEGAN_NS, Journal, age, alive, dead, elsewhere
from tests.unit.server.asking import Asking

EXPECTED = Path(__file__).with_name("public_json.json")
SECOND = 1_000_000_000
END_NS = BEGAN_NS + 60 * SECOND
ODD = "unreadable"
PASSING = (
    "pid boot_id process_started pid_namespace used_bytes bytes freed_bytes hours_lost heard_at ahead_s seq"
    " title confidence"
).split()
KEY = "a" * 40
FACTS = {"os": "Debian", "command": ["python", "train.py"], "cwd": "/work", "git": {"commit": "0" * 40, "branch": "b"}}
ASKED = {
    "table": "/runs?columns=config.lr,summary.loss,summary.odd,notes,tags,config,heard_at,because&limit=100",
    "by loss": "/runs?sort=-summary.loss,name&columns=summary.loss&limit=3",
    "dead": "/runs?filter=state in (crashed, failed) and config.lr > 0&sort=ended_at",
    "of a project": "/runs?project=notebooks",
    "long": "/runs?filter=duration_s > 50 and tags = best or kind = x&limit=0",
    "no such column": "/runs?columns=nam",
    "projects": "/projects",
    "attention": "/attention",
    "crashes": "/crashes",
    "keys": "/keys",
}


class _Made:
    """Journals below one data directory."""

    def __init__(self, data: Path) -> None:
        self.data = data

    def program(self, run: str, process: ProcessIdentity, **more: Any) -> Journal:
        labels = {name: more.pop(name) for name in ("project", "tags", "group", "notes", "job_type") if name in more}
        described = Described(
            at_ns=BEGAN_NS,
            name=f"the {run}",
            started_ns=BEGAN_NS,
            **{"project": "tests", **labels},
            kind=more.pop("of", ""),
        )
        journal = Journal(self.data / "runs" / run, process, **more).say(described)
        return journal.say(Configured(at_ns=BEGAN_NS, config={"lr": 0.1, "net": {"depth": 4}, "list": [1, None]}))

    def ended(
        self, run: str, journal: Journal, process: ProcessIdentity, *, status: int | None, after_s: int = 0
    ) -> None:
        source = "wait" if status is not None else "gone"
        exited = Exited(
            at_ns=END_NS + after_s * SECOND, journal=journal.close().id, pid=process.pid, status=status, source=source
        )
        sidecar = Journal(self.data / "runs" / run, process, kind="sidecar")
        sidecar.say(Facts(at_ns=BEGAN_NS, facts=FACTS), exited).close()


def make_runs(data: Path) -> None:
    """A run of each kind."""
    made, gone = _Made(data), dead()
    running = made.program("running", alive(), tags=("best", "new"), group="g", notes="n", job_type="train")
    running.say(Alerted(at_ns=BEGAN_NS, title="loss is high", text="NaN soon", level="WARN")).log(range(5))
    running.say(Summarised(at_ns=BEGAN_NS, summary={"best": 0.1, "odd": float("nan"), "text": "t"}))
    running.say(Masked(at_ns=BEGAN_NS, counts={"password in config": 2}))
    made.program("finished", gone, tags=("best",)).log(range(3), loss=float("inf"), acc=1).say(
        Finished(at_ns=END_NS, exit_code=0)
    ).close()
    raised = Raised(at_ns=END_NS, type="ValueError", message="odd", traceback="Traceback …")
    made.ended("failed", made.program("failed", gone).log(range(-2, 4), loss=0.5).say(raised), gone, status=256)
    made.ended("crashed", made.program("crashed", gone).log([7, 3]), gone, status=9)
    made.ended("unknown", made.program("unknown", gone), gone, status=None)
    stopped = made.program("stopped", gone).log(range(2)).say(Finished(at_ns=END_NS, exit_code=0, how="context"))
    made.ended("stopped", stopped, gone, status=0)
    made.ended("preempted", made.program("preempted", gone).say(Preempting(at_ns=END_NS)), gone, status=15)
    first = made.program("resumed", gone).log(range(4))
    made.ended("resumed", first, gone, status=9)
    second = made.program("resumed", gone, attempt=2).log(range(3, 9)).say(Finished(at_ns=END_NS + SECOND, exit_code=0))
    second.close()
    for rank in (1, 0):
        ranked = made.program("ranks", gone, rank=rank).log(range(2 + rank))
        made.ended("ranks", ranked, gone, status=6 if rank else 256, after_s=1 - rank)
    asked = KernelAsked(at_ns=END_NS - 1, kind="shutdown", is_busy=True)
    made.ended("kernel", made.program("kernel", gone, of=KERNEL, project="notebooks").say(asked), gone, status=0)
    launched = Launched(at_ns=BEGAN_NS, pid=gone.pid, process_started=gone.started, command=("sh", "-c", "exit 3"))
    command = made.program("command", alive(), kind="launcher").say(launched)
    made.ended("command", command, gone, status=768)
    made.ended("marked", made.program("marked", gone), gone, status=9)
    word = Marked(at_ns=END_NS, state="failed", reason="wrong data", by="ada")
    edited = Edited(at_ns=END_NS, by="ada", name="another name", notes="new notes", tags=("kept",))
    Journal(data / "runs" / "marked", gone, kind="command").say(word, edited).close()
    made.program("marked-well", gone).say(Finished(at_ns=END_NS, exit_code=0)).close()
    Journal(data / "runs" / "marked-well", gone, kind="command").say(word).close()
    Journal(data / "runs" / "nameless", gone).log(range(2)).say(Finished(at_ns=END_NS, exit_code=1)).close()
    silent = made.program("silent", elsewhere()).log(range(2)).close()
    Journal(data / "runs" / "silent", elsewhere(), kind="sidecar").say(
        Beat(at_ns=END_NS, monotonic_ns=1, pids=(elsewhere().pid,)), Facts(at_ns=END_NS, facts=FACTS)
    ).close()
    assert silent.id
    made.program(ODD, gone).log(range(2)).close()
    for run in os.listdir(data / "runs"):
        age(data / "runs" / run, seconds=3000 if run != "running" else 1)


@contextlib.contextmanager
def failing_over(run: str) -> Iterator[None]:
    """For want of records over which holter fails today, it is made to fail over those of one run."""
    read = FollowedRun.read

    def load_or_fail(directory: str) -> list[Digest]:
        if directory.endswith(run):
            raise OverflowError("too large")
        return read_digests(directory)

    def read_or_fail(self: FollowedRun, *args: Any, **more: Any) -> Change:
        if self.run == run:
            raise OverflowError("too large")
        return read(self, *args, **more)

    catalog.read_digests, FollowedRun.read = load_or_fail, read_or_fail  # type: ignore[method-assign, attr-defined]
    try:
        yield
    finally:
        catalog.read_digests, FollowedRun.read = read_digests, read  # type: ignore[method-assign, attr-defined]


def answers(data: Path) -> dict[str, Any]:
    """What every door says of the runs."""
    runs = sorted(os.listdir(data / "runs"))
    readable = [run for run in runs if run != ODD]
    with failing_over(ODD):
        found = _of_the_server(data, runs)  # first: whoever looks by command completes what is missing
        found["ls"], found["ls again"] = _told("ls"), _told("ls")
        found["ls --kernels"] = _told("ls", "--kernels")
        found["gc"] = _told("gc", "--state", "crashed", "--dry-run")
        found["show"] = {run: _told("show", run) for run in readable}
        api = Api(directory=data)
        found["Api().runs"] = [run.fields for run in api.runs(sort="name")]
        found["Api().runs of dead"] = [
            run.id for run in api.runs("tests", "state in (failed, crashed) and rows > 0", sort="-last_step, id")
        ]
        found["Api().run"] = {run: api.run(run).fields for run in readable}
    return {name: _steady(answer, data) for name, answer in _apart(found)}


def _apart(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """An answer on many runs as many: that makes a difference easy to see."""
    for name, answer in found.items():
        runs = answer.get("runs", answer) if isinstance(answer, dict) else answer
        if name in ("run", "show", "Api().run", "schemas"):
            yield from ((f"{name} {run}", each) for run, each in runs.items())
        elif isinstance(runs, list) and all(isinstance(each, dict) for each in runs):
            yield f"{name}: ids", [each.get("id") for each in runs]
            yield from ((f"{name} {place}", each) for place, each in enumerate(runs))
        else:
            yield name, answer


def _of_the_server(data: Path, runs: list[str]) -> dict[str, Any]:
    services = Services(ServerSettings(data=str(data), places=Places.at(f"sqlite:{data}/index"), token=KEY), {})
    try:
        services.ingest.catch_up()
        with Asking(services) as asking:
            found: dict[str, Any] = {name: asking.ask("GET", path, key=KEY).json() for name, path in ASKED.items()}
            found["run"] = {run: asking.ask("GET", f"/runs/{run}", key=KEY).json() for run in runs}
            schemas = asking.ask("GET", "/openapi.json", key=KEY).json()["components"]["schemas"]
            found["schemas"] = {
                name: schemas[name] for name in ("RunBrief", "RunDetail", "RunTable", "Attention", "Group")
            }
    finally:
        services.close()
    return found


def _told(*command: str) -> dict[str, Any]:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert main([*command, "--json"]) == 0
    return dict(json.loads(printed.getvalue()))


def _steady(value: object, data: Path, name: str = "") -> object:
    match value:
        case dict():
            found = {key: _steady(each, data, key) for key, each in value.items()}
            # What passes while it runs, or while nobody has heard of it.
            if "colour" in found:  # depends on those who began at the same time
                found["colour"] = "…"
            if found.get("ended_at", 0) is None and found.get("duration_s") != "0":
                found["duration_s"] = "…"
            return found
        case list() | tuple():
            steady = [_steady(each, data, name) for each in value]
            return sorted(steady, key=json.dumps) if name in ("processes", "exits") else steady  # of the same moment
        case float() if value > 1e9:
            return f"began {value - BEGAN_NS / 1e9:+.2f} s" if abs(value - BEGAN_NS / 1e9) < 500 else "some time"
        case int() if value > 1e18:
            return f"began {(value - BEGAN_NS) / 1e9:+.2f} s"
        case int() | float() | str() if name in PASSING and value:
            return "…"
        case float():
            return "NaN" if value != value else f"{value:.6g}"
        case str():
            return _text(value, data)
    return value


def _text(value: str, data: Path) -> str:
    known = {dead().host: "HOST", str(dead().pid): "PID", str(elsewhere().pid): "PID"}
    value = value.replace(str(data), "DATA")
    for text, word in known.items():
        value = re.sub(rf"\b{re.escape(text)}\b", word, value)
    value = re.sub(r"\b[0-9a-f]{32}\b", "JOURNAL", value)
    return re.sub(r"[\d,.]+ (s|GB|GiB|MB)\b", r"… \1", value)


def write() -> None:
    """Keep what is answered now as what is expected."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOLTER_DIR"] = folder
        make_runs(Path(folder))
        found = answers(Path(folder))
    lines = [f"{json.dumps(name)}: {json.dumps(answer, ensure_ascii=False)}" for name, answer in found.items()]
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
