"""Shows how the notebook's previous kernel died. What there is to say is found out by a process of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

import msgspec

from holter.journal.rundir import run_directory
from holter.recording.spawning import way_to_package

# A scheduler may have to be asked, and a sidecar may still be writing. Then the user waits for it no longer.
ASK_WITHIN_S = 8.0


class Card(msgspec.Struct, frozen=True):
    """One death, for browsers and for terminals."""

    run: str
    text: str
    html: str


def show_death(data: str, runs: Sequence[str], *, others: int) -> bool:
    """Show the card of the last of these runs, in the cell that calls; false where it ended well, or was removed.

    Only in the main thread: the channels to the browser are that thread's. Blocks for a second or two.
    """
    if not os.path.isdir(run_directory(data, runs[-1])):
        return False
    try:
        card = ask(data, runs, others=others)
    except (OSError, subprocess.SubprocessError, msgspec.MsgspecError):
        text = f"holter: the notebook's previous kernel is gone; `holter why {runs[-1]}` says how"
        card = Card(runs[-1], text, "")
    if card is None:
        return False
    show(card.text, card.html)
    return True


def show(text: str, html: str) -> None:
    """Display both forms; a front end takes the one that it can show."""
    from IPython.display import display

    forms = {"text/plain": text, "text/html": html}
    display({kind: form for kind, form in forms.items() if form}, raw=True)  # type: ignore[no-untyped-call]  # IPython's


def show_line(line: str) -> bool:
    """Show a line of ours, as no error; false where that can't be done. In any thread."""
    try:
        show(line, "")
    except Exception:  # noqa: BLE001  the boundary: a front end that is gone, a kernel that ends
        return False
    return True


def ask(data: str, runs: Sequence[str], *, others: int) -> Card | None:
    """The card of the last run; None where that ended well. Raises OSError, SubprocessError, MsgspecError."""
    command = [sys.executable, "-P", "-m", "holter.catalog", str(others), *runs]
    done = subprocess.run(
        command,
        env=_environment(data, os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=ASK_WITHIN_S,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Card) if done.stdout else None


def _environment(data: str, environ: Mapping[str, str]) -> dict[str, str]:
    return {**way_to_package(environ), "HOLTER_DIR": data}
