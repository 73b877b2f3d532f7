"""Which witnesses to do without, so that tests can stand in for older kernels and for machines that allow less."""

import os
from collections.abc import Mapping

VARIABLE = "HOLTER_WITHOUT"
PIDFD_INFO, CONNECTOR, SIGNALS = "pidfd-info", "connector", "signals"
KERNEL_LOG, SIDECAR = "kernel-log", "sidecar"
WITNESSES = (PIDFD_INFO, CONNECTOR, SIGNALS, KERNEL_LOG, SIDECAR)


def witnesses_without(environment: Mapping[str, str] = os.environ) -> frozenset[str]:
    """The witnesses that `HOLTER_WITHOUT` names, separated by commas; other words are ignored."""
    words = environment.get(VARIABLE, "").replace(" ", "").split(",")
    return frozenset(words) & frozenset(WITNESSES)
