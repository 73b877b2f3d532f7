"""What is, and what is not, `uncaught-exception`."""

from holter.model.records import Cause, Finished
from tests.causes.example import Example
from tests.causes.specimens import before, caught, evidence, exited, failed, raised, signalled

_NO_KERNEL = "No module named 'ipykernel'"

_POOL = Cause(type="concurrent.futures.process._RemoteTraceback", message="")

_OWN_INTERRUPT = raised("KeyboardInterrupt", "the budget is used up", statement="raise KeyboardInterrupt(text)")

EXAMPLES = [
    Example(evidence(failed("ZeroDivisionError", "division by zero", last_step=41)), fires=True),
    Example(
        evidence(failed("ValueError", "bad label", raised=raised("ValueError", "bad", causes=(_POOL,)))), fires=True
    ),
    Example(evidence(failed("ModuleNotFoundError", "No module named 'einops'")), fires=True),
    Example(evidence(failed("ModuleNotFoundError", _NO_KERNEL, role="kernel")), fires=True),
    Example(
        evidence(
            failed(
                "RuntimeError",
                "An attempt has been made to start a new process before the\n        current process has finished its "
                "bootstrapping phase.",
            )
        ),
        fires=True,
    ),
    Example(
        evidence(failed("RuntimeError", "Cannot re-initialize CUDA in forked subprocess. To use CUDA…")), fires=True
    ),
    Example(
        evidence(failed("torch.AcceleratorError", "CUDA error: invalid device ordinal\nGPU device may…")), fires=True
    ),
    Example(evidence(failed("AttributeError", "Can't pickle local object 'main.<locals>.collate'")), fires=True),
    Example(
        evidence(failed("BlockingIOError", "[Errno 11] Unable to synchronously open file (unable to lock file)")),
        fires=True,
    ),
    # Caught, and told to `finish`.
    Example(
        evidence(failed("ValueError", "bad label", finished=Finished(at_ns=before(0.1), exit_code=1, how="finish"))),
        fires=True,
    ),
    # A thread's exception leaves the program alone.
    Example(evidence(exited(0, others_raised=(raised("ValueError", "in a thread", where="thread"),))), fires=False),
    # Caught, printed, and then the program left on its own terms.
    Example(evidence(exited(3, others_raised=(raised("ValueError", "handed over", where="pool"),))), fires=False),
    # Ctrl-C is an exception in Python, and not the program's own.
    Example(
        evidence(signalled(2, raised=raised("KeyboardInterrupt", ""), signals=(caught(2, code=128),))), fires=False
    ),
    # It raised what Ctrl-C raises by a line of its own, and no signal came.
    Example(evidence(signalled(2, raised=_OWN_INTERRUPT, has_signal_witness=True)), fires=True),
    Example(evidence(signalled(2, raised=_OWN_INTERRUPT)), fires=False),
    # The program said that all was well before it failed in its last lines.
    Example(
        evidence(failed("ValueError", "after finish", finished=Finished(at_ns=1, exit_code=0, how="finish"))),
        fires=False,
    ),
]
