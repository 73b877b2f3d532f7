"""`%load_ext holter`: the kernel is recorded for its own sake, whether a run comes to be or not."""

import os
from typing import Any

from holter.client import active
from holter.client.notebook.kernel import this_kernel
from holter.client.notebook.magics import register
from holter.client.opening import open_kernel_run
from holter.errors import UsageError, is_strict


def load_ipython_extension(shell: Any) -> None:
    """Called by IPython. Idempotent; raises UsageError for settings that cannot work, and nothing else."""
    try:
        register(shell)
        kernel = this_kernel()
        if kernel is not None and active.kernel_run() is None:
            open_kernel_run(kernel.place.name or os.uname().nodename)
    except UsageError:
        raise
    except Exception:  # the boundary: a notebook without a record is better than one without its first cell
        if is_strict():
            raise


def unload_ipython_extension(shell: Any) -> None:
    """Called by IPython: the record of the kernel ends here. Idempotent."""
    if (run := active.kernel_run()) is not None:
        run.finish()
