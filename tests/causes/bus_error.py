"""What is, and what is not, `bus-error`."""

from tests.causes.example import Example
from tests.causes.specimens import caught, evidence, exited, signalled

_CUT = caught(7, code=2, address=0x7F00, stack_pointer=0x7FFD, mapping="7f00-7fff r--s 0 08:01 5 /data/train.bin")

EXAMPLES = [
    Example(evidence(signalled(7, signals=(_CUT,))), fires=True),
    Example(evidence(signalled(7)), fires=True),
    Example(evidence(signalled(7, signals=(caught(7, code=4, address=0x7F00, stack_pointer=0x7FFD),))), fires=False),
    Example(evidence(signalled(7, signals=(caught(7, sender_pid=77),))), fires=False),
    Example(evidence(exited(0, signals=(caught(7, code=2, address=0x7F00, is_handled=True),))), fires=False),
]
