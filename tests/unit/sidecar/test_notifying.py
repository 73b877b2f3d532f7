"""Whom the sidecar of a run tells."""

from pathlib import Path

import pytest

from holter.model.clock import Clock
from holter.model.records import Noted
from holter.sidecar.notifying import Notifier
from holter.wire.way_back import Watch

TARGETS = """
[[target]]
kind = "ntfy"
name = "phone"
url = "http://127.0.0.1:9/topic"

[[target]]
kind = "command"
command = ["true"]
"""


@pytest.mark.parametrize(("is_offline", "told"), [(False, ["ntfy", "command"]), (True, ["command"])])
def test_offline_nothing_goes_over_the_network(tmp_path: Path, is_offline: bool, told: list[str]) -> None:
    (tmp_path / "alerts.toml").write_text(TARGETS)
    (tmp_path / "run").mkdir()
    watch = Watch(
        run="1",
        directory=str(tmp_path / "run"),
        journal="",
        pid=1,
        process_started=0,
        alerts=str(tmp_path),
        is_offline=is_offline,
    )
    said: list[object] = []
    notifier = Notifier(watch, said.append, clock=Clock())
    notifier.finish()
    notifier._thread.join()
    assert notifier._outbox is not None
    assert [target.kind for target, _ in notifier._outbox._gates] == told
    assert [each.text.partition(" can ")[0] for each in said if isinstance(each, Noted)] == (
        ["offline: phone"] if is_offline else []
    )
