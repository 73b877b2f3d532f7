"""`sys.monitoring` as Python 3.12 has it, as much as is used of it, for Pythons without: it passes the same tests.

What it imitates was seen with 3.12.1 and 3.13.0: an exception that leaves a frame is no return, and one that is thrown
into a generator does not resume it.
"""

import dis
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

GENERATOR = 0x20 | 0x80 | 0x200  # also coroutines of both kinds


class ImitatedMonitoring:
    """Turns what `sys.settrace` tells into the events of `sys.monitoring`. Of one thread, and those started since."""

    def __init__(self) -> None:
        self.events = SimpleNamespace(PY_START=1, PY_RESUME=2, PY_RETURN=4, PY_YIELD=8, LINE=32)
        self._tools: dict[int, str] = {}
        self._callbacks: dict[tuple[int, int], Callable[..., object]] = {}
        self._local: dict[int, tuple[CodeType, int, int]] = {}
        self._begun: dict[int, FrameType] = {}
        self._before: Any = None

    def start(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        threading.settrace(self._trace)

    def stop(self) -> None:
        sys.settrace(self._before)
        threading.settrace(self._before)

    def get_tool(self, tool: int) -> str | None:
        return self._tools.get(tool)

    def use_tool_id(self, tool: int, name: str) -> None:
        if tool in self._tools:
            raise ValueError(f"tool {tool} is already in use")
        self._tools[tool] = name

    def register_callback(self, tool: int, event: int, call: Callable[..., object]) -> None:
        self._callbacks[tool, event] = call

    def set_local_events(self, tool: int, code: CodeType, events: int) -> None:
        self._local[id(code)] = (code, tool, events)

    def _fire(self, event: int, code: CodeType, *args: object) -> None:
        _, tool, wanted = self._local[id(code)]
        if event & wanted:
            self._callbacks[tool, event](code, *args)

    def _trace(self, frame: FrameType, event: str, arg: object) -> Any:  # noqa: ANN401  as settrace has it
        code = frame.f_code
        if id(code) not in self._local:
            return None
        is_first = self._begun.get(id(frame)) is not frame
        self._begun[id(frame)] = frame
        self._fire(self.events.PY_START if is_first else self.events.PY_RESUME, code, frame.f_lasti)
        return self._follower()

    def _follower(self) -> Callable[..., Any]:
        is_raising = False

        def follow(frame: FrameType, event: str, arg: object) -> Any:  # noqa: ANN401  as settrace has it
            nonlocal is_raising
            code = frame.f_code
            if event == "line":
                is_raising = False
                self._fire(self.events.LINE, code, frame.f_lineno)
            elif event == "exception":
                is_raising = True
            elif event == "return" and not is_raising:
                has_paused = code.co_flags & GENERATOR and not _has_returned(frame)
                self._fire(self.events.PY_YIELD if has_paused else self.events.PY_RETURN, code, 0, arg)
            return follow

        return follow


def _has_returned(frame: FrameType) -> bool:
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("RETURN")
