"""What happens in a notebook when a run is opened in it."""

from holter.client.notebook.kernel import this_kernel
from holter.client.notebook.magics import register
from holter.client.run import Run
from holter.errors import is_strict


def enter(run: Run, data: str, *, may_show: bool) -> None:
    """Cells belong to the run from now on, and `%holter` is there. Never raises, except in tests of ours.

    Args:
        may_show: whether the death of the notebook's previous kernel may be shown here, which takes a second or two.
    """
    try:
        if (kernel := this_kernel()) is not None:
            register(kernel.shell)
            kernel.enter(run, data, may_show=may_show)
    except Exception:  # the boundary: a front end that none of us knows
        if is_strict():
            raise
