"""The files of a run's directory that say again, for people and scripts, what its journals say."""

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from holter.catalog.change.json_text import to_json
from holter.catalog.change.yaml_text import to_yaml
from holter.catalog.read.definitions import amended
from holter.catalog.read.loaded_run import PROGRAM, described_as, merged_config, merged_facts, merged_summary, newest_of
from holter.journal.digest import Digest
from holter.journal.kept_files import free_bytes, replace_if_changed

# What always has room: it comes out of what rows leave to the records of how a run ended.
SMALL_BYTES = 16 << 10
_TITLE = "# Written from the journal whenever that changes: nobody reads what is edited here.\n"


def project(digests: list[Digest]) -> dict[str, bytes]:
    """The contents of `config.yaml`, `summary.json`, `metadata.json` and `requirements.txt` by name. Pure.

    Nothing for a run that has not begun; the last two only where somebody looked at the host.
    """
    programs = [each for each in digests if each.opened.writer in PROGRAM]
    if not programs:
        return {}
    texts = {
        "config.yaml": _TITLE + to_yaml(merged_config(programs) | amended(digests, "config")),
        "summary.json": to_json(merged_summary(programs) | amended(digests, "summary")),
    }
    facts = merged_facts(digests)
    if facts:
        packages = facts.pop("packages", None) or []
        texts["metadata.json"] = to_json({**_identity(programs), **facts})
        texts["requirements.txt"] = "".join(f"{package}\n" for package in packages)
    return {name: text.encode("utf-8", "replace") for name, text in texts.items() if text}


def write_files(directory: str, files: Mapping[str, bytes], *, limit_bytes: int = -1) -> None:
    """Replace those of the files that differ, each in one step; a long one only where the limit has room for it.

    Raises OSError.
    """
    for name, data in files.items():
        if len(data) <= SMALL_BYTES or len(data) <= free_bytes(directory, limit_bytes):
            replace_if_changed(os.path.join(directory, name), data)


def _identity(programs: list[Digest]) -> dict[str, Any]:
    opened, described = newest_of(programs).opened, described_as(programs)
    known: dict[str, Any] = {"run": opened.run, "attempt": opened.attempt, "pid": opened.pid, "holter": opened.holter}
    if described is not None:
        started = datetime.fromtimestamp(described.started_ns / 1e9, UTC)
        known |= {"project": described.project, "name": described.name, "started_at": started.isoformat()}
    return known
