"""Runs programs on the GPU machine as users would, and asks holter about them afterwards."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
LINGER_S = "0.5"
VERDICT_WITHIN_S = 15.0


class Done(NamedTuple):
    """A program that has ended, and its newest run as the commands tell it."""

    code: int
    out: str
    err: str
    took_s: float
    home: Path
    run: dict[str, Any]
    why: dict[str, Any]

    @property
    def warnings(self) -> list[str]:
        """What guards said, as `guard: text`."""
        return [f"{each['guard']}: {each['text']}" for each in self.run.get("warnings", ())]

    def told(self) -> dict[str, Any]:
        """What is kept of it."""
        keep = ("state", "cause", "title", "confidence", "grade", "evidence", "advice", "contributing")
        return {
            "code": self.code,
            "took_s": round(self.took_s, 2),
            "stdout": self.out[-2000:],
            "stderr": self.err[-3000:],
            "warnings": self.run.get("warnings", []),
            "state": self.run.get("state"),
            "why": {name: self.why[name] for name in keep if name in self.why},
        }


def begin(text: str, home: Path, **env: str) -> "subprocess.Popen[str]":
    """Start a program; its output goes into pipes."""
    home.mkdir(parents=True, exist_ok=True)
    script = home / f"program-{time.monotonic_ns()}.py"
    script.write_text(textwrap.dedent(text))
    return subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=home,
        env={**os.environ, "HOLTER_DIR": str(home / "holter"), **env},
    )


def finish(program: "subprocess.Popen[str]", home: Path, *, within_s: float, began: float) -> Done:
    """Wait for it, and for what its sidecar finds out."""
    try:
        out, err = program.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        program.kill()
        out, err = program.communicate()
        err += f"\n(stopped after {within_s:g} s)"
    took_s = time.monotonic() - began
    why = settled(home)
    return Done(program.returncode, out, err, took_s, home, ask(home, "show"), why)


def play(text: str, *, within_s: float = 60.0, home: Path | None = None, **env: str) -> Done:
    """Run a program to its end."""
    home = home or Path(tempfile.mkdtemp(prefix="gpu-"))
    began = time.monotonic()
    return finish(begin(text, home, **env), home, within_s=within_s, began=began)


def settled(home: Path) -> dict[str, Any]:
    """Why the newest run ended, once its sidecar has written that down."""
    deadline = time.monotonic() + VERDICT_WITHIN_S
    while time.monotonic() < deadline:
        why = ask(home, "why")
        if why.get("state") not in ("running", None):
            return why
        time.sleep(0.3)
    return ask(home, "why")


def ask(home: Path, command: str, *arguments: str) -> dict[str, Any]:
    """`holter COMMAND --json`."""
    done = subprocess.run(
        [sys.executable, "-m", "holter", command, *arguments, "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "HOLTER_DIR": str(home / "holter")},
        check=False,
    )
    try:
        found = json.loads(done.stdout)
    except ValueError:
        return {"unreadable": done.stdout[-500:], "stderr": done.stderr[-1500:]}
    return found if isinstance(found, dict) else {"list": found}


def result(checks: Mapping[str, bool], **seen: Any) -> dict[str, Any]:
    """What a part hands over."""
    return {"checks": dict(checks), "seen": seen}
