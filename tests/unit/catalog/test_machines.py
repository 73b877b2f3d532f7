"""What other runs of a machine tell about it."""

from holter.catalog.read.machines import LATER_NS, MOST_BOOTS, MOST_HOSTS, Boot, Machines
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
    machines = Machines()
    for later_s in (0, 90, 30):
        machines.note(digest(at_ns=AT_NS + later_s * S))
    machines.note(digest(boot_id="b", at_ns=AT_NS + 200 * S, up_s=50))
    machines.note(digest(boot_id="b", at_ns=AT_NS + 210 * S))
    assert machines.of("node7") == [
        Boot("a", AT_NS + 90 * S),
        Boot("b", AT_NS + 210 * S, booted_ns=AT_NS + 150 * S),
    ]
    assert machines.of("node8") == []


def test_only_what_came_clearly_later_counts_as_later() -> None:
    machines = Machines()
    machines.note(digest(at_ns=AT_NS))
    assert machines.since("node7", AT_NS - LATER_NS) == frozenset()
    assert machines.since("node7", AT_NS - LATER_NS - 1) == {"a"}


def test_who_has_no_name_or_boot_is_not_remembered() -> None:
    machines = Machines()
    machines.note(digest(host=""))
    machines.note(digest(boot_id=""))
    assert machines.of("") == machines.of("node7") == []


def test_memory_is_bounded_and_those_of_late_stay() -> None:
    machines = Machines()
    for number in range(MOST_HOSTS + 5):
        machines.note(digest(host=f"node{number}"))
    for number in range(MOST_BOOTS + 3):
        machines.note(digest(host="restless", boot_id=f"{number}"))
    assert machines.of("node0") == []
    assert machines.of(f"node{MOST_HOSTS + 4}") != []
    assert [each.boot_id for each in machines.of("restless")] == [f"{number}" for number in range(3, MOST_BOOTS + 3)]
