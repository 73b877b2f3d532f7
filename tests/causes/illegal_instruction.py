"""What is, and what is not, `illegal-instruction`."""

from tests.causes.example import Example
from tests.causes.specimens import caught, evidence, exited, signalled

EXAMPLES = [
    Example(evidence(signalled(4, signals=(caught(4, code=2, address=0x5000, stack_pointer=0x7FFD),))), fires=True),
    Example(evidence(signalled(4)), fires=True),
    Example(evidence(signalled(4, signals=(caught(4, sender_pid=77),))), fires=False),
    Example(evidence(exited(4)), fires=False),
]
