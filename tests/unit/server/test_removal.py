"""A run that died is deleted on request, and where it can't be yet, the reason is the true one."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holter.errors import Refused
from holter.model.records import Exited
from holter.probes.identity import identify
from holter.server.api import runs as module
from holter.server.api.runs import AskedRemoval, delete_run
from holter.server.domain.services import ServerSettings, Services
from holter.server.security.access import Visitor
from holter.server.transport.routing import Visit
from holter.storage.places import Places
from tests.unit.catalog.journals import BEGAN_NS, Journal, dead, named


@pytest.fixture
def sidecar() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives as long as it is let."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.fixture
def visit(tmp_path: Path, sidecar: subprocess.Popen[bytes]) -> Iterator[Visit]:
    """Somebody who looks at a run that was killed, and whose sidecar still asks why."""
    directory = tmp_path / "runs" / "r1"
    program = Journal(directory, dead()).say(named("n")).log(range(3)).close()
    writer = identify(sidecar.pid)
    assert writer is not None
    exited = Exited(at_ns=BEGAN_NS + 1, journal=program.id, pid=dead().pid, status=9, source="wait")
    Journal(directory, writer, kind="sidecar").say(exited).close()
    services = Services(ServerSettings(data=str(tmp_path), places=Places.at("memory:"), token="t"), {})
    services.open()
    yield Visit(services=services, visitor=Visitor(id="a", name="ada", scope="admin"))
    services.close()


def test_it_is_deleted_as_soon_as_its_sidecar_has_said_its_last_words(
    tmp_path: Path, visit: Visit, sidecar: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(seconds: float) -> None:
        sidecar.kill()
        sidecar.wait()

    monkeypatch.setattr("holter.server.api.runs.time.sleep", leave)
    delete_run(visit, AskedRemoval(run="r1"))
    assert not (tmp_path / "runs" / "r1").exists()


def test_one_whose_sidecar_does_not_leave_stays_and_it_is_said_why(
    tmp_path: Path, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LAST_WORDS_S", 0.0)
    with pytest.raises(Refused) as told:
        delete_run(visit, AskedRemoval(run="r1"))
    assert (told.value.status, told.value.do) == (409, "try again in a moment")
    assert "sidecar" in told.value.why
    assert (tmp_path / "runs" / "r1").exists()
