"""What PyTorch's own flight recorder of collectives writes when one of them times out, or when it is asked to.

A file for each rank, where the environment says or PyTorch usually puts it; `torchfrtrace` reads them. None is opened
here: they are pickles.
"""

import os
from collections.abc import Iterator, Mapping

NAMED_BY = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
USUAL_NAME = "comm_lib_trace_rank_"
BEFORE_2_9 = "/tmp/nccl_trace_rank_"
MOST_DUMPS = 64


def find_dumps(environment: Mapping[str, str], *, since_s: float) -> list[str]:
    """The files that were written since a moment (in seconds since 1970), by name."""
    found = {path for prefix in _prefixes(environment) for path in _ranks(prefix, since_s)}
    return sorted(found)[:MOST_DUMPS]


def _prefixes(environment: Mapping[str, str]) -> Iterator[str]:
    named = [environment[name] for name in NAMED_BY if environment.get(name)]
    if named:
        yield from map(os.path.abspath, named)
        return
    cache = environment.get("XDG_CACHE_HOME") or os.path.join(environment.get("HOME") or "/tmp", ".cache")
    yield os.path.join(cache, "torch", USUAL_NAME)
    yield BEFORE_2_9


def _ranks(prefix: str, since_s: float) -> Iterator[str]:
    folder, start = os.path.split(prefix)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        if name.startswith(start) and name[len(start) :].isdigit() and _changed_s(path) >= since_s:
            yield path


def _changed_s(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
