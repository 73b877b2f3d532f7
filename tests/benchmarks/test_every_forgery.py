"""Every kind of forged record there is, with its verdict; `make test` tries some of each."""

from pathlib import Path

import pytest

from holter.model.clock import Clock
from holter.server.domain.services import ServerSettings, Services
from holter.server.ingest.rebuilding import rebuild
from holter.storage.opening import open_storage
from tests.unit.server.asking_all import Page
from tests.unit.server.forged_data import forge, is_well


@pytest.mark.timeout(1800)
def test_no_forged_record_harms_another_run(tmp_path: Path) -> None:
    forged = forge(tmp_path, every=1)
    assert forged.kinds > 2500
    services = Services(ServerSettings(data=forged.data, kind="server"), {})
    page = Page(services)
    for each in forged.runs:
        for route in page.of_a_run:
            page.ask(route, run=each.run)
        page.draw(each.run, "v")
    assert is_well(services.storage)
    services.close()
    url = f"sqlite:{tmp_path / 'again'}"
    rebuild(forged.data, url, clock=Clock())
    storage = open_storage(url)
    assert is_well(storage)
    storage.close()
