"""What other runs of a machine tell about it."""

from holter.catalog.read.sightings import LATER_NS, MOST_BOOTS, MOST_HOSTS, Sighting, Sightings
from holter.journal.digest import Digest
from holter.model.records import Beat, Opened

AT_NS = 1_800_000_000_000_000_000
S = 1_000_000_000


def digest(host: str = "node7", boot_id: str = "a", *, at_ns: int = AT_NS, up_s: int | None = None) -> Digest:
    opened = Opened(
        at_ns=at_ns, run="r", writer="sidecar", host=host, boot_id=boot_id, pid=1, process_started=1, holter="0"
    )
    beat = None if up_s is None else Beat(at_ns=at_ns, monotonic_ns=up_s * S, pids=())
    return Digest("j", opened, beat=beat)


def test_the_last_sign_of_each_boot_is_kept_whatever_the_order() -> None:
    sightings = Sightings()
    for later_s in (0, 90, 30):
        sightings.note(digest(at_ns=AT_NS + later_s * S))
    sightings.note(digest(boot_id="b", at_ns=AT_NS + 200 * S, up_s=50))
    sightings.note(digest(boot_id="b", at_ns=AT_NS + 210 * S))
    assert sightings.of("node7") == [
        Sighting("a", AT_NS + 90 * S),
        Sighting("b", AT_NS + 210 * S, booted_ns=AT_NS + 150 * S),
    ]
    assert sightings.of("node8") == []


def test_only_what_came_clearly_later_counts_as_later() -> None:
    sightings = Sightings()
    sightings.note(digest(at_ns=AT_NS))
    assert sightings.since("node7", AT_NS - LATER_NS) == frozenset()
    assert sightings.since("node7", AT_NS - LATER_NS - 1) == {"a"}


def test_who_has_no_name_or_boot_is_not_remembered() -> None:
    sightings = Sightings()
    sightings.note(digest(host=""))
    sightings.note(digest(boot_id=""))
    assert sightings.of("") == sightings.of("node7") == []


def test_memory_is_bounded_and_those_of_late_stay() -> None:
    sightings = Sightings()
    for number in range(MOST_HOSTS + 5):
        sightings.note(digest(host=f"node{number}"))
    for number in range(MOST_BOOTS + 3):
        sightings.note(digest(host="restless", boot_id=f"{number}"))
    assert sightings.of("node0") == []
    assert sightings.of(f"node{MOST_HOSTS + 4}") != []
    assert [each.boot_id for each in sightings.of("restless")] == [f"{number}" for number in range(3, MOST_BOOTS + 3)]
