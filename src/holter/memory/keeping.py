"""Where the tables go that somebody asked for: to the reader's eyes, and into the run's files."""

import os
import re
import sys
from typing import Any

from holter.journal.kept_files import FOLDER, replace_file
from holter.journal.rundir import make_private
from holter.memory.holders import running_shell

MEMORY_FOLDER = "memory"
MOST_NAME = 100


def say(shown: Any, *, in_notebook: bool = True) -> None:
    """Show something that has a text and an HTML form: below the cell, or in the terminal."""
    if in_notebook and running_shell() is not None:
        sys.modules["IPython"].display.display(shown)
    elif sys.stderr is not None:
        sys.stderr.write(f"{shown}\n")


def keep_with_runs(name: str, text: str) -> None:
    """Write a file into each run that this process records, in the place of the one before. Raises OSError."""
    active: Any = sys.modules.get("holter.client.active")  # not loaded: then there is no run
    for run in active.recording() if active is not None else []:
        folder = os.path.join(run.dir, FOLDER, MEMORY_FOLDER)
        make_private(folder)
        safe = re.sub(r"[^\w.-]+", "_", name)[-MOST_NAME:]
        replace_file(os.path.join(folder, safe), text.encode(errors="replace"))
