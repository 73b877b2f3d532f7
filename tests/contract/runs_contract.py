"""What every engine promises about runs, as tests."""

import math

from hypothesis import given
from hypothesis import strategies as st

from holter.model.run_row import RunRow
from holter.model.state import Lateness
from holter.storage.filter_text import parse_filter, parse_sort
from holter.storage.grouping import gather, members_of
from holter.storage.matching import matches
from holter.storage.opening import Storage
from holter.storage.run_fields import flat_fields, plain_fields
from holter.storage.runs import RunQuery
from holter.storage.tallies import Group, GroupQuery
from tests.contract.port_contract import PROPERTY, PortContract

NOW_NS = 1_700_000_000_000_000_000
LEAVES = st.one_of(
    st.builds(
        "{} {} {}".format, st.just("config.lr"), st.sampled_from(["=", "!=", "<", ">="]), st.sampled_from([1, 2.5])
    ),
    st.sampled_from(
        [
            "state = crashed",
            "state != running",
            "name ~ AB",
            "tags = best",
            "tags !~ es",
            "summary.loss = NaN",
            "summary.loss < 1",
            "summary.loss = null",
            "config.optimizer.name = adam",
            "config.optimizer.name > adam",
            "duration_s > 50",
            "cause = null",
            "cause in (killed, 'disk-full')",
            "started_at >= 2023-11-14T22:13:21",
            "last_step <= 3",
            "ended_at = null",
            "config.flag = true",
            "config.lr > 0",
            "id in (r001, r002)",
            "id != r003",
            "adam",
            "ZAB",
            "r01 or worse",
            "es 2.5",
            "'-1'",
            "not (cab or 3)",
            "gpu-7",
        ]
    ),
)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds("({} and {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
        inner.map("not {}".format),
    ),
    max_leaves=6,
)
NUMBERS = st.one_of(
    st.none(), st.integers(-2, 3), st.sampled_from([2.5, float("nan"), float("inf"), float("-inf"), True, "text"])
)
ROWS = st.builds(
    lambda number, lr, loss, **known: RunRow(
        id=f"r{number:03}",
        config={"lr": lr, "optimizer": {"name": known.pop("optimizer")}, "flag": known.pop("flag"), "list": [1, 2]},
        summary={"loss": loss} if loss is not None else {},
        **known,
    ),
    st.integers(0, 30),
    NUMBERS,
    NUMBERS,
    optimizer=st.sampled_from(["adam", "sgd", None, 3]),
    flag=st.booleans(),
    name=st.sampled_from(["", "cab", "zAbé"]),
    notes=st.sampled_from(["", "Adam's"]),
    host=st.sampled_from(["", "gpu-7"]),
    tags=st.sampled_from([(), ("best",), ("worse", "best"), ("nest",)]),
    state=st.sampled_from(["running", "finished", "crashed"]),
    late_state=st.sampled_from(["crashed", "preempted"]),
    heard_ns=st.sampled_from([None, NOW_NS, NOW_NS - 59 * 10**9, NOW_NS - 61 * 10**9]),
    cause=st.sampled_from([None, "killed", "disk-full"]),
    # Whole microseconds: more than that the seconds of the API do not tell apart.
    started_ns=st.integers(NOW_NS // 1000 - 100 * 10**6, NOW_NS // 1000).map(lambda microseconds: microseconds * 1000),
    ended_ns=st.sampled_from([None, NOW_NS]),
    last_step=st.one_of(st.none(), st.integers(0, 9)),
)


def _told(group: Group) -> object:
    """As far as the order in which numbers are added does not change it."""
    means = {name: (each.count, round(each.mean, 9), round(each.std, 9)) for name, each in group.columns.items()}
    return group.value, group.runs, group.states, means


class RunsContract(PortContract):
    """The port `RunStore`."""

    def test_a_row_comes_back_as_it_was(self, storage: Storage) -> None:
        row = RunRow(id="r1", name="n", tags=("a", "b"), config={"lr": 0.1, "deep": {"er": [1, None]}}, version=3)
        storage.runs.put([row])
        storage.runs.put([row])
        assert storage.runs.get("r1") == row
        assert storage.runs.get("r2") is None
        assert storage.runs.query(RunQuery(now_ns=NOW_NS)).total == 1

    def test_an_older_row_replaces_none(self, storage: Storage) -> None:
        storage.runs.put([RunRow(id="r", name="new", version=2, summary={"x": 2})])
        storage.runs.put([RunRow(id="r", name="old", version=1, summary={"x": 1})])
        found = storage.runs.get("r")
        assert found is not None
        assert found.name == "new"
        page = storage.runs.query(RunQuery(now_ns=NOW_NS, where=parse_filter("summary.x = 1")))
        assert page.runs == []

    def test_a_value_that_is_gone_is_not_found_any_more(self, storage: Storage) -> None:
        storage.runs.put([RunRow(id="r", project="p", config={"lr": 1, "old": "x"})])
        storage.runs.put([RunRow(id="r", project="p", config={"lr": 2})])
        assert storage.runs.query(RunQuery(now_ns=NOW_NS, where=parse_filter("config.old = null"))).total == 1
        assert storage.runs.query(RunQuery(now_ns=NOW_NS, where=parse_filter("config.lr = 1"))).total == 0
        assert storage.runs.projects() == {"p": 1}

    def test_a_run_becomes_late_without_being_written(self, storage: Storage) -> None:
        storage.runs.put([RunRow(id="r", state="running", heard_ns=NOW_NS, late_state="crashed", late_ended_ns=NOW_NS)])
        states = []
        for seconds in (1, 20, 61):
            query = RunQuery(now_ns=NOW_NS + seconds * 10**9, lateness=Lateness(), count=1)
            [row] = storage.runs.query(query).runs
            states.append((row.state, row.is_stale))
        assert states == [("running", False), ("running", True), ("crashed", False)]
        late = RunQuery(now_ns=NOW_NS + 61 * 10**9, where=parse_filter("state = crashed"))
        assert storage.runs.query(late).total == 1

    @given(
        rows=st.lists(ROWS, max_size=12, unique_by=lambda row: row.id),
        text=FILTERS,
        field=st.sampled_from(
            ["summary.loss", "config.lr", "name", "state", "last_step", "started_at", "tags", "cause"]
        ),
        direction=st.sampled_from(["", "-"]),
        page=st.tuples(st.integers(0, 4), st.integers(0, 5)),
    )
    @PROPERTY
    def test_filters_sorts_and_pages_mean_the_same_everywhere(
        self, storage: Storage, rows: list[RunRow], *, text: str, field: str, direction: str, page: tuple[int, int]
    ) -> None:
        for run in list(storage.runs.seen()):
            storage.runs.delete(run)
        storage.runs.put(rows)
        where = parse_filter(text)
        assert where is not None
        fields = {row.id: plain_fields(row.at(NOW_NS, Lateness())) | flat_fields(row) for row in rows}
        fitting = {run for run, each in fields.items() if matches(where, each)}
        query = RunQuery(now_ns=NOW_NS, where=where, sort=parse_sort(direction + field), count=100)
        found = [row.id for row in storage.runs.query(query).runs]
        assert set(found) == fitting
        assert found == sorted(found, key=lambda run: _rank(fields[run].get(field), run, is_down=direction == "-"))
        paged = RunQuery(now_ns=NOW_NS, where=where, sort=query.sort, start=page[0], count=page[1])
        assert [row.id for row in storage.runs.query(paged).runs] == found[page[0] : page[0] + page[1]]

    @given(
        rows=st.lists(ROWS, max_size=12, unique_by=lambda row: row.id),
        text=st.one_of(st.just(""), FILTERS),
        by=st.sampled_from(["config.lr", "config.optimizer.name", "state", "tags", "cause", "host", "config.none"]),
        sort=st.sampled_from(["", "-summary.loss", "summary.loss", "-name"]),
    )
    @PROPERTY
    def test_groups_are_the_same_everywhere(
        self, storage: Storage, rows: list[RunRow], *, text: str, by: str, sort: str
    ) -> None:
        for run in list(storage.runs.seen()):
            storage.runs.delete(run)
        storage.runs.put(rows)
        query = GroupQuery(
            by=by,
            now_ns=NOW_NS,
            where=parse_filter(text),
            columns=("summary.loss", "config.lr"),
            sort=sort.lstrip("-"),
            is_descending=sort.startswith("-"),
            most=3,
        )
        named = [plain_fields(row.at(NOW_NS, Lateness())) | flat_fields(row) for row in rows]
        fitting = [fields for fields in named if query.where is None or matches(query.where, fields)]
        wanted = gather(members_of(fitting, query), query)
        found = storage.runs.groups(query)
        assert (found.total, len(found.groups)) == (wanted.total, min(3, wanted.total))
        assert [_told(each) for each in found.groups] == [_told(each) for each in wanted.groups]

    def test_the_names_of_all_settings_are_known_and_forgotten_with_their_runs(self, storage: Storage) -> None:
        storage.runs.put(
            [
                RunRow(id="a", project="p", config={"lr": 1, "net": {"depth": 2}}, summary={"val/loss": 1}),
                RunRow(id="b", project="p", config={"rare": "x"}),
                RunRow(id="c", project="q", config={"other": 1}),
            ]
        )
        assert list(storage.runs.fields("p")) == ["config.lr", "config.net.depth", "config.rare", "summary.val/loss"]
        assert list(storage.runs.fields("nobody's")) == []
        storage.runs.delete("b")
        assert "config.rare" not in storage.runs.fields("p")
        assert list(storage.runs.fields()) == ["config.lr", "config.net.depth", "config.other", "summary.val/loss"]

    def test_pages_far_down_follow_each_other_and_what_is_written(self, storage: Storage) -> None:
        storage.runs.put(
            [RunRow(id=f"r{number:04}", started_ns=number, config={"lr": number}) for number in range(3000)]
        )

        def page(start: int, text: str = "", *, sort: str = "config.lr") -> list[str]:
            query = RunQuery(now_ns=NOW_NS, where=parse_filter(text), sort=parse_sort(sort), start=start, count=2)
            found = storage.runs.query(query)
            assert found.total == (3000 if not text else 2500) + added
            return [row.id for row in found.runs]

        added = 0
        assert page(2000) == ["r2000", "r2001"]
        assert page(1500) == ["r1500", "r1501"]
        assert page(2999) == ["r2999"]
        assert page(5000) == []
        assert page(2000, sort="-config.lr") == ["r0999", "r0998"]
        assert page(2000, "config.lr >= 500 and id != r9999") == ["r2500", "r2501"]
        storage.runs.put([RunRow(id="r9999", config={"lr": -1})])
        added = 1
        assert page(2000) == ["r1999", "r2000"]
        storage.runs.delete("r9999")
        added = 0
        assert page(2000) == ["r2000", "r2001"]

    def test_a_deleted_run_is_gone(self, storage: Storage) -> None:
        storage.runs.put([RunRow(id="r", project="p", config={"x": 1}, version=9, seen_ns=5, rules="these")])
        assert storage.runs.seen() == {"r": (5, "these")}
        storage.runs.delete("r")
        storage.runs.delete("r")
        assert storage.runs.get("r") is None
        assert storage.runs.seen() == {}
        storage.runs.put([RunRow(id="r", version=1)])
        assert storage.runs.get("r") == RunRow(id="r", version=1)


def _rank(value: object, run: str, /, *, is_down: bool) -> tuple[int, float, tuple[int, ...], str]:
    sign = -1 if is_down else 1
    if isinstance(value, tuple):
        value = "".join(f"\n{tag}\n" for tag in value)
    if isinstance(value, str):
        return (2, 0, tuple(sign * ord(letter) for letter in value) + ((1,) if is_down else ()), run)
    if not isinstance(value, int | float):
        return (3, 0, (), run)
    return (int(math.isinf(value)), sign * value, (), run)
