"""Takes a SIGTERM from whoever started a notebook's kernel for what it is: the wish that the kernel ends. Pure.

VS Code ends its kernels so, for a restart as well, and without a word to them. A Jupyter server asks first, and does so
only where nobody listens; a colleague's `kill` comes from another process.
"""

import signal
from collections.abc import Sequence

from holter.journal.digest import Digest
from holter.model.evidence import Caught
from holter.model.records import KernelAsked
from holter.model.state import KERNEL_LEAVES_WITHIN_NS

_WISHES = ("restart", "shutdown")


def add_wishes(digests: Sequence[Digest], caught: Sequence[Caught]) -> None:
    """Have the journals of kernels say what their parents wished by a signal, unless they had asked before."""
    asked = [record for each in digests for record in each.said if isinstance(record, KernelAsked)]
    for each in digests:
        wishes = [signalled for signalled in caught if _is_wish(signalled, each)]
        if wishes and not any(_led_to(record, wishes[-1]) for record in asked):
            is_busy = _is_in_a_cell(each)
            each.said.append(KernelAsked(at_ns=wishes[-1].at_ns, kind="shutdown", is_busy=is_busy))


def _is_wish(caught: Caught, each: Digest) -> bool:
    opened = each.opened
    is_of_parent = opened.kernel_parent != 0 and caught.sender_pid == opened.kernel_parent
    is_to_us = caught.pid == opened.pid and caught.at_ns >= opened.at_ns
    return is_of_parent and is_to_us and caught.signal == signal.SIGTERM and caught.is_sent


def _led_to(asked: KernelAsked, wish: Caught) -> bool:
    return asked.kind in _WISHES and 0 <= wish.at_ns - asked.at_ns <= KERNEL_LEAVES_WITHIN_NS


def _is_in_a_cell(each: Digest) -> bool:
    return each.cell is not None and (each.cell_ended is None or each.cell_ended.ordinal < each.cell.ordinal)
