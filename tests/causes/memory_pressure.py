"""What is, and what is not, `memory-pressure`."""

from tests.causes.example import Example
from tests.causes.specimens import caught, evidence, failed, signalled

EXAMPLES = [
    Example(evidence(failed("holter.errors.MemoryPressure", "memory is about to be gone")), fires=True),
    Example(evidence(failed("holter.errors.MemoryPressure", "memory is about to be gone", status=2)), fires=True),
    Example(evidence(failed("KeyboardInterrupt", "", signals=(caught(2, code=128),), status=2)), fires=False),
    Example(evidence(failed("MemoryError", "")), fires=False),
    Example(evidence(signalled(9)), fires=False),
]
