"""`holter.init()`: from what the user asked for to a run that records."""

import contextlib
import copyreg
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from holter.client import active
from holter.client.disabled import disabled_run
from holter.client.identity import Identity, identify_run, new_name, new_run_id
from holter.client.past import Bookmark, Past, recall
from holter.client.recorder import Recorder
from holter.client.run import Run
from holter.client.settings import Settings, read_settings
from holter.client.sidecar_link import SidecarLink
from holter.client.voice import Voice
from holter.errors import UsageError
from holter.journal.rundir import make_private, private_temporary, run_directory
from holter.model.clock import Clock
from holter.model.records import Described, Opened
from holter.probes.identity import ProcessIdentity, identify
from holter.version import __version__
from holter.wire.way_back import Watch

# W&B's own switches, which mean nothing here; everything else that is unknown is a typing error worth a word.
_IGNORED = frozenset(
    "allow_val_change anonymous config_exclude_keys config_include_keys force fork_from magic monitor_gym resume_from"
    " save_code sync_tensorboard tensorboard".split()
)
_REINIT = (None, True, False, "default", "return_previous", "finish_previous", "create_new")
_SCHEDULERS = ("SLURM_JOB_ID", "KUBERNETES_SERVICE_HOST", "PBS_JOBID", "LSB_JOBID")
_used: set[str] = set()


def init(
    project: str | None = None,
    entity: str | None = None,
    *,
    name: str | None = None,
    id: str | None = None,
    config: Any = None,
    tags: Any = None,
    notes: str | None = None,
    group: str | None = None,
    job_type: str | None = None,
    dir: Any = None,
    mode: str | None = None,
    resume: Any = None,
    reinit: Any = None,
    settings: Any = None,
    **others: Any,
) -> Run:
    """Start a run and make it the active one. Never touches the network, never waits for the sidecar.

    Raises UsageError for what cannot work; a directory that can't be made is replaced by a temporary one.
    """
    arguments = {"project": project, "entity": entity, "name": name, "run_id": id, "tags": tags, "notes": notes}
    arguments |= {"group": group, "job_type": job_type, "dir": dir, "mode": mode, "resume": resume}
    _reject_unknown(others)
    chosen = read_settings({**_as_mapping(settings, "settings"), **_given(arguments)}, os.environ)
    values = _as_mapping(config, "config")
    if (previous := _previous(reinit)) is not None:
        previous.config.update(values)
        return previous
    if chosen.mode == "disabled":
        run = disabled_run(chosen, values)
        active.remember(run, with_hooks=False)
        return run
    return _Opening(chosen, values).open()


def attach(run: str, directory: str, described: bytes, attempt: int, /) -> Run:
    """A run that another process of ours opened, continued in this one with a journal of its own."""
    if (current := active.current()) is not None and current.id == run:
        return current
    opening = _Opening(read_settings({"run_id": run}, os.environ), {})
    return opening.join(directory, msgspec.msgpack.decode(described, type=Described), attempt=attempt)


# A run handed to a spawned process goes on there, in a journal of that process.
copyreg.pickle(Run, lambda run: (attach, run.address))


