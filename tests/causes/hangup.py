"""What is, and what is not, `hangup`."""

from tests.causes.example import Example
from tests.causes.specimens import caught, evidence, exited, failed, signalled

EXAMPLES = [
    Example(evidence(signalled(1, signals=(caught(1, code=128),))), fires=True),
    Example(evidence(signalled(1)), fires=True),
    Example(evidence(signalled(1, signals=(caught(1, sender_pid=77, sender="bash"),))), fires=True),
    Example(evidence(exited(0, signals=(caught(1, code=128),), handled=(1,))), fires=False),
    Example(evidence(failed("ValueError", "x", signals=(caught(1, before_s=900),), handled=(1,))), fires=False),
    Example(evidence(signalled(15)), fires=False),
]
