"""What is told, whoever it is told to. Pure."""

import msgspec

ALERT, WARNING, DEATH, FINISH, TEST = "alert", "warning", "death", "finish", "test"
KINDS = (ALERT, WARNING, DEATH, FINISH)
INFO, WARN, ERROR = "INFO", "WARN", "ERROR"
_COLOURS = {INFO: 0x2F6FDE, WARN: 0xC98500, ERROR: 0xC62828}
MOST_TITLE, MOST_TEXT = 200, 2000


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One thing about one run."""

    kind: str
    run: str = ""
    name: str = ""
    project: str = ""
    title: str = ""
    text: str = ""
    level: str = INFO
    link: str = ""
    """The page of the run; empty where it has none."""
    at_s: float = 0.0

    @property
    def head(self) -> str:
        """The run and what it is about, in one line."""
        place = f"{self.project}/{self.name or self.run}" if self.project else self.name or self.run
        line = f"{place}: {self.title}" if place else self.title
        return " ".join(line.split())[:MOST_TITLE]

    @property
    def body(self) -> str:
        """What follows the line, with the way to the run."""
        way = self.link or (f"holter show {self.run}" if self.run else "")
        return "\n".join(filter(None, (self.text[:MOST_TEXT], way)))

    @property
    def colour(self) -> int:
        """Of its level, as red, green and blue."""
        return _COLOURS.get(self.level, _COLOURS[INFO])

    @property
    def subject(self) -> tuple[str, str, str]:
        """What two messages have in common that say the same."""
        return self.kind, self.run, self.title
