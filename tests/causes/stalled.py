"""What is, and what is not, `stalled`."""

from holter.model.evidence import End, Stall
from tests.causes.example import Example
from tests.causes.specimens import BEGAN_NS, END_NS, PID, caught, evidence, exited, failed, said, signalled

_ALIVE = End(pid=PID, began_ns=BEGAN_NS, at_ns=END_NS, is_alive=True, last_step=400, last_row_ns=END_NS - 900 * 10**9)

_LOCK = Stall(
    silent_s=900, usual_s=0.4, cpu_percent=0.0, kernel_state="S", stack="acquire < get < next_batch (train.py:20)"
)

_SHORT = Stall(silent_s=70, usual_s=30)

_STOPPED = Stall(silent_s=30, usual_s=0.4, kernel_state="T")

_FORKED = "This process (pid=812) is multi-threaded, use of fork() may lead to deadlocks in the child."

EXAMPLES = [
    Example(evidence(_ALIVE, state="running", stalls=(_LOCK,), said=(said(_FORKED, before_s=900),)), fires=True),
    Example(evidence(_ALIVE, state="running", stalls=(_STOPPED,)), fires=True),
    Example(evidence(failed("RuntimeError", "DataLoader timed out after 5 seconds")), fires=True),
    # A long evaluation is no stall.
    Example(evidence(_ALIVE, state="running", stalls=(_SHORT,)), fires=False),
    Example(evidence(_ALIVE, state="running"), fires=False),
    Example(evidence(exited(0), stalls=(_LOCK,)), fires=False),
    # It went on after the stall and died of something else.
    Example(evidence(signalled(11, signals=(caught(11, code=1),)), stalls=(_LOCK,)), fires=False),
]
