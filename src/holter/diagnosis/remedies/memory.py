"""Remedies against too much memory, on the host and on the GPU."""

from holter.diagnosis import words
from holter.diagnosis.memory_reading import tight_level, unused_in_pieces
from holter.diagnosis.phrases.tags import tags_in
from holter.diagnosis.remedies.particulars import BATCH, WORKERS, find_number, in_notebooks, scheduler, uses, where_used
from holter.diagnosis.spaces import shared_memory
from holter.model.evidence import Evidence

SMALLER_NUMBERS = (
    "keep arrays as float32 or float16 (numpy makes float64), and train with mixed precision: it halves memory"
)
clear_session = where_used(
    "call keras.backend.clear_session() between models: Keras keeps the graph of every model ever built",
    *("tensorflow", "keras"),
)
graph_mode = where_used(
    "put the training step into a @tf.function: long loops in eager mode hold on to what a graph would reuse",
    "tensorflow",
)
free_outputs = in_notebooks(
    "see what holds memory with %holter vars; drop shown results with %holter free: they stay in Out[] after del"
)
restart_kernel = in_notebooks("restart the notebook's kernel before training, to begin with empty memory")
run_as_script = in_notebooks(
    "run it as a script (jupyter nbconvert --to script, then holter run -- python …) for long trainings"
)


def smaller_batch(evidence: Evidence) -> str:
    """Half the batch, and twice the steps; nothing where the configuration has no batch."""
    name, size = find_number(evidence, BATCH)
    if size is None or size < 2:
        return ""
    half = size // 2
    return f"lower {name} from {size} to {half}, and accumulate gradients over 2 steps to keep the effective batch"


def smaller_batch_on_gpu(evidence: Evidence) -> str:
    """What fills a GPU is mostly a batch, whatever the configuration calls it, where a framework uses it."""
    is_known = find_number(evidence, BATCH)[1] is not None
    if is_known or not any(uses(evidence, name) for name in ("torch", "tensorflow", "keras", "jax")):
        return smaller_batch(evidence)
    return "lower the batch size, and accumulate gradients over more steps to keep the effective batch"


def fewer_workers(evidence: Evidence) -> str:
    """Half the workers, with what they held; nothing where it is known that there were none."""
    name, workers = find_number(evidence, WORKERS)
    holders = evidence.memory.holders or ()
    held = [each.rss_bytes for each in holders if each.is_ours and each.pid != _main_pid(evidence)]
    if workers == 0 or (not held and (holders or workers is None)):
        return ""
    lead = f"workers held {_share(evidence, sum(held))}: " if held else ""
    if workers is None:
        return f"{lead}start fewer worker processes: each holds a copy of what it touches"
    return f"{lead}lower {name} from {workers} to {workers // 2}"


def _share(evidence: Evidence, held: int) -> str:
    """Processes were seen at different times, and share pages: together they may seem to hold more than there was."""
    level = tight_level(evidence)
    if level is None or not level.limit_bytes:
        return words.size(held)
    part = words.size(held) if held < level.limit_bytes else "nearly all"
    return f"{part} of the {words.size(level.limit_bytes)} limit"


def stream_data(evidence: Evidence) -> str:
    """Generators or memory maps instead of arrays."""
    frames = evidence.subject.raised.frames if evidence.subject.raised else ()
    arrays = [array for frame in frames for array in frame.arrays]
    largest = max(arrays, key=lambda array: array.size_bytes or 0, default=None)
    which = f" ({largest.name} alone holds {words.size(largest.size_bytes)})" if largest and largest.size_bytes else ""
    return f"read the data with a generator or numpy.memmap instead of holding whole arrays in memory{which}"


def memory_growth(evidence: Evidence) -> str:
    """TensorFlow and JAX take the whole GPU at once."""
    if uses(evidence, "jax"):
        return "set XLA_PYTHON_CLIENT_PREALLOCATE=false: JAX otherwise takes 75 % of the GPU at the start"
    if uses(evidence, "tensorflow"):
        return "call tf.config.experimental.set_memory_growth(gpu, True): TensorFlow otherwise takes the whole GPU"
    return ""


def detach_losses(evidence: Evidence) -> str:
    """A loss that is kept keeps its graph."""
    if not (uses(evidence, "torch") or not evidence.facts.get("packages")):
        return ""
    return "collect losses as loss.item() or loss.detach(): keeping a tensor keeps its whole graph in memory"


