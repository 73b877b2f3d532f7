"""What other runs of a machine tell about it: whether it lives on, or began anew, while one of its runs fell silent."""

import threading
from collections import OrderedDict

import msgspec

from holter.catalog.read.loaded_run import LoadedRun, newest_clients
from holter.journal.digest import Digest
from holter.model.evidence import Evidence, HostEnd

MOST_HOSTS, MOST_BOOTS = 10_000, 8
# A sign of life that came so much later than the last one of a run is none that was on its way with it.
LATER_NS = 60_000_000_000
# Two readings of the same clock, not in the same moment.
SAME_MOMENT_NS = 2_000_000_000


class Boot(msgspec.Struct, frozen=True):
    """The last sign of life of one boot of a machine, by that machine's own clock."""

    boot_id: str
    seen_ns: int
    booted_ns: int | None = None
    """When it began, where a sidecar was there to tell."""


class Machines:
    """Remembers machines by name, those of late. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hosts: OrderedDict[str, dict[str, Boot]] = OrderedDict()

    def note(self, digest: Digest) -> None:
        """Take down what a journal says about its machine; idempotent."""
        opened, beat = digest.opened, digest.beat
        if not opened.host or not opened.boot_id:
            return
        seen_ns = max(opened.at_ns, digest.last_at_ns, beat.at_ns if beat else 0)
        booted_ns = beat.at_ns - beat.monotonic_ns if beat and beat.monotonic_ns > 0 else None
        with self._lock:
            boots = self._hosts.setdefault(opened.host, {})
            known = boots.pop(opened.boot_id, Boot(opened.boot_id, 0))
            boots[opened.boot_id] = Boot(
                opened.boot_id, max(seen_ns, known.seen_ns), booted_ns=booted_ns or known.booted_ns
            )
            if len(boots) > MOST_BOOTS:
                del boots[next(iter(boots))]
            self._hosts.move_to_end(opened.host)
            if len(self._hosts) > MOST_HOSTS:
                self._hosts.popitem(last=False)

    def of(self, host: str) -> list[Boot]:
        """What is known of a machine, of each of its boots."""
        with self._lock:
            return list(self._hosts.get(host, {}).values())

    def since(self, host: str, at_ns: int) -> frozenset[str]:
        """The boots of a machine from which something came clearly later than this."""
        return frozenset(each.boot_id for each in self.of(host) if each.seen_ns > at_ns + LATER_NS)


def with_host_seen(evidence: Evidence, loaded: LoadedRun, *, machines: Machines) -> Evidence:
    """The evidence with what others saw of the run's machine, where nobody could look at it; else as it was."""
    if not evidence.is_late or evidence.host is not None:
        return evidence
    end = evidence.subject
    boots = {each.opened.boot_id for each in newest_clients(loaded.digests) if each.opened.host == end.host}
    if alive := boots & machines.since(end.host, end.at_ns):
        host = HostEnd(boot_id=min(alive), boot_id_now=min(alive))
        return msgspec.structs.replace(evidence, host=host, is_connected=True)
    if len(boots) != 1:
        return evidence
    [then] = boots
    for each in machines.of(end.host):
        # Another machine of the same name has most likely been there before.
        has_begun = each.booted_ns is not None and each.booted_ns > end.at_ns - SAME_MOMENT_NS
        if each.boot_id != then and has_begun:
            host = HostEnd(boot_id=then, boot_id_now=each.boot_id, booted_ns=each.booted_ns)
            return msgspec.structs.replace(evidence, host=host)
    return evidence
