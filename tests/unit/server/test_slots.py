"""Which colour a run has where nobody has chosen one."""

from holter.model.run_row import RunRow
from holter.server.domain.slots import Slots
from holter.server.domain.visible import KnownRuns
from holter.server.query.briefs import brief_of
from tests.engines.memory import MemoryRuns

RUNS = [f"run-{number}" for number in range(200)]


def colours(known: KnownRuns) -> list[int | None]:
    return [brief_of(row).colour if (row := known.get(run)) is not None else None for run in RUNS]


def test_runs_that_begin_one_after_the_other_have_different_colours_and_all_are_used() -> None:
    slots = Slots()
    given = [slots.of(run, "p", started_ns=at) for at, run in enumerate(RUNS)]
    for at in range(len(given) - 7):
        assert len(set(given[at : at + 8])) == 8
    assert {given.count(slot) // 15 for slot in range(8)} <= {1, 2}
    # One that comes late, as from a machine that was offline, is not like those beside it either.
    late = slots.of("late", "p", started_ns=100)
    assert late not in given[97:103]


def test_a_run_keeps_its_colour_whatever_comes_or_goes_and_after_a_restart() -> None:
    store = MemoryRuns()
    known = KnownRuns(store)
    rows = [RunRow(id=run, project="p", started_ns=at, version=1) for at, run in enumerate(RUNS)]
    known.put(rows)
    first = colours(known)
    assert None not in first
    known.put([RunRow(id="earlier", project="p", started_ns=0), *rows[:9]])
    known.delete("run-3")
    expected = [colour if run != "run-3" else None for run, colour in zip(RUNS, first, strict=True)]
    assert colours(known) == expected
    assert colours(KnownRuns(store)) == expected


def test_an_index_that_is_made_again_leads_to_the_same_colours() -> None:
    rows = [RunRow(id=run, project="p", started_ns=at) for at, run in enumerate(RUNS)]
    known = KnownRuns(MemoryRuns())
    known.put(rows)
    again = MemoryRuns()
    again.put(list(reversed(rows)))
    assert colours(KnownRuns(again)) == colours(known)


def test_what_people_choose_holds() -> None:
    known = KnownRuns(MemoryRuns())
    known.put([RunRow(id="r", project="p", colour=6)])
    row = known.get("r")
    assert row is not None
    assert brief_of(row).colour == 6
