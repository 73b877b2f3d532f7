"""What is, and what is not, `aborted`."""

from tests.causes.example import Example
from tests.causes.specimens import PID, caught, evidence, exited, said, signalled

_ITSELF = caught(6, code=-6, sender_pid=PID)

EXAMPLES = [
    Example(evidence(signalled(6, signals=(_ITSELF,)), said=(said("free(): invalid pointer"),)), fires=True),
    Example(
        evidence(signalled(6), said=(said("terminate called after throwing an instance of 'std::runtime_error'"),)),
        fires=True,
    ),
    Example(evidence(signalled(6)), fires=True),
    Example(evidence(signalled(6, signals=(caught(6, sender_pid=77, sender="bash"),))), fires=False),
    Example(
        evidence(signalled(11, signals=(caught(11, code=1),)), said=(said("free(): invalid pointer"),)), fires=False
    ),
    Example(evidence(exited(1), said=(said("double free or corruption"),)), fires=False),
]
