"""The state of the git work tree a program runs in."""

import os
import re
import subprocess
import time

import msgspec

TIMEOUT_S = 2.0


class GitState(msgspec.Struct, frozen=True):
    """What was checked out; None for what could not be told in time."""

    commit: str | None
    branch: str | None
    """None too where no branch is checked out."""
    remote: str | None
    """Where it came from, without credentials."""
    is_dirty: bool | None
    """Whether files that git knows differ from the commit."""


def read_git_state(directory: str) -> GitState | None:
    """Return the state of the work tree around a directory, or None without one or without git; takes at most 2 s."""
    deadline = time.monotonic() + TIMEOUT_S
    commit = _git(directory, deadline, "rev-parse", "HEAD")
    if not commit:
        return None
    branch = _git(directory, deadline, "symbolic-ref", "--quiet", "--short", "HEAD")
    remote = _git(directory, deadline, "config", "--get", "remote.origin.url")
    # Last, because in a large work tree it may take all the time there is.
    changes = _git(directory, deadline, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules")
    return GitState(
        commit=commit,
        branch=branch or None,
        remote=without_credentials(remote) if remote else None,
        is_dirty=None if changes is None else bool(changes),
    )


def without_credentials(url: str) -> str:
    """Return a remote's address without user, password, query and fragment; `git@host:path` has no secret in it."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    place, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def _git(directory: str, deadline: float, *arguments: str) -> str | None:
    """Return what git prints, or None where it fails, is missing, or the time is up."""
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            # A work tree may name programs of its own to run for some commands; none of them is ours to start.
            ["git", "-c", "core.fsmonitor=false", "-C", directory, *arguments],
            env=os.environ | quiet,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=max(0.01, deadline - time.monotonic()),
            check=False,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return os.fsdecode(done.stdout).strip() if done.returncode == 0 else None
