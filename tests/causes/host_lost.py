"""What is, and what is not, `host-lost`."""

from holter.model.evidence import HostEnd, Job
from holter.model.records import Finished
from tests.causes.example import Example
from tests.causes.specimens import END_NS, before, evidence, exited, gone

_OTHER = HostEnd(boot_id="1f2e3d4c-a", boot_id_now="9a8b7c6d-b", booted_ns=END_NS + 90 * 10**9, last_shutdown="crash")

_SAME = HostEnd(boot_id="1f2e3d4c-a", boot_id_now="1f2e3d4c-a")

EXAMPLES = [
    Example(evidence(gone(last_step=41), host=_OTHER), fires=True),
    Example(evidence(gone(), is_late=True, job=Job(scheduler="slurm", job="7", state="NODE_FAIL")), fires=True),
    Example(evidence(gone(), host=_SAME), fires=False),
    # It had failed before; the reboot came later.
    Example(evidence(exited(1), host=_OTHER), fires=False),
    Example(evidence(gone(finished=Finished(at_ns=before(1), how="atexit")), host=_OTHER), fires=False),
    # Nobody can look from here.
    Example(evidence(gone(), is_late=True), fires=False),
]
