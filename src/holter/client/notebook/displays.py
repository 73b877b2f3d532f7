"""Copies the text of what cells display: results and `display()`, which never pass through a stream."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from holter.client.capture.patches import Patches

MOST_TEXT = 16 << 10
OUR_OWN = "holter: "
_PLAIN = "text/plain"


class Displays:
    """Hears what a shell shows, and hands its plain text on. What is shown stays as it is."""

    def __init__(self, shell: Any, hand_on: Callable[[bytes], None]) -> None:
        self._shell = shell
        self._hand_on = hand_on
        self._patches = Patches()
        self._is_deaf = False

    def install(self) -> None:
        """Idempotent; does nothing in a terminal, which prints all that it shows, or where the insides are others."""
        if getattr(self._shell, "kernel", None) is None:
            return
        hook, publisher = getattr(self._shell, "displayhook", None), getattr(self._shell, "display_pub", None)
        if callable(getattr(hook, "write_format_data", None)):
            self._wrap(hook, "write_format_data", is_result=True)
        if callable(getattr(publisher, "publish", None)):
            self._wrap(publisher, "publish", is_result=False)

    def remove(self) -> None:
        """Idempotent."""
        self._patches.restore()

    @contextlib.contextmanager
    def unheard(self) -> Iterator[None]:
        """What is shown inside the block is ours, and no output of the program."""
        self._is_deaf = True
        try:
            yield
        finally:
            self._is_deaf = False

    def _wrap(self, owner: Any, name: str, /, *, is_result: bool) -> None:
        if self._patches.has(owner, name):
            return
        real = getattr(owner, name)

        def shown(*args: Any, **kwargs: Any) -> Any:
            with contextlib.suppress(Exception):  # the boundary: what was to be shown is shown
                self._keep(args[0] if args else kwargs.get("data"), is_result=is_result)
            return real(*args, **kwargs)

        self._patches.set(owner, name, shown)

    def _keep(self, data: Any, *, is_result: bool) -> None:
        text = data.get(_PLAIN) if isinstance(data, dict) else None
        if not isinstance(text, str) or self._is_deaf or text.startswith(OUR_OWN):
            return
        begin = f"Out[{self._shell.displayhook.prompt_count}]: " if is_result else ""
        self._hand_on(f"{begin}{text[:MOST_TEXT]}\n".encode("utf-8", "replace"))