def less_fragmentation(evidence: Evidence) -> str:
    """The allocator of PyTorch can give back what lies between."""
    raised = evidence.subject.raised
    unused = unused_in_pieces(raised.message) if raised else ""
    if not unused:
        return ""
    return f"set PYTORCH_ALLOC_CONF=expandable_segments:True: {unused} lay reserved in pieces too small to use"


def free_the_gpu(evidence: Evidence) -> str:
    """Another process holds the memory of the GPU."""
    raised = evidence.subject.raised
    others = [each for each in evidence.around.gpu_holders or () if not each.is_ours]
    told = tags_in(raised.message).get("gpu-holder") if raised else None
    if others:
        most = max(others, key=lambda each: each.rss_bytes)
        holder = f"{most.name} (process {most.pid}) holds {words.size(most.rss_bytes)}"
    elif told and int(told[1]) != evidence.subject.pid:
        holder = f"process {told[1]} holds {told[2]} {told[3]}"
    else:
        return ""
    return f"{holder} of the GPU: end it, or choose another GPU with CUDA_VISIBLE_DEVICES"


def larger_shm(evidence: Evidence) -> str:
    """A container's /dev/shm is 64 MiB unless somebody says otherwise."""
    disk = shared_memory(evidence)
    now = words.sized(" (it has {})", disk.total_bytes if disk else None)
    if evidence.facts.get("container") == "kubernetes":
        return f"mount an emptyDir with medium: Memory at /dev/shm{now}"
    return f"start the container with --shm-size=8g or --ipc=host{now}; outside one: mount -o remount,size=8G /dev/shm"


def more_memory(evidence: Evidence) -> str:
    """Ask for a higher limit, in the words of whoever set it."""
    level = tight_level(evidence)
    limit = level.limit_bytes if level else None
    more = words.size(1.5 * limit) if limit else "more"
    now = f" (now {words.size(limit)})" if limit else ""
    if scheduler(evidence) == "slurm":
        return f"ask SLURM for more memory{now}: --mem={_gigabytes(limit)}"
    if evidence.facts.get("container"):
        return f"give the container {more}{now}: --memory, or resources.limits.memory in Kubernetes"
    return f"raise its memory limit (cgroup){now} to {more}" if limit else "run it where there is more memory"


def more_machine_memory(evidence: Evidence) -> str:
    """The machine itself is too small for all that runs on it."""
    now = words.sized(" than this one's {}", evidence.memory.total_bytes)
    return f"run it on a machine with more memory{now}, or run less alongside it"


def end_the_neighbour(evidence: Evidence) -> str:
    """Others held the memory."""
    others = [each for each in evidence.memory.holders or () if not each.is_ours]
    if not others:
        return ""
    most = max(others, key=lambda each: each.rss_bytes)
    return f"{most.name} (process {most.pid}) held {words.size(most.rss_bytes)}: run it elsewhere, or at another time"


def raise_address_space(evidence: Evidence) -> str:
    """A limit of the address space counts what is only reserved, too."""
    return words.sized(
        "lift the address space limit of {}: ulimit -v unlimited", evidence.around.address_space_limit_bytes
    )


def check_shape(evidence: Evidence) -> str:
    """A request for terabytes is a wrong shape more often than a need."""
    raised = evidence.subject.raised
    shape = " above" if raised and "shape" in raised.message else ""
    return f"check the shape{shape}: a dimension that is swapped or multiplied twice asks for far too much"


def calm_the_daemon(evidence: Evidence) -> str:
    """Daemons that kill for memory can be told to spare some."""
    running = evidence.oom_daemon.running if evidence.oom_daemon else ()
    name = running[0] if running else "the memory daemon"
    return f"tell {name} to spare it (earlyoom --avoid, ManagedOOMPreference=omit), or use less memory"


def _main_pid(evidence: Evidence) -> int:
    mains = [end.pid for end in (*evidence.ranks, evidence.subject) if end.role != "child"]
    return mains[0] if mains else evidence.subject.pid


def _gigabytes(limit: float | None) -> str:
    return f"{max(1, round(1.5 * limit / 2**30))}G" if limit else "64G"


LESS_MEMORY = (fewer_workers, smaller_batch, stream_data, free_outputs, restart_kernel)
"""What helps wherever memory ran out, the most useful first."""
