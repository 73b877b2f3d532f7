"""How long something has been so."""


class Lasting:
    """Tells since when something holds without a break. One thread."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def hold(self, name: str, now_s: float, /, *, is_so: bool) -> float:
        """For how many seconds it has been so, 0 where it is not."""
        if not is_so:
            self._since.pop(name, None)
            return 0.0
        return now_s - self._since.setdefault(name, now_s)
