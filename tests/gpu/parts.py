"""`python3 -m tests.gpu.parts NAME`: one part; its last line is JSON."""

import json
import sys
from collections.abc import Callable
from typing import Any

from tests.gpu import costs, faults, machine, sharing

PARTS: dict[str, Callable[[], dict[str, Any]]] = {
    each.__name__: each
    for each in (
        machine.machine,
        faults.out_of_memory,
        faults.fragmentation,
        faults.device_assert,
        faults.nan_layer,
        faults.forecast,
        faults.waits_for_gpu,
        sharing.neighbour,
        sharing.contention,
        sharing.jax_takes_all,
        costs.watch_cost,
        costs.scalars,
        costs.graphs_and_streams,
        costs.media,
        costs.batch_size,
    )
}

if __name__ == "__main__":
    print(json.dumps(PARTS[sys.argv[1]]()), flush=True)
