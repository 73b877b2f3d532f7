"""A GPU is shared with others, taken as a whole at the start, or does next to nothing while the program logs.

When a run begins it says who is on its GPUs already: another run or notebook, or whoever holds a tenth of the memory.
Warns when others hold so much later, when JAX or TensorFlow has taken the whole GPU before it needed it, and when the
GPU was used less than 5 % for two minutes of training: the loader, or the program's own Python, is too slow for it.
"""

from collections.abc import Iterator, Sequence

from holter.guards.lasting import Lasting
from holter.guards.limits import Limits
from holter.guards.pools import GPUS
from holter.guards.seen import Caution, GpuHolder, Seen
from holter.model.amounts import size

OTHERS_SHARE = 0.1
FOR_S = 20.0
LEAST_OWN = 512 * 2**20
CONTEXTS = 700 * 2**20
BEGIN_S = 5.0
WHOLE_SHARE = 0.7
MOST_NAMED = 3
ELSEWHERE = "nvidia-smi shows whose they are: a dead run may have left some; CUDA_VISIBLE_DEVICES picks another"
NOT_ALL = {
    "JAX": "XLA_PYTHON_CLIENT_PREALLOCATE=false, or XLA_PYTHON_CLIENT_MEM_FRACTION=.40, before jax is imported",
    "TensorFlow": "tf.config.experimental.set_memory_growth(gpu, True) before the first operation",
}


class Check:
    """Follows each GPU that the run uses."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lasting = Lasting()
        self._began_s: float | None = None
        self._greeted: set[int] = set()

    def look(self, seen: Seen) -> Iterator[Caution]:
        """What is so now."""
        self._began_s = seen.now_s if self._began_s is None else self._began_s
        for index in GPUS:
            name = f"system/gpu/{index}"
            if f"{name}/memory_total_bytes" not in seen.row:
                return
            if index in seen.gpu_others and seen.now_s - self._began_s <= BEGIN_S:
                yield from self._greet(index, seen)
            own = seen.last(f"{name}/tree_memory_bytes")
            if own > 0:
                yield from self._look_at(index, seen, own=own)

    def _greet(self, index: int, seen: Seen) -> Iterator[Caution]:
        """Who is there when the run begins."""
        others, total = seen.gpu_others[index], seen.last(f"system/gpu/{index}/memory_total_bytes")
        held = sum(each.bytes for each in others)
        is_much = held >= max(OTHERS_SHARE * total, CONTEXTS)
        if index in self._greeted or not (is_much or any(each.run for each in others)):
            return
        self._greeted.add(index)
        text = f"GPU {index} is taken already: {size(held)} of its {size(total)} by {named(others)}"
        yield Caution(subject=f"taken {index}", text=text, advice=(_against(others),), at_once=True)

    def _look_at(self, index: int, seen: Seen, *, own: float) -> Iterator[Caution]:
        name, limits = f"system/gpu/{index}", self._limits
        others = seen.last(f"{name}/memory_used_bytes") - own
        total, count = seen.last(f"{name}/memory_total_bytes"), seen.last(f"{name}/other_processes")
        is_shared = count >= 1 and others >= max(OTHERS_SHARE * total, CONTEXTS)
        if self._lasting.hold(f"{index} shared", seen.now_s, is_so=is_shared) >= FOR_S:
            known = seen.gpu_others.get(index, ())
            who = named(known) if known else f"{count:.0f} other process{'es' if count > 1 else ''}"
            text = f"GPU {index} is shared: {size(others)} of its {size(total)} are held by {who}"
            advice = (_against(known),)
            yield Caution(subject=f"shared {index}", text=text, advice=advice)
        if seen.takes_whole_gpu and own >= WHOLE_SHARE * total:
            library = seen.takes_whole_gpu
            text = f"{library} has taken {size(own)} of GPU {index}'s {size(total)} at once, whatever it needs of it"
            yield Caution(subject=f"whole {index}", text=text, advice=(NOT_ALL[library],), at_once=True)
        logs = seen.now_s - seen.progress.last_s < limits.gpu_idle_s
        is_idle = own >= LEAST_OWN and logs and seen.last(f"{name}/utilization_percent") <= limits.gpu_idle_percent
        if self._lasting.hold(f"{index} idle", seen.now_s, is_so=is_idle) >= limits.gpu_idle_s:
            text = f"GPU {index} is idle (at most {limits.gpu_idle_percent:.0f} % for two minutes), it waits for data"
            advice = ("more workers (num_workers), pin_memory=True, and decoding ahead of the training",)
            yield Caution(subject=f"idle {index}", text=text, advice=advice)


def named(others: Sequence[GpuHolder]) -> str:
    """The largest of them, in words."""
    more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
    return ", ".join(map(str, others[:MOST_NAMED])) + more


def _against(others: Sequence[GpuHolder]) -> str:
    left = [str(each.pid) for each in others if each.is_left_over]
    return f"kill {' '.join(left)} ends what is left over; {ELSEWHERE}" if left else ELSEWHERE


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
