"""How to go on with a run that ended."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any


def is_notebook(facts: Mapping[str, Any]) -> bool:
    """Whether the run was recorded in a notebook's kernel, by what its sidecar found."""
    script = facts.get("script") or {}
    command = facts.get("command") or []
    return script.get("kind") == "notebook" or any("ipykernel_launcher" in str(word) for word in command)


def resume_command(run: str, command: Sequence[str], *, facts: Mapping[str, Any]) -> str:
    """What to type so that another attempt of this run begins: a cell in a notebook, else a command line.

    Empty where nobody knows how it was started.
    """
    if not command:
        return ""
    if is_notebook({**facts, "command": command}):
        return f'holter.init(id="{run}", resume="must")'
    return f"HOLTER_RUN_ID={run} HOLTER_RESUME=allow {shlex.join(command)}"
