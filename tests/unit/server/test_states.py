"""States over partitions, reorderings, restarts and wrong clocks, on a clock that the test moves."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.model.records import Marked
from holter.model.state import Lateness
from holter.server.ingest.ingest import Ingest
from holter.storage.filter_text import parse_filter
from holter.storage.opening import Storage, open_storage
from holter.storage.runs import RunQuery
from holter.storage.series import Line
from tests.clocks import FakeClock
from tests.unit.journal.recording import scratch
from tests.unit.server.remote import RemoteJournal, send, stamp

DAY_S = 86_400.0
LATENESS = Lateness(stale_s=15, crashed_s=60)
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("log"), st.integers(1, 40)),
        st.tuples(st.just("beat"), st.just(0)),
        st.tuples(st.just("deliver"), st.integers(1, 5_000)),
        st.tuples(st.just("deliver out of order"), st.integers(1, 3_000)),
        st.tuples(st.just("wait"), st.sampled_from([1, 5, 14, 40, 59])),
        st.tuples(st.just("hurry"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
        st.tuples(st.just("rebuild"), st.just(0)),
    ),
    max_size=25,
)


class World:
    """A run far away, a network, and a server. Each has its own idea of the time."""

    def __init__(self, folder: str, skew_s: float) -> None:
        self.clock = FakeClock()
        self.skew_s = skew_s
        self.data = Path(folder) / "data"
        self.storage = open_storage("memory:")
        self.ingest = self._open()
        self.their_clock = FakeClock(int(self.clock.ns + skew_s * 1e9))
        self.program = RemoteJournal(Path(folder) / "far", "r1", clock=self.their_clock)
        self.sidecar = RemoteJournal(Path(folder) / "far", "r1", clock=self.their_clock, writer="sidecar")
        self.program.describe()
        self.have = {self.program.id: 0, self.sidecar.id: 0}
        self.heard_ns = 0
        """When the server last got something new."""

    def _open(self) -> Ingest:
        return Ingest(str(self.data), self.storage, clock=self.clock, lateness=LATENESS)

    def do(self, action: str, number: int) -> None:
        match action:
            case "log":
                self.program.log(number)
            case "beat":
                self.sidecar.beat()
            case "deliver":
                self.deliver(number)
            case "deliver out of order":
                for journal in (self.program, self.sidecar):
                    start = self.have[journal.id] + number
                    data = journal.stream()[start : start + 1_000]
                    self.ingest.accept(journal.id, "r1", offset=start, data=data)
            case "wait":
                self.wait(number)
            case "hurry":
                self.ingest.take_in_arrived()
            case "restart":
                self.ingest = self._open()
            case "rebuild":
                self.storage = open_storage("memory:")
                self.ingest = self._open()
        self.ingest.tick()

    def deliver(self, count: int = 1 << 30) -> None:
        """Bring some of what is on its way; whole rows count as heard."""
        before = sum(self.have.values())
        for journal in (self.program, self.sidecar):
            have, data = self.have[journal.id], journal.stream()
            stop = min(have + count, len(data))
            for _ in range(2):  # the answer may be some bytes short
                have = self.ingest.accept(journal.id, "r1", offset=have, data=data[have:stop])
            self.have[journal.id] = have
        if sum(self.have.values()) > before:
            stamp(self.data / "runs" / "r1", self.clock)
            if count > 200:  # less may be a part of a row
                self.heard_ns = self.clock.ns

    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.their_clock.advance(seconds)

    def duration_s(self, now_s: float = 0.0) -> float:
        query = RunQuery(now_ns=int(self.clock.ns + now_s * 1e9), lateness=LATENESS)
        return self.storage.runs.query(query).runs[0].duration_s

    def state(self) -> str | None:
        query = RunQuery(now_ns=self.clock.ns, lateness=LATENESS)
        runs = self.storage.runs.query(query).runs
        return runs[0].state if runs else None


@given(actions=ACTIONS, skew_s=st.sampled_from([0.0, -DAY_S, DAY_S, -90.0, 90.0]))
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_no_run_is_crashed_while_rows_arrive_and_none_runs_for_ever(
    actions: list[tuple[str, int]], skew_s: float
) -> None:
    with scratch() as folder:
        world = World(folder, skew_s)
        for action in actions:
            world.do(*action)
            if world.heard_ns and world.clock.ns - world.heard_ns <= 60e9 and world.state() is not None:
                assert world.state() == "running"
        world.program.log()
        world.deliver()
        world.ingest.tick()
        assert world.state() == "running"
        world.wait(61)
        world.ingest.tick()
        assert world.state() == "crashed"
        world.program.log()
        world.deliver()
        world.ingest.tick()
        assert world.state() == "running"
        world.program.finish()
        world.deliver()
        world.ingest.tick()
        assert world.state() == "finished"
        world.wait(3600)
        world.do("restart", 0)
        assert world.state() == "finished"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(str(tmp_path), 0.0)


def test_heartbeats_alone_keep_a_run_running(world: World) -> None:
    world.program.log()
    for _ in range(20):
        world.wait(10)
        world.sidecar.beat()
        world.deliver()
        world.ingest.tick()
        assert world.state() == "running"


def test_a_run_that_was_recorded_offline_is_not_running_for_long(world: World) -> None:
    world.program.log(10)
    world.wait(DAY_S)
    world.their_clock.advance(-DAY_S)
    world.deliver()
    world.ingest.tick()
    world.wait(61)
    world.ingest.tick()
    assert world.state() == "crashed"
    row = world.storage.runs.get("r1")
    assert row is not None
    assert row.late_ended_ns is not None
    assert row.late_ended_ns < world.clock.ns - DAY_S * 1e9 + 61e9


def test_a_mark_holds_for_a_dead_run_and_can_be_taken_back(world: World) -> None:
    world.program.log()
    world.deliver()
    person = RemoteJournal(world.program.directory, "r1", clock=world.their_clock, writer="command")
    states = []
    for state in ("failed", ""):
        world.wait(100)
        person.say(Marked(at_ns=world.their_clock.now_ns(), state=state, reason="r", by="me"))
        send(world.ingest, person)
        world.ingest.tick()
        states.append(world.state())
    assert states == ["failed", "crashed"]


def test_a_second_attempt_brings_a_dead_run_back(world: World) -> None:
    world.program.log(5)
    world.deliver()
    world.wait(500)
    world.ingest.tick()
    assert world.state() == "crashed"
    again = RemoteJournal(world.program.directory, "r1", clock=world.their_clock, attempt=2)
    again.describe()
    again.log(3)
    send(world.ingest, again)
    world.ingest.tick()
    assert world.state() == "running"


def stale(storage: Storage, clock: FakeClock) -> bool:
    query = RunQuery(now_ns=clock.ns, lateness=LATENESS)
    return storage.runs.query(query).runs[0].is_stale


def test_a_late_run_is_stale_before_it_is_crashed(world: World) -> None:
    world.program.log()
    world.deliver()
    world.ingest.tick()
    assert not stale(world.storage, world.clock)
    world.wait(20)
    assert stale(world.storage, world.clock)
    assert world.state() == "running"


def test_hours_without_a_network_cost_nothing_but_time(world: World) -> None:
    """A row each minute and a heartbeat each five seconds go on for six hours, of which the server hears nothing."""
    world.program.log()
    world.deliver()
    world.ingest.tick()
    for minute in range(6 * 60):
        for _ in range(12):
            world.wait(5)
            world.sidecar.beat()
        world.program.log()
        if minute in (2, 180, 359):
            world.ingest.tick()
            assert world.state() == "crashed"
    for _ in range(200):  # piece by piece, as a sender does
        world.deliver(5_000)
        world.ingest.tick()
    assert world.state() == "running"
    points = world.storage.series.points(Line("r1", "loss"))
    assert points.steps.tolist() == list(range(361))
    assert points.values.tolist() == [step * 0.5 for step in range(361)]
    assert (points.at_ns[-1] - points.at_ns[0]) / 1e9 == pytest.approx(6 * 3600, abs=1)
    world.do("restart", 0)
    world.do("rebuild", 0)
    assert (world.state(), len(world.storage.series.points(Line("r1", "loss")).steps)) == ("running", 361)


@pytest.mark.parametrize("skew_s", [-2 * DAY_S, 2 * DAY_S, 0.0])
@pytest.mark.parametrize("engine", ["memory:", "sqlite:{}"])
def test_a_wrong_clock_makes_no_run_longer(tmp_path: Path, skew_s: float, engine: str) -> None:
    world = World(str(tmp_path), skew_s)
    world.storage = open_storage(engine.format(tmp_path / "index"))
    world.ingest = world._open()
    for _ in range(3):
        world.program.log(5)
        world.sidecar.beat()
        world.deliver()
        world.ingest.tick()
        world.wait(5)
    assert world.state() == "running"
    assert world.duration_s() == pytest.approx(15, abs=1)
    assert world.duration_s(10) == pytest.approx(25, abs=1)
    longer = RunQuery(now_ns=world.clock.ns, lateness=LATENESS, where=parse_filter("duration_s > 60"))
    assert world.storage.runs.query(longer).total == 0
    world.program.finish()
    world.deliver()
    world.ingest.tick()
    assert world.state() == "finished"
    assert world.duration_s(DAY_S) == pytest.approx(15, abs=1)
    world.storage.close()
