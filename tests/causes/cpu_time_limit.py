"""What is, and what is not, `cpu-time-limit`."""

from holter.model.evidence import Surroundings
from tests.causes.example import Example
from tests.causes.specimens import caught, evidence, exited, signalled

_LIMITED = Surroundings(cpu_limit_s=3600)

EXAMPLES = [
    Example(evidence(signalled(24, signals=(caught(24, code=128),)), surroundings=_LIMITED), fires=True),
    Example(evidence(signalled(24)), fires=True),
    Example(evidence(signalled(9, cpu_s=3600.4), surroundings=_LIMITED), fires=True),
    Example(evidence(signalled(9, signals=(caught(24, code=128, before_s=1, is_handled=True),))), fires=True),
    Example(evidence(signalled(9, cpu_s=20.0), surroundings=_LIMITED), fires=False),
    Example(evidence(signalled(24, signals=(caught(24, sender_pid=77),))), fires=False),
    Example(evidence(exited(0, signals=(caught(24, code=128, is_handled=True),)), surroundings=_LIMITED), fires=False),
]
