"""The command line of a trial: W&B's macros, filled with the trial's values. Pure."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from holter.errors import UsageError

_ENVIRONMENT = re.compile(r"\$\{envvar:([^}]*)\}")
MACROS = (
    "${env}",
    "${interpreter}",
    "${program}",
    "${args}",
    "${args_no_hyphens}",
    "${args_no_boolean_flags}",
    "${args_json}",
    "${args_json_file}",
    "${envvar:NAME}",
)


def words_of(
    command: Sequence[str], config: Mapping[str, Any], *, program: str, json_file: str, environ: Mapping[str, str]
) -> list[str]:
    """What is executed. Raises UsageError for a macro that there is not."""
    plain = {
        "${env}": ["/usr/bin/env"],
        "${interpreter}": [sys.executable],
        "${program}": [program],
        "${args}": [f"--{name}={_text(value)}" for name, value in config.items()],
        "${args_no_hyphens}": [f"{name}={_text(value)}" for name, value in config.items()],
        "${args_no_boolean_flags}": [flag for name, value in config.items() if (flag := _flag(name, value))],
        "${args_json}": [json.dumps(config)],
        "${args_json_file}": [json_file],
    }
    found: list[str] = []
    for word in command:
        if word == "${program}" and not program:
            raise UsageError("the sweep has no `program`: name it in the configuration, or in `command`")
        if word in plain:
            found += plain[word]
            continue
        filled = _ENVIRONMENT.sub(lambda name: environ.get(name[1], ""), word)
        if (unknown := re.search(r"\$\{[^}]*\}", filled)) is not None:
            raise UsageError(f"the command has {unknown[0]!r}, and there are {', '.join(MACROS)}")
        found.append(filled)
    return found


def _flag(name: str, value: Any) -> str:
    if value is True:
        return f"--{name}"
    return "" if value is False else f"--{name}={_text(value)}"


def _text(value: Any) -> str:
    return json.dumps(value) if isinstance(value, dict | list) else str(value)
