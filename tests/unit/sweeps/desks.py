"""A desk with agents that do as they are told, and a clock that is moved by hand."""

from pathlib import Path
from typing import Any

import msgspec

from holter.storage.opening import open_sweeps
from holter.storage.sweeps import SweepStore
from holter.sweeps.book import begin_book
from holter.sweeps.configuration import read_configuration
from holter.sweeps.desk import Desk
from holter.sweeps.events import Begun
from holter.sweeps.words import Answer, Asker, Lease, Outcome, Said, Word

METRIC = {"name": "loss", "goal": "minimize"}


class Bench:
    """One sweep: its agents `a`, `b`, … and their words."""

    def __init__(self, folder: Path, *, store: SweepStore | None = None, **given: Any) -> None:
        self.now_ns = 1_000_000_000_000
        self.ended: dict[str, Outcome] = {}
        self.gone: set[str] = set()
        self.store = store or open_sweeps(str(folder))
        configuration = read_configuration({"method": "random", "seed": 7, "metric": METRIC, **given})
        begun = Begun(configuration=msgspec.to_builtins(configuration), project="p", name="n")
        begin_book(self.store, "s1", begun=begun)
        self.desk = self.open()

    def open(self, store: SweepStore | None = None) -> Desk:
        """Another process at the same sweep, or another server."""
        return Desk(
            store or self.store,
            "s1",
            look=self.ended.get,
            is_gone=lambda asker: asker.id in self.gone,
            now_ns=lambda: self.now_ns,
        )

    def ask(self, agent: str = "a", *, desk: Desk | None = None, **about: Any) -> Answer:
        return (desk or self.desk).ask(asker(agent, **about))

    def take(self, agent: str = "a", **about: Any) -> Lease:
        answer = self.ask(agent, **about)
        assert answer.lease is not None, answer.why
        return answer.lease

    def say(self, lease: Lease, agent: str = "a", **word: Any) -> Said:
        return self.desk.say(Word(asker=asker(agent), number=lease.number, fence=lease.fence, **word))

    def finish(self, lease: Lease, value: float, agent: str = "a") -> bool:
        return self.say(lease, agent, ended=Outcome(state="finished", value=value)).holds

    def die(self, lease: Lease, cause: str, agent: str = "a", **outcome: Any) -> bool:
        return self.say(lease, agent, ended=Outcome(state="crashed", cause=cause, **outcome)).holds

    def states(self) -> list[str]:
        return [each.state for each in self.desk.state().trials]


def asker(agent: str, **about: Any) -> Asker:
    return Asker(id=agent, **{"host": f"host-{agent}", "device": "gpu", **about})
