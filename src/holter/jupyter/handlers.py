"""What a front end may ask of this server about a kernel: its memory now, and why the one before died."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web

from holter.errors import HolterError
from holter.jupyter import kernels
from holter.jupyter.deaths import explain
from holter.jupyter.figures import Figures, KernelFigures

_Answer = TypeVar("_Answer")
_KERNEL = r"(?P<kernel_id>\w+-\w+-\w+-\w+-\w+)"
# One thread each: a verdict may take seconds, and figures are asked for every two.
_figures_thread = ThreadPoolExecutor(1, thread_name_prefix="holter-figures")
_deaths_thread = ThreadPoolExecutor(1, thread_name_prefix="holter-deaths")
_looks = KernelFigures()


class _KernelHandler(APIHandler):
    """Like Jupyter's own handlers of kernels: for those who are logged in and may read kernels."""

    auth_resource = "kernels"

    def answer(self, found: object) -> None:
        """As JSON."""
        self.set_header("Content-Type", "application/json")
        self.finish(msgspec.json.encode(found))

    async def aside(self, thread: ThreadPoolExecutor, work: Callable[[], _Answer]) -> _Answer:
        """Do it in a thread, while the server serves others."""
        return await asyncio.get_running_loop().run_in_executor(thread, work)


class MemoryHandler(_KernelHandler):
    """The memory of a kernel against the limit that really holds."""

    @web.authenticated
    @authorized
    async def get(self, kernel_id: str) -> None:
        """Answers with `Figures`; 404 for a kernel that is not there, or not on this machine."""
        pids = {known: self._pid(known) for known in self.kernel_manager.list_kernel_ids()}
        pid = pids.get(kernel_id, 0)
        if not pid:
            raise web.HTTPError(404, f"kernel {kernel_id} has no process on this machine")

        def look() -> Figures:
            _looks.forget_all_but(frozenset(pids.values()))
            return _looks.look(pid)

        self.answer(await self.aside(_figures_thread, look))

    def _pid(self, kernel_id: str) -> int:
        provisioner = self.kernel_manager.get_kernel(kernel_id).provisioner
        return getattr(provisioner, "pid", None) or 0


class DeathHandler(_KernelHandler):
    """Why the last process of a kernel ended."""

    @web.authenticated
    @authorized
    async def get(self, kernel_id: str) -> None:
        """Answers as `holter why --json` does, with more; 404 where none of its processes has ended or was recorded."""
        run = kernels.last_ended(kernel_id)
        if run is None:
            raise web.HTTPError(404, f"no death of kernel {kernel_id} is recorded")
        try:
            found: dict[str, Any] = await self.aside(_deaths_thread, lambda: explain(run))
        except (HolterError, OSError) as error:
            raise web.HTTPError(404, str(error)) from error
        # A Jupyter server forgets a kernel that it has restarted in vain for some times.
        is_given_up = found["is_death"] and kernel_id not in self.kernel_manager
        self.answer(found | {"is_given_up": is_given_up})


ROUTES = [(rf"/holter/kernels/{_KERNEL}/memory", MemoryHandler), (rf"/holter/kernels/{_KERNEL}/death", DeathHandler)]
