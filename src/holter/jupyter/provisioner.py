"""Starts kernels as Jupyter does by itself, and is the witness of what they are asked and how they end.

A failure of ours never shows: the kernel is then started and ended by `LocalProvisioner` alone.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Callable
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from holter.errors import is_strict
from holter.jupyter import kernels
from holter.jupyter.kernel_run import About, KernelRun, Started, notebook_of
from holter.jupyter.scribe import the_scribe
from holter.recording import kernels as contract
from holter.recording.settings import read_settings

NAME = "holter-provisioner"
# Other settings are about runs of metrics, which programs open inside of a kernel.
OF_ALL_KERNELS = ("HOLTER_DIR", "XDG_DATA_HOME", "HOLTER_MODE", "HOLTER_DISK_LIMIT")
# A restart and a shutdown interrupt the cell first: what ran then was cut short by them.
SAME_WISH_S = 1.0
# A cell that has only just begun, or that has ended without the server having heard of it yet, is no loss.
SHORTEST_CELL_S = 0.5
_STATE = "execution_state"


class HolterProvisioner(LocalProvisioner):
    """One kernel of the server, over all its restarts: each of its processes is a run."""

    _run: KernelRun | None = None
    _interrupted: tuple[float, bool] = (float("-inf"), False)
    _busy_since = float("-inf")

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """As without us; the kernel also finds in its environment which run it is."""
        prepared = await super().pre_launch(**kwargs)
        self._run = None
        self._harmlessly(lambda: self._prepare(prepared))
        return prepared

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """As without us; from here on the process is watched."""
        try:
            launched = await super().launch_kernel(cmd, **kwargs)
        except (FileNotFoundError, PermissionError) as error:
            if error.filename != cmd[0]:
                raise
            # The front end shows this to people, who have never heard of the file.
            raise type(error)(error.errno, f"{error.strerror}; {self._mend()}", error.filename) from error
        how = Started(list(cmd), str(kwargs.get("cwd") or ""), dict(kwargs.get("env") or os.environ))
        self._harmlessly(lambda: self._began(how))
        return launched

    async def poll(self) -> int | None:
        """As without us."""
        has_process = self.process is not None
        code = await super().poll()
        if has_process and code is not None:
            self._harmlessly(lambda: self._left(code))
        return code

    async def send_signal(self, signum: int) -> None:
        """As without us; an interrupt of a kernel that lives is written down."""
        if signum == signal.SIGINT:
            self._harmlessly(self._note_interrupt)
        await super().send_signal(signum)

    async def shutdown_requested(self, restart: bool = False) -> None:
        """As without us."""
        self._harmlessly(lambda: self._note_wish("restart" if restart else "shutdown"))
        await super().shutdown_requested(restart=restart)

    async def kill(self, restart: bool = False) -> None:
        """As without us; who ends a kernel without a word wishes its end all the same."""
        self._harmlessly(lambda: self._note_wish("restart" if restart else "shutdown", is_first=True))
        await super().kill(restart=restart)

    def _harmlessly(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # the boundary: the kernel must start, run and end as without us
            if is_strict():
                raise
            self._run = None
            self.log.warning("holter: this notebook's kernel is not recorded: %s: %s", type(error).__name__, error)

    def _prepare(self, prepared: dict[str, Any]) -> None:
        environ: dict[str, str] = prepared["env"]
        for variable in (contract.VARIABLE, contract.BEFORE):  # of a server that is itself inside a kernel
            environ.pop(variable, None)
        chosen = {name: environ[name] for name in OF_ALL_KERNELS if name in environ}
        settings = read_settings({}, chosen, directory=str(prepared.get("cwd") or "."))
        if settings.mode == "disabled":
            return
        about = About(
            id=self.kernel_id,
            name=self.kernel_spec.display_name,
            notebook=notebook_of(environ),
            deaths_before=kernels.deaths_in_a_row(self.kernel_id),
        )
        self._run = KernelRun(about, settings, scribe=the_scribe(), log=self.log)
        environ[contract.VARIABLE] = self._run.variable
        before = kernels.last_ended(self.kernel_id)
        if before is not None and before.data == self._run.data and (not before.wish or before.was_cut_short):
            environ[contract.BEFORE] = before.id

    def _mend(self) -> str:
        name = getattr(self.parent, "kernel_name", "") or self.kernel_spec.display_name
        return (
            f"the Python of this notebook's kernel is gone: recreate its environment, or remove the kernel with "
            f"`jupyter kernelspec remove {name}` and choose another"
        )

    def _began(self, how: Started) -> None:
        run = self._run
        if run is None or self.pid is None:
            return
        run.started(self.pid, how)
        kernels.remember(run)
        if self.parent is not None and self.parent.has_trait(_STATE):
            self.parent.observe(self._note_state, _STATE)
        self._hear_of_the_end(run)

    def _note_state(self, change: dict[str, Any]) -> None:
        if self._run is not None and change["new"] in ("busy", "idle"):
            self._run.was_ready = True
        if change["new"] == "busy":
            self._busy_since = time.monotonic()

    def _hear_of_the_end(self, run: KernelRun) -> None:
        """Jupyter looks every three seconds whether a kernel is alive; the kernel of the system tells at once."""
        with contextlib.suppress(OSError, AttributeError, NotImplementedError, RuntimeError):
            pidfd = os.pidfd_open(run.pid)
            try:
                loop = asyncio.get_running_loop()
                loop.add_reader(pidfd, self._ended, loop, pidfd, run)
            except BaseException:
                os.close(pidfd)
                raise

    def _ended(self, loop: asyncio.AbstractEventLoop, pidfd: int, run: KernelRun) -> None:
        loop.remove_reader(pidfd)
        try:
            # It stays to be waited for: that is the business of who started it.
            status = _peek(pidfd)
        except OSError:
            status = None  # somebody has waited for it: `poll` knows
        finally:
            os.close(pidfd)
        if status is not None:
            self._harmlessly(lambda: run.exited(status))

    def _left(self, code: int) -> None:
        if self._run is not None:
            self._run.exited(-code if code < 0 else code << 8)

    def _is_running(self) -> bool:
        run = self._run
        if run is None or run.has_ended or self.process is None:
            return False
        code = self.process.poll()
        if code is not None:
            self._left(code)
        return code is None

    def _note_interrupt(self) -> None:
        if not self._is_running() or self._run is None:
            return
        is_busy = self._is_busy()
        self._interrupted = (time.monotonic(), is_busy)
        self._run.asked("interrupt", is_busy=is_busy)

    def _note_wish(self, kind: str, *, is_first: bool = False) -> None:
        if not self._is_running() or self._run is None or (is_first and self._run.wish):
            return
        at_s, was_busy = self._interrupted
        was_cut_short = was_busy and time.monotonic() - at_s < SAME_WISH_S
        self._run.asked(kind, is_busy=was_cut_short or self._is_busy())

    def _is_busy(self) -> bool:
        """Whether a cell runs, as far as the server has heard of its kernel."""
        has_run_s = time.monotonic() - self._busy_since
        return getattr(self.parent, _STATE, "") == "busy" and has_run_s >= SHORTEST_CELL_S


def _peek(pidfd: int) -> int | None:
    """The wait status of a child that has ended, without waiting for it; None where it has not."""
    found = os.waitid(os.P_PIDFD, pidfd, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    if found is None:
        return None
    if found.si_code == os.CLD_EXITED:
        return found.si_status << 8
    return found.si_status | (0x80 if found.si_code == os.CLD_DUMPED else 0)
