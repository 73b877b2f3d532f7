"""The entry point of the `holter` command. Imports only the file of the command that was asked for."""

import importlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, cast

from holter.cli import commands
from holter.cli.stdout import flush, make_safe, silence
from holter.errors import HolterError, UsageError
from holter.lean import modules_in
from holter.version import __version__

if TYPE_CHECKING:
    import argparse

OK, FAILED, MISUSED = 0, 1, 2
GROUPS = {"record": "Record", "look": "Look at runs", "explain": "Find out what happened", "keep": "Keep and remove"}
"""What the overview calls the groups that a command may name."""


class Command(Protocol):
    """What a file of `commands` offers; its docstring is the command's help."""

    GROUP: str

    def prepare_parser(self, parser: "argparse.ArgumentParser") -> None:
        """Add the command's arguments."""

    def run(self, args: "argparse.Namespace") -> int:
        """Do the work; returns the exit code. May raise HolterError and OSError."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 1 for a failure, 2 for a wrong call or an unknown run."""
    make_safe()
    try:
        code = _run([_as_utf8(argument) for argument in sys.argv[1:]] if argv is None else argv)
        flush()
    except SystemExit as leaving:  # argparse after --help
        return leaving.code if isinstance(leaving.code, int) else OK
    except BrokenPipeError:  # `holter ls | head` has seen enough
        silence()
        return OK
    except KeyboardInterrupt:
        return FAILED
    except (HolterError, OSError) as error:
        return _fail(error)
    return code


def _run(arguments: list[str]) -> int:
    match arguments:
        case [] | ["help"] | ["-h" | "--help", *_]:
            print(_overview())
            return OK
        case ["-V" | "--version", *_]:
            print(f"holter {__version__}")
            return OK
        case ["help", name, *_]:
            return _run([name, "--help"])
    name, rest = arguments[0], arguments[1:]
    if name not in _names():
        raise UsageError(_unknown(name))
    from holter.cli.parser import Parser  # argparse is not needed above

    command = _load(name)
    parser = Parser(name, command.__doc__ or "")
    command.prepare_parser(parser)
    return command.run(parser.parse(rest))


def _as_utf8(argument: str) -> str:
    """Names are UTF-8, whatever the locale takes arguments for."""
    return os.fsencode(argument).decode("utf-8", "surrogateescape")


def _names() -> list[str]:
    return [name.replace("_", "-") for name in modules_in(commands)]


def _load(name: str) -> Command:
    return cast("Command", importlib.import_module(f"{commands.__name__}.{name.replace('-', '_')}"))


def _overview() -> str:
    lines = ["holter, the flight recorder for model training", "", "usage: holter COMMAND [ARGUMENTS]"]
    loaded = {name: _load(name) for name in _names()}
    for group, title in GROUPS.items():
        members = {name: command for name, command in loaded.items() if group == command.GROUP}
        lines += ["", f"{title}:", *_entries(members)]
    lines += ["", "RUN is an id, the beginning of one, or a name; left out, it is the newest run."]
    return "\n".join([*lines, "`holter COMMAND --help` tells more; HOLTER_DIR says where the runs are kept."])


def _entries(loaded: dict[str, Command]) -> Iterator[str]:
    for name, command in loaded.items():
        sentence = (command.__doc__ or "").partition("\n")[0]
        yield f"  {name:<8} {sentence[:1].lower()}{sentence[1:].rstrip('.')}"


def _unknown(name: str) -> str:
    from holter.cli.parser import near

    if name.startswith("-"):
        return f"there is no option {name!r} before the command; `holter --help` lists the commands"
    return f"there is no command {name!r}{near(name, _names())}; `holter --help` lists them"


def _fail(error: HolterError | OSError) -> int:
    text = str(error)
    if isinstance(error, OSError):
        place = f" ({error.filename})" if error.filename else ""
        text = f"{error.strerror or type(error).__name__}{place}"
    silence()
    print(f"holter: {text}", file=sys.stderr)
    return MISUSED if isinstance(error, UsageError) else FAILED
