"""What is, and what is not, `userspace-oom-killer`."""

from holter.model.evidence import Memory, MemoryLevel, OomDaemon
from tests.causes.example import Example
from tests.causes.specimens import before, caught, evidence, exited, signalled

_SHORT = Memory(
    levels=(MemoryLevel(level=0, kills=0),),
    available_bytes=2e9,
    total_bytes=64e9,
    full_pressure_percent=61.0,
    host_kills=0,
    sampled_ns=before(0.5),
)

_EARLYOOM = caught(15, sender_pid=312, sender="earlyoom: /usr/bin/earlyoom -r 60")

_SAID = ("Killed /user.slice/train.service due to memory pressure for /user.slice being 63.2% > 60.00% for > 30s",)

EXAMPLES = [
    Example(
        evidence(signalled(15, signals=(_EARLYOOM,)), memory=_SHORT, oom_daemon=OomDaemon(running=("earlyoom",))),
        fires=True,
    ),
    Example(evidence(signalled(9), oom_daemon=OomDaemon(running=("systemd-oomd",), said=_SAID)), fires=True),
    Example(evidence(signalled(9), memory=_SHORT, oom_daemon=OomDaemon(running=("systemd-oomd",))), fires=True),
    # The daemon runs, and somebody else used kill -9 while there was memory enough.
    Example(
        evidence(
            signalled(9),
            memory=Memory(levels=(MemoryLevel(level=0, kills=0),), available_bytes=5e10, total_bytes=6.4e10),
            oom_daemon=OomDaemon(running=("earlyoom",), said=()),
        ),
        fires=False,
    ),
    Example(evidence(exited(1), memory=_SHORT, oom_daemon=OomDaemon(running=("earlyoom",))), fires=False),
]
