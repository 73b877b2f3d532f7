"""What is, and what is not, `terminated`."""

from holter.model.records import Finished
from tests.causes.example import Example
from tests.causes.specimens import before, caught, evidence, exited, failed, signalled

_SHELL = caught(15, sender_pid=77, sender="bash: -bash")

EXAMPLES = [
    Example(evidence(signalled(15, signals=(_SHELL,))), fires=True),
    Example(evidence(signalled(15)), fires=True),
    # A launcher says so, in which nobody watched; and another signal, and a program that only says so.
    Example(evidence(failed("SignalException", "Process 812 got signal: 15", role="command")), fires=True),
    Example(evidence(failed("SignalException", "Process 812 got signal: 1", role="command")), fires=False),
    Example(evidence(failed("ValueError", "Process 812 got signal: 15")), fires=False),
    # It saved, and left with 0: it looks like success.
    Example(evidence(exited(0, signals=(_SHELL,), handled=(15,))), fires=True),
    Example(evidence(exited(143, handled=(15,))), fires=True),
    # It survived a SIGTERM ten minutes ago, and then failed by itself.
    Example(
        evidence(failed("ValueError", "bad label", signals=(caught(15, before_s=600),), handled=(15,))), fires=False
    ),
    Example(
        evidence(exited(0, signals=(_SHELL,), handled=(15,), finished=Finished(at_ns=before(9), exit_code=0))),
        fires=False,
    ),
    Example(evidence(signalled(9, signals=(caught(15, before_s=5, is_handled=True),))), fires=False),
    Example(evidence(exited(0)), fires=False),
]
