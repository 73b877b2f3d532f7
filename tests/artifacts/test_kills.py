"""A sample of `python -m benchmarks.artifact_kills`: nothing torn, nothing lost, nothing left over."""

from pathlib import Path

from benchmarks.artifact_kills import kill_often, shared_places


def test_whoever_is_killed_versions_are_whole_or_absent(tmp_path: Path) -> None:
    found = kill_often(tmp_path, rounds=6, seed=3)
    assert set(found.killed) == {"client", "worker", "server"}
    assert (found.torn, found.lost, found.orphans) == (0, 0, 0)
    assert found.versions_here == found.versions_there > 0


def test_whichever_of_two_servers_is_killed_versions_are_whole_or_absent(tmp_path: Path) -> None:
    with shared_places() as shared:
        found = kill_often(tmp_path, rounds=6, seed=3, shared=shared)
    assert (found.torn, found.lost, found.orphans) == (0, 0, 0)
    assert found.versions_here == found.versions_there > 0
