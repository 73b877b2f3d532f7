"""`%holter` and what it can be told."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from holter.client import active
from holter.client.notebook.kernel import this_kernel
from holter.errors import HolterError, UsageError
from holter.recording.settings import read_settings
from holter.recording.spawning import way_to_package
from holter.wire.addresses import page_of

Command = Callable[[Any, str], None]
TELL_WITHIN_S = 30.0


def show_page(shell: Any, line: str) -> None:
    """The web page of these runs, in a frame."""
    from holter.client.notebook.card import show
    from holter.client.notebook.page import as_seen_from_browser, find_page, frame
    from holter.recording.identity import new_run_id

    run = active.current() or active.kernel_run()
    path = page_of(run.project, run.id) if run is not None else ""
    try:
        address = as_seen_from_browser(find_page(_data()), path, environ=os.environ)
    except OSError as error:
        raise UsageError(f"the page can't be shown: {error}") from error
    show(address, frame(address, f"holter-{new_run_id()}"))


def explain(shell: Any, line: str) -> None:
    """Why a run ended; without its name, the notebook's previous kernel, or the newest run."""
    from holter.client.notebook.card import ask, show

    kernel = this_kernel()
    wanted = line.strip() or (kernel.predecessor if kernel is not None else "")
    try:
        card = ask(_data(), [wanted], others=0) if wanted else None
    except (OSError, subprocess.SubprocessError):
        card = None  # a name or the beginning of an id, which the command understands
    if card is not None:
        show(card.text, card.html)
        return
    command = [sys.executable, "-P", "-m", "holter", "why", *([wanted] if wanted else [])]
    environment = {**way_to_package(os.environ), "HOLTER_DIR": _data()}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=TELL_WITHIN_S, check=False
    )
    show((done.stdout or done.stderr).decode("utf-8", "replace").rstrip(), "")


def help_text() -> str:
    """What `%holter ?` says."""
    width = max(len(name) for name in _SYNOPSIS)
    return "\n".join(f"{name:<{width}}  {what}" for name, what in _SYNOPSIS.items())


def show_help(shell: Any, line: str) -> None:
    """What `%holter` can be told."""
    from holter.client.notebook.card import show

    show(help_text(), "")


def _of_memory(name: str) -> Command:
    def call(shell: Any, line: str) -> None:
        from holter.memory.magics import COMMANDS as OF_MEMORY

        OF_MEMORY[name](shell, line)

    return call


COMMANDS: dict[str, Command] = {
    "": show_page,
    "why": explain,
    "vars": _of_memory("vars"),
    "free": _of_memory("free"),
    "help": show_help,
    "?": show_help,
}
_SYNOPSIS = {
    "%holter": "the web page of the run, in a frame",
    "%holter why [RUN]": "why the notebook's previous kernel died, or why a run ended",
    "%holter vars": "what holds memory: variables by size, and how to free each",
    "%holter free": "free what is safe to free: shown results, the last traceback",
    "%%holter_memory": "the memory of a cell line by line",
    "%holter ?": "this",
}


def holter(line: str) -> None:
    """What `%holter …` does; `%holter ?` lists it. Raises UsageError for what it does not know."""
    word, _, rest = line.strip().partition(" ")
    command = COMMANDS.get(word)
    if command is None:
        raise UsageError(f"%holter knows no {word!r}; it can be told:\n{help_text()}")
    kernel = this_kernel()
    if kernel is not None:
        command(kernel.shell, rest.strip())


def register(shell: Any) -> None:
    """Have a shell know `%holter` and `%%holter_memory`. Idempotent."""
    from holter.memory.magics import register as register_memory

    _told_plainly.__doc__ = help_text()  # IPython shows it for `%holter ?`
    shell.register_magic_function(_told_plainly, magic_kind="line", magic_name="holter")
    register_memory(shell)


def _told_plainly(line: str) -> None:
    try:
        holter(line)
    except HolterError as error:
        print(f"holter: {error}", file=sys.stderr)  # noqa: T201  the user asked in a cell, and reads it there


def _data() -> str:
    return read_settings({}, os.environ).dir
