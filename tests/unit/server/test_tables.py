"""Tables that rows hold, as the server tells them."""

import hashlib
from pathlib import Path

import msgspec

from holter.model.media_records import MediaItem
from holter.model.run_row import RunRow
from holter.server.domain.services import ServerSettings, Services
from holter.storage.media import MediaEntry
from holter.storage.places import Places
from tests.unit.server.asking import Asking


def test_a_table_is_that_of_its_run_whatever_its_file_is_called(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"one").hexdigest()
    item = MediaItem(digest=digest, ext="table.jsonl", meta='{"columns": [{"name": "a", "type": "text"}]}')
    services = Services(ServerSettings(data=str(tmp_path), kind="server", places=Places.at("memory:")), {})
    key = services.access.keys.add("ada", "write", now=1.0)[1]
    for run in ("r1", "r2"):
        data = f'["a"]\n["{run}"]\n'.encode()
        kept = hashlib.sha256(data).hexdigest()
        services.storage.blobs.stage(kept, data, offset=0)
        services.storage.blobs.seal(kept)
        services.storage.blobs.attach(run, {item.path: kept})
        entry = MediaEntry(key="t", step=1, logged_ns=1, type="table", data=msgspec.msgpack.encode([item]))
        services.storage.media.add(run, [entry])
    services.runs.put([RunRow(id=run, project="p") for run in ("r1", "r2")])
    with Asking(services) as asking:
        for run in ("r1", "r2"):
            answer = asking.ask("GET", f"/runs/{run}/table", key=key, params={"key": "t", "sort": "a"})
            assert answer.json()["rows"] == [[run]]
    services.close()
