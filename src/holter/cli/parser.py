"""Reads the arguments of one command; a mistake becomes one sentence, with what was probably meant."""

import argparse
from collections.abc import Iterable
from typing import NoReturn

from holter.errors import UsageError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are UsageErrors."""

    def __init__(self, command: str, doc: str) -> None:
        super().__init__(
            prog=f"holter {command}",
            description=doc.strip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse(self, arguments: list[str]) -> argparse.Namespace:
        """Raises UsageError."""
        args, unknown = self.parse_known_args(arguments)
        if unknown:
            guess = near(unknown[0].partition("=")[0], self._option_string_actions)
            raise UsageError(f"`{self.prog}` has no argument {unknown[0]!r}{guess}; {self._pointer()}")
        return args

    def error(self, message: str) -> NoReturn:
        """Replace argparse's own way of leaving."""
        raise UsageError(f"{message}; {self._pointer()}")

    def _pointer(self) -> str:
        form = f"it is written `{self.usage}`, and " if self.usage else ""
        return f"{form}`{self.prog} --help` shows what it takes"


def add_run(parser: argparse.ArgumentParser) -> None:
    """The argument that most commands have."""
    parser.add_argument(
        "run", metavar="RUN", nargs="?", help="id, beginning of an id, or name; left out, the newest run"
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """The option of every command that lists something."""
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def whole_number(text: str) -> int:
    """A number of things to show. Raises ArgumentTypeError."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a whole number is needed, got {text!r}")
    return int(text)


def near(word: str, known: Iterable[str]) -> str:
    """` (did you mean 'show'?)` where one of the known words is close, else nothing."""
    import difflib  # only for those who mistyped

    found = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
