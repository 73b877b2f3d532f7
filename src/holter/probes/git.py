"""The state of the git work tree a program runs in."""

import os
import re
import signal
import threading
import time

import msgspec

STATUS_TIMEOUT_S = 3.0
DIFF_TIMEOUT_S = 4.0
MOST_STATUS_BYTES = 16 << 20
MOST_DIFF_BYTES = 1 << 20
MOST_UNTRACKED = 1000
# A work tree may name programs of its own to run for some commands; none of them is ours to start.
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "status.renames=false", "-C")
_AT_A_GLANCE = "--porcelain=v2 --branch -z --untracked-files=all --ignore-submodules=dirty --no-ahead-behind".split()
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


class _Status(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at a work tree tells."""

    commit: str
    """Empty where there is none yet."""
    branch: str | None
    changed: tuple[bool, ...] | None = None
    """For each changed entry: whether it is a file, and not a submodule. None where nobody could look."""
    untracked: tuple[str, ...] = ()


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


def read_git(directory: str) -> tuple[GitState, GitDiff | None] | None:
    """Return the state of the work tree around a directory and its uncommitted changes; takes 7 s at most.

    None without a work tree, without a commit or without git; no changes where they could not be told in time.
    """
    if not _is_in_work_tree(directory):
        return None
    deadline = time.monotonic() + STATUS_TIMEOUT_S
    status = _read_status(directory, deadline) or _read_head(directory, deadline + DIFF_TIMEOUT_S)
    if not status.commit:
        return None
    deadline += DIFF_TIMEOUT_S
    remote = _git(directory, deadline, "config", "--get", "remote.origin.url")
    diff: GitDiff | None = GitDiff(b"", False, status.untracked)
    if status.changed != ():
        found = _read(directory, deadline, MOST_DIFF_BYTES, "diff", "HEAD", *_AS_IT_IS)
        diff = GitDiff(*found, status.untracked) if found is not None else None
    state = GitState(
        commit=status.commit,
        branch=status.branch,
        remote=without_credentials(remote) if remote else None,
        is_dirty=_is_dirty(status, diff),
    )
    return state, diff


def _is_in_work_tree(directory: str) -> bool:
    """A look at the disk, so that git and what starts it cost those nothing who do without."""
    if "GIT_DIR" in os.environ:
        return True
    path = os.path.realpath(directory)
    while not os.path.exists(os.path.join(path, ".git")):
        path, below = os.path.dirname(path), path
        if path == below:
            return False
    return True


def _read_status(directory: str, deadline: float) -> _Status | None:
    """All in one command: each costs as much to start as to answer. None where it fails or the time is up."""
    found = _read(directory, deadline, MOST_STATUS_BYTES, "status", *_AT_A_GLANCE)
    return parse_status(found[0]) if found is not None and not found[1] else None


def parse_status(text: bytes) -> _Status:
    """Read what `git status --porcelain=v2 --branch -z` printed. Pure."""
    head: dict[bytes, str] = {}
    changed: list[bool] = []
    untracked: list[str] = []
    for line in text.split(b"\0"):
        kind, _, rest = line.partition(b" ")
        if kind == b"#":
            name, _, value = rest.partition(b" ")
            head[name] = os.fsdecode(value)
        elif kind == b"?" and len(untracked) < MOST_UNTRACKED:
            untracked.append(os.fsdecode(rest))
        elif kind in (b"1", b"2", b"u"):
            changed.append(rest.split(b" ")[1][:1] == b"N")  # S: a submodule
    commit, branch = head.get(b"branch.oid", ""), head.get(b"branch.head", "")
    return _Status(
        commit="" if commit.startswith("(") else commit,
        branch=None if branch.startswith("(") else branch or None,
        changed=tuple(changed),
        untracked=tuple(untracked),
    )


def _read_head(directory: str, deadline: float) -> _Status:
    """What is checked out, in a work tree too large for a look at all of it, or by a git before 2.17."""
    commit = _git(directory, deadline, "rev-parse", "HEAD")
    branch = _git(directory, deadline, "symbolic-ref", "--quiet", "--short", "HEAD") if commit else None
    return _Status(commit=commit or "", branch=branch or None)


def _is_dirty(status: _Status, diff: GitDiff | None) -> bool | None:
    if status.changed is not None:
        return any(status.changed)
    return bool(diff.patch) if diff is not None and (diff.patch or not diff.is_cut) else None


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
    reading, writing = os.pipe()
    try:
        pid = _start([*_GIT, directory, *arguments], os.environ | quiet, writing)
    except (OSError, ValueError):
        os.close(reading)
        return None
    finally:
        os.close(writing)
    timer = threading.Timer(max(0.01, deadline - time.monotonic()), os.kill, (pid, signal.SIGKILL))
    timer.start()
    with open(reading, "rb") as pipe:
        text = pipe.read(most + 1)
    is_cut = len(text) > most
    if is_cut:
        os.kill(pid, signal.SIGKILL)
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    timer.cancel()
    timer.join()  # until then the pid must stay git's
    os.waitpid(pid, 0)
    if is_cut or ended is None or ended.si_code != os.CLD_EXITED:
        return text[:most], True
    return (text, False) if ended.si_status == 0 else None


def _start(command: list[str], environment: dict[str, str], output: int) -> int:
    """Start it without the module subprocess, which takes two milliseconds to load. Raises OSError."""
    actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_DUP2, output, 1),
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    # We ignore some; whoever reads no further ends git by SIGPIPE.
    as_usual = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE)
    return os.posix_spawnp(command[0], command, environment, file_actions=actions, setsigdef=as_usual)
