"""What is, and what is not, `interrupted`."""

from tests.causes.example import Example
from tests.causes.specimens import caught, evidence, exited, failed, signalled

_TYPED = caught(2, code=128)

_SENT = caught(2, sender_pid=77, sender="jupyter-lab: jupyter-lab")

EXAMPLES = [
    Example(evidence(failed("KeyboardInterrupt", "", signals=(_TYPED,), handled=(2,), status=2)), fires=True),
    Example(evidence(signalled(2)), fires=True),
    Example(evidence(failed("KeyboardInterrupt", "", signals=(_SENT,))), fires=True),
    Example(evidence(signalled(3, signals=(caught(3, code=128),))), fires=True),
    # It was interrupted, caught that, and went on to its normal end.
    Example(evidence(exited(0, signals=(caught(2, code=128, before_s=900),), handled=(2,))), fires=False),
    Example(evidence(failed("ValueError", "bad label", signals=(caught(2, code=128, before_s=900),))), fires=False),
    Example(evidence(failed("KeyboardInterrupt", "", statement="raise KeyboardInterrupt")), fires=False),
    Example(evidence(signalled(9, signals=(_TYPED,))), fires=False),
]
