"""What is, and what is not, `nonzero-exit`."""

from holter.model.evidence import End
from holter.model.records import Finished
from tests.causes.example import Example
from tests.causes.specimens import before, caught, evidence, exited, failed, gone, said, signalled

_DONE = Finished(at_ns=before(0.1), how="atexit")

_TEXT = Finished(at_ns=before(0.1), how="context", exit_code=1, exit_text="no such dataset: cifar11")

_SHELL_CHILD = End(pid=900, role="child", name="python train.py", at_ns=before(0.1), status=11)

EXAMPLES = [
    Example(evidence(exited(3, finished=_DONE)), fires=True),
    Example(evidence(exited(1, finished=_TEXT)), fires=True),
    Example(evidence(exited(4, finished=Finished(at_ns=before(0.1), how="_exit", exit_code=4))), fires=True),
    Example(evidence(exited(0, finished=Finished(at_ns=before(1), how="finish", exit_code=2))), fires=True),
    # Nobody read its status, and it had said with what it left.
    Example(evidence(gone(finished=Finished(at_ns=before(1), how="_exit", exit_code=4))), fires=True),
    Example(evidence(gone(finished=_DONE)), fires=False),
    Example(
        evidence(exited(2, role="command"), said=(said("train.py: error: unrecognized arguments: --lr"),)), fires=True
    ),
    Example(evidence(exited(127, role="command"), said=(said("bash: trian: command not found"),)), fires=True),
    Example(evidence(exited(139, role="command"), children=(_SHELL_CHILD,)), fires=True),
    # It caught an exception and printed it; what ended it is its own exit code.
    Example(evidence(exited(5, finished=_DONE), said=(said("ValueError: caught and printed"),)), fires=True),
    Example(evidence(exited(0, finished=_DONE)), fires=False),
    Example(evidence(failed("ValueError", "bad label")), fires=False),
    Example(evidence(signalled(9)), fires=False),
    # It lived on after SIGTERM, for long.
    Example(evidence(exited(3, handled=(15,), signals=(caught(15, before_s=3000),))), fires=True),
    # Somebody sent SIGTERM, and the program's handler chose the code.
    Example(evidence(exited(143, handled=(15,), signals=(caught(15),))), fires=False),
]
