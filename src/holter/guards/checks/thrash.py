"""Everything waits for memory or for a core, or somebody else takes them.

Warns when all work waited for memory a fifth of ten seconds while pages came back from the disk, and when a process
that is not of this run holds most of a machine whose memory is nearly used up: with its name and owner. And when the
main thread got a core for less than half of the time that it wanted one, for a minute; with its own threads, where
these are too many for the cores.
"""

from collections.abc import Iterator

from holter.guards.lasting import Lasting
from holter.guards.limits import Limits
from holter.guards.seen import Caution, Seen
from holter.guards.window import Window
from holter.model.amounts import size

FOR_S = 8.0
STARVED_S = 60.0
FEWER_THREADS = "OMP_NUM_THREADS=1 in workers, torch.set_num_threads() in the program, fewer workers"
OTHERS_RUN = "look at what else runs on this machine (top), or ask for more cores of the container"
SCARCE_SHARE = 0.1


class Check:
    """Follows memory pressure of one run."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._faults = Window()
        self._ran, self._waited = Window(), Window()
        self._lasting = Lasting()

    def look(self, seen: Seen) -> Iterator[Caution]:
        """What is so now."""
        self._faults.add(seen.now_s, seen.last("system/process/major_faults"))
        full, faults = seen.last("system/psi/memory_full_avg10"), self._faults.per_s(10.0)
        is_so = full >= self._limits.thrash_percent and faults >= self._limits.thrash_faults_per_s
        if self._lasting.hold("thrash", seen.now_s, is_so=is_so) >= FOR_S:
            text = (
                f"everything waits for memory {full:.0f} % of the time; {faults:,.0f} pages a second come from the disk"
            )
            yield Caution(
                subject="thrash", text=text, advice=("use less memory: a smaller batch, fewer workers; stop others",)
            )
        yield from self._starve(seen)
        total = seen.last("system/host/memory_total_bytes")
        if seen.last("system/host/memory_available_bytes") >= SCARCE_SHARE * total:
            return
        for each in seen.neighbours[:1]:
            if each.bytes >= self._limits.neighbour_share * total:
                owner = f" of {each.owner}" if each.owner else ""
                text = (
                    f"process {each.pid} ({each.name}){owner} holds {size(each.bytes)} of the machine's {size(total)}"
                )
                yield Caution(
                    subject=f"neighbour {each.pid}",
                    text=text,
                    advice=("ask its owner, or move one of both to another machine",),
                )

    def _starve(self, seen: Seen) -> Iterator[Caution]:
        """The loop wants to run, and has no core."""
        self._ran.add(seen.now_s, seen.ran_s)
        self._waited.add(seen.now_s, seen.waited_s)
        ran, waited = self._ran.per_s(STARVED_S), self._waited.per_s(STARVED_S)
        wants, limits = ran + waited, self._limits
        is_so = wants >= limits.wants_share and waited >= limits.starved_share * wants
        if self._lasting.hold("starved", seen.now_s, is_so=is_so) < STARVED_S:
            return
        threads, cores = sum(each.threads for each in seen.members.values()), seen.facts.get("cores", 0)
        is_own = cores and threads >= limits.threads_per_core * cores
        own = f"; the run itself has {threads:,} threads for {cores} core{'s' if cores > 1 else ''}" if is_own else ""
        text = f"the main thread waits for a core {100 * waited / wants:.0f} % of the time that it wants to run{own}"
        yield Caution(subject="starved", text=text, advice=(FEWER_THREADS if is_own else OTHERS_RUN,))


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
