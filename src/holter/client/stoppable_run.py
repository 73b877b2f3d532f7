"""Whether a run should stop: the part of `Run` that its user's loop asks."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holter.client.agreement import Agreement


class StoppableRun:
    """A run that can be asked to stop: by a person, or because memory is about to be gone."""

    id: str
    _finished = False
    _stop_because: str = ""
    _agreement: "Agreement | None" = None

    @property
    def should_stop(self) -> bool:
        """Whether the loop should save and leave: ask once in every step, on every rank.

        True once somebody asked the run to stop (`holter stop`, the page) or a guard sees the memory run out. With a
        process group it becomes true in the same step on all ranks.
        """
        if self._agreement is None:
            from holter.client.agreement import Agreement  # only those who ask pay for it

            self._agreement = Agreement(self.id)
        return self._agreement.ask(wished=bool(self._stop_because))

    def wish_stop(self, because: str) -> None:
        """Somebody, or a guard, wants it to stop."""
        self._stop_because = self._stop_because or because

    def mute(self) -> None:
        """This process, a fork of the one that records, adds nothing more."""
        self._finished = True
