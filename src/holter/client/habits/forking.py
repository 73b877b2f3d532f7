"""A program that forks after TensorFlow has taken a GPU: its child hangs at its first operation."""

import sys

from holter.client.habits.lines import own_line
from holter.model.clock import Clock
from holter.model.warning_records import Noticed

CONTEXT = "tensorflow.python.eager.context"


def noticed_at_fork() -> Noticed | None:
    """Called before the fork; None where TensorFlow has no GPU yet."""
    context = getattr(sys.modules.get(CONTEXT), "_context", None)
    if getattr(context, "_context_handle", None) is None:
        return None
    devices = getattr(context, "_logical_devices", None) or ()
    if not any(getattr(each, "device_type", "") == "GPU" for each in devices):
        return None
    return Noticed(at_ns=Clock().now_ns(), habit="forked-gpu", where=own_line(sys._getframe().f_back))
