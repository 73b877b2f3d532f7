"""The state of the git work tree a program runs in."""

import os
import re
import subprocess
import threading
import time

import msgspec

TIMEOUT_S = 2.0
DIFF_TIMEOUT_S = 5.0
MOST_DIFF_BYTES = 1 << 20
MOST_UNTRACKED = 1000
# A work tree may name programs of its own to run for some commands; none of them is ours to start.
_GIT = ("git", "-c", "core.fsmonitor=false", "-C")
_AS_IT_IS = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--src-prefix=a/", "--dst-prefix=b/")


class GitState(msgspec.Struct, frozen=True):
    """What was checked out; None for what could not be told in time."""

    commit: str | None
    branch: str | None
    """None too where no branch is checked out."""
    remote: str | None
    """Where it came from, without credentials."""
    is_dirty: bool | None
    """Whether files that git knows differ from the commit."""


class GitDiff(msgspec.Struct, frozen=True):
    """What differs from the commit: changed files with their changes, new ones by their names only."""

    patch: bytes
    is_cut: bool
    """It is longer than a mebibyte, or git did not end in time."""
    untracked: tuple[str, ...]
    """The files that git neither knows nor ignores, a thousand at most."""

    @property
    def text(self) -> bytes:
        """Both as one file that `git apply` takes: what stands before the first change is passed over."""
        names = [f"# not in git, its content is not kept: {name}\n" for name in self.untracked]
        return "".join(names).encode(errors="replace") + self.patch


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


def read_git_diff(directory: str) -> GitDiff | None:
    """Return the uncommitted changes of the whole work tree, or None without one or without git; takes 5 s at most."""
    deadline = time.monotonic() + DIFF_TIMEOUT_S
    found = _read(directory, deadline, MOST_DIFF_BYTES, "diff", "HEAD", *_AS_IT_IS)
    if found is None:
        return None
    listing = ("ls-files", "--others", "--exclude-standard", "--full-name", "-z", "--", ":/")
    names, _ = _read(directory, deadline, MOST_DIFF_BYTES, *listing) or (b"", False)
    untracked = tuple(os.fsdecode(name) for name in names.split(b"\0")[:MOST_UNTRACKED] if name)
    return GitDiff(patch=found[0], is_cut=found[1], untracked=untracked)


def without_credentials(url: str) -> str:
    """Return a remote's address without user, password, query and fragment; `git@host:path` has no secret in it."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url
    place, slash, path = re.split(r"[?#]", rest, maxsplit=1)[0].partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def _git(directory: str, deadline: float, *arguments: str) -> str | None:
    """Return what git prints, or None where it fails, is missing, or the time is up."""
    found = _read(directory, deadline, MOST_DIFF_BYTES, *arguments)
    return os.fsdecode(found[0]).strip() if found is not None and not found[1] else None


def _read(directory: str, deadline: float, most: int, *arguments: str) -> tuple[bytes, bool] | None:
    """Return the beginning of what git prints and whether that is not all of it; None where it fails or is missing."""
    quiet = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        git = subprocess.Popen(
            [*_GIT, directory, *arguments],
            env=os.environ | quiet,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    timer = threading.Timer(max(0.01, deadline - time.monotonic()), git.kill)
    timer.start()
    with git:
        assert git.stdout is not None
        text = git.stdout.read(most + 1)
        is_cut = len(text) > most
        if is_cut:
            git.kill()
    timer.cancel()
    if git.returncode < 0:
        return text[:most], True
    return (text, False) if git.returncode == 0 else None
