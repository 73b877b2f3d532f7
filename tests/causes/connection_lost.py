"""What is, and what is not, `connection-lost`."""

from holter.model.evidence import HostEnd
from tests.causes.example import Example
from tests.causes.specimens import evidence, exited, gone

_HERE = HostEnd(boot_id="1f2e3d4c-a", boot_id_now="1f2e3d4c-a")

EXAMPLES = [
    Example(evidence(gone(host="node7", is_alive=None, last_step=41), is_late=True), fires=True),
    Example(evidence(gone(is_alive=True), is_connected=False, state="running"), fires=True),
    Example(evidence(gone(), is_late=True, host=_HERE), fires=False),
    Example(evidence(exited(1), is_late=True), fires=False),
    Example(evidence(gone()), fires=False),
]
