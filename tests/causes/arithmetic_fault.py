"""What is, and what is not, `arithmetic-fault`."""

from tests.causes.example import Example
from tests.causes.specimens import caught, evidence, failed, signalled

EXAMPLES = [
    Example(evidence(signalled(8, signals=(caught(8, code=3, address=0x5000, stack_pointer=0x7FFD),))), fires=True),
    Example(evidence(signalled(8, signals=(caught(8, code=1, address=0x5000, stack_pointer=0x7FFD),))), fires=True),
    Example(evidence(signalled(8)), fires=True),
    Example(evidence(signalled(8, signals=(caught(8, sender_pid=77),))), fires=False),
    Example(evidence(failed("ZeroDivisionError", "division by zero")), fires=False),
]
