"""What is, and what is not, `collective-timeout`."""

from tests.causes.example import Example
from tests.causes.specimens import before, evidence, exited, failed, said, signalled

_TEXT = "[gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 5000ms for recv operation to complete"

_WAITS = failed("RuntimeError", _TEXT, pid=900, rank=0, role="rank", last_step=42)

_SLEEPS = signalled(15, pid=901, rank=1, role="rank", last_step=41)

_KILLED = signalled(9, pid=901, rank=1, role="rank", last_step=41, at_ns=before(5))

EXAMPLES = [
    Example(evidence(_WAITS, ranks=(_WAITS, _SLEEPS)), fires=True),
    Example(evidence(failed("torch.distributed.DistBackendError", f"[Rank 0] {_TEXT}")), fires=True),
    Example(
        evidence(
            signalled(6), said=(said("[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=808)"),)
        ),
        fires=True,
    ),
    # It fires, as a consequence: rank 1 was killed, so nobody came.
    Example(evidence(_WAITS, ranks=(_KILLED, _WAITS)), fires=True),
    Example(evidence(failed("TimeoutError", "timed out")), fires=False),
    Example(evidence(exited(0), said=(said("Watchdog caught collective operation timeout"),)), fires=False),
    Example(
        evidence(signalled(6), said=(said("Watchdog caught collective operation timeout", before_s=3600),)), fires=False
    ),
]
