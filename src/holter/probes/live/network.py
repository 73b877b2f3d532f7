"""Bytes that crossed the network, over all interfaces but the loopback."""

from holter.probes.probe import Probe, Target
from holter.probes.procfs import PROC, read_file
from holter.probes.totals import Counter


class NetworkProbe:
    """Reads /proc/net/dev; a tunnel's or bridge's bytes count again at the interface below it."""

    def __init__(self, proc: str = PROC) -> None:
        self._proc = proc
        self._received, self._sent = Counter(), Counter()

    def sample(self, target: Target) -> dict[str, float | int]:
        """Return the cumulative bytes; NaN where there is no interface."""
        interfaces = parse_interfaces(read_file(f"{self._proc}/net/dev") or b"")
        return {
            "network/rx_bytes": self._received.advance({name: counts[0] for name, counts in interfaces.items()}),
            "network/tx_bytes": self._sent.advance({name: counts[1] for name, counts in interfaces.items()}),
        }

    def close(self) -> None:
        """Nothing is held open."""


def parse_interfaces(text: bytes) -> dict[str, tuple[float, float]]:
    """Return received and sent bytes by interface, from a table like /proc/net/dev."""
    interfaces = {}
    for line in text.splitlines()[2:]:
        name, _, columns = line.decode().rpartition(":")
        counts = columns.split()
        if name.strip() != "lo":
            interfaces[name.strip()] = (float(counts[0]), float(counts[8]))
    return interfaces


def open_probe(proc: str = PROC) -> Probe | None:
    """Return the probe, or None where there is no /proc/net/dev."""
    return NetworkProbe(proc) if read_file(f"{proc}/net/dev") else None