class _Opening:
    """The steps of `init()` for one run, in the order in which they are called."""

    def __init__(self, settings: Settings, config: dict[str, Any]) -> None:
        self.settings = settings
        self.config = config
        self.clock = Clock()
        self.process = identify(os.getpid()) or ProcessIdentity(os.uname().nodename, "", os.getpid(), 0)
        self.bookmark = Bookmark(settings.dir, settings.project) if settings.resume == "auto" else None
        self.identity = self._identify()
        silent = settings.silent or bool(self.identity.rank)
        self.voice = Voice(silent=silent, quiet=settings.quiet)
        self.past = Past()

    def open(self) -> Run:
        directory = run_directory(self.settings.dir, self.identity.run)
        self.past = recall(directory, self.process)
        self._settle_resume(directory)
        directory = self._directory()
        run = self._start(directory, self._describe(), self._attempt())
        if self.past.config or self.config:
            run.config.update({**self.past.config, **self.config})
        self._watch(run)
        active.remember(run)
        _used.add(run.id)
        self._set_bookmark(run)
        self.voice.tell(f"recording {run.project}/{run.name}; `holter show {run.id}`")
        return run

    def join(self, directory: str, described: Described, *, attempt: int) -> Run:
        """A second process of a run: it neither describes the run nor ends it."""
        run = self._start(directory, described, attempt, is_owner=False)
        active.remember(run)
        return run

    def _identify(self) -> Identity:
        parent = identify(os.getppid())
        agent = f"{parent.boot_id}/{parent.pid}/{parent.started}" if parent else f"{os.getppid()}"
        chosen = self.settings.run_id or (self.bookmark.read() if self.bookmark else "")
        found = identify_run(chosen, os.environ, agent=agent)
        # A second run of the same process, as in a sweep, is not the job's one run any more.
        return Identity(new_run_id()) if found.is_shared and found.run in _used and not self.settings.run_id else found

    def _settle_resume(self, directory: str) -> None:
        if self.settings.resume == "never" and self.past.attempts:
            raise UsageError(f"run {self.identity.run} exists in {directory}: choose another id or resume='allow'")
        if self.settings.resume == "must" and not self.past.attempts:
            raise UsageError(
                f"there is no run {self.identity.run} in {directory} to resume: check the id and HOLTER_DIR"
            )

    def _attempt(self) -> int:
        if self.identity.attempt is not None:
            return self.identity.attempt
        return self.past.attempts + (0 if self.past.is_alive else 1)

    def _directory(self) -> str:
        wanted = run_directory(self.settings.dir, self.identity.run)
        try:
            make_private(wanted)
            if os.access(wanted, os.W_OK | os.X_OK):
                return wanted
            because = "it is not writable"
        except OSError as error:
            because = error.strerror or str(error)
        fallback = run_directory(private_temporary(), self.identity.run)
        make_private(fallback)
        self.voice.warn("directory", f"can't record in {wanted} ({because}): this run goes to {fallback}")
        return fallback

    def _set_bookmark(self, run: Run) -> None:
        if self.bookmark is not None:
            with contextlib.suppress(OSError):  # then the next program begins anew
                self.bookmark.write(run.id)
            run.when_well(self.bookmark.clear)

    def _describe(self) -> Described:
        now_ns = self.clock.now_ns()
        past = self.past.described
        if past is not None:
            named = {"name": self.settings.name} if self.settings.name else {}
            return msgspec.structs.replace(past, at_ns=now_ns, resumed=True, **named)
        chosen = self.settings
        return Described(
            at_ns=now_ns,
            started_ns=now_ns,
            project=chosen.project,
            name=chosen.name or new_name(),
            entity=chosen.entity,
            notes=chosen.notes,
            group=chosen.group,
            job_type=chosen.job_type,
            tags=chosen.tags,
        )

    def _start(self, directory: str, described: Described, attempt: int, *, is_owner: bool = True) -> Run:
        def opened() -> Opened:
            me = identify(os.getpid()) or self.process
            return Opened(
                at_ns=self.clock.now_ns(),
                run=self.identity.run,
                writer="client" if is_owner and me.pid == self.process.pid else "worker",
                host=me.host,
                boot_id=me.boot_id,
                pid=me.pid,
                process_started=me.started,
                pid_namespace=me.pid_namespace,
                holter=__version__,
                attempt=attempt,
                rank=self.identity.rank,
            )

        limit = self.settings.disk_limit if self.settings.disk_limit >= 0 else _tenth_of_free(directory)
        recorder = Recorder(
            directory, opened, complain=self.voice.warn, clock=self.clock, limit_bytes=limit, attempt=attempt
        )
        recorder.start_from(self.past.last, self.past.next_step)
        link = active.link(lambda: SidecarLink(self.voice))
        run = Run(self.identity.run, recorder, described, link=link, voice=self.voice, clock=self.clock)
        if is_owner:
            run.describe(described)
        else:
            run.disown()
        return run

    def _watch(self, run: Run) -> None:
        journal = run.journal
        message = Watch(
            run=run.id,
            directory=run.dir,
            journal=journal.id.hex(),
            pid=self.process.pid,
            process_started=self.process.started,
            attempt=self._attempt(),
            rank=self.identity.rank,
            limit_bytes=journal.limit_bytes,
            linger_s=5.0 if any(name in os.environ for name in _SCHEDULERS) else 60.0,
        )
        try:
            active.link(lambda: SidecarLink(self.voice)).watch(message)
        except OSError as error:
            self.voice.warn("sidecar", f"the sidecar did not start ({error}): rows are safe, system curves are missing")


def _given(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


def _as_mapping(values: Any, what: str) -> dict[str, Any]:
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return dict(values)
    if hasattr(values, "__dict__") and not isinstance(values, type):  # argparse.Namespace, dataclasses
        return dict(vars(values))
    raise UsageError(f"{what} must be a dict of names and values, got {type(values).__name__} {str(values)[:40]!r}")


def _reject_unknown(others: dict[str, Any]) -> None:
    unknown = sorted(others.keys() - _IGNORED)
    if unknown:
        raise UsageError(f"init() has no argument {unknown[0]!r}: settings={{...}} takes what docs/settings.md lists")


def _previous(reinit: Any) -> Run | None:
    """The active run if it stays the one; W&B's rules: kept by default, ended by True and `finish_previous`."""
    if reinit not in _REINIT:
        raise UsageError(f"reinit must be True, False or one of {', '.join(map(str, _REINIT[3:]))}; got {reinit!r}")
    active.leave_to_parent()
    current = active.current()
    if current is None or reinit == "create_new":
        return None
    if reinit in (True, "finish_previous") or (reinit in (None, "default") and _in_notebook()):
        current.finish()
        return None
    return current


def _in_notebook() -> bool:
    import sys

    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython, "get_ipython", lambda: None)() is not None


def _tenth_of_free(directory: str) -> int:
    with contextlib.suppress(OSError):
        space = os.statvfs(directory)
        return int(space.f_bavail * space.f_frsize // 10)
    return -1
