"""What is, and what is not, `cgroup-out-of-memory`."""

from holter.diagnosis.rules.cgroup_out_of_memory import MEMCG
from holter.model.evidence import Holder, Job, KernelLog, Memory, MemoryLevel, OomKill
from tests.causes.example import Example
from tests.causes.specimens import BEGAN_NS, END_NS, PID, before, evidence, exited, failed, gone, signalled

_GIB = 2**30

_LIMITED = MemoryLevel(level=0, path="/job_7", limit_bytes=8 * _GIB, usage_bytes=7.9 * _GIB, kills=1, kills_lately=1)

_HOLDERS = (
    Holder(pid=PID, name="python", rss_bytes=_GIB, is_ours=True),
    *(Holder(pid=900 + n, name="pt_data_worker", rss_bytes=int(0.89 * _GIB), is_ours=True) for n in range(8)),
)

_MEMORY = Memory(
    sampled_ns=before(0.5),
    levels=(_LIMITED,),
    total_bytes=64.0 * _GIB,
    available_bytes=40.0 * _GIB,
    own_bytes=7.8 * _GIB,
    growth_bytes_per_s=5e6,
    growth_s=600.0,
    holders=_HOLDERS,
)

_OUTLIVED = Memory(levels=(MemoryLevel(level=0, limit_bytes=8 * _GIB, kills=1, kills_lately=0),), own_bytes=7.8 * _GIB)

_UNMOVED = MemoryLevel(level=0, path="/job_7", limit_bytes=8 * _GIB, usage_bytes=7.84 * _GIB, kills=0)

_REPORT = OomKill(at_ns=END_NS, pid=PID, name="python", constraint=MEMCG, limited_cgroup="/job_7", anon_bytes=8 * _GIB)

_SIBLING = OomKill(at_ns=before(2), pid=4242, name="python", constraint=MEMCG, limited_cgroup="/job_7")

_SLURM_LINE = (
    "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.batch. Some of the step tasks have been OOM Killed."
)

EXAMPLES = [
    Example(evidence(gone(), job=Job(scheduler="slurm", job="7", state="OUT_OF_MEMORY")), fires=True),
    Example(evidence(signalled(9), job=Job(scheduler="slurm", job="7", state="FAILED", said=_SLURM_LINE)), fires=True),
    # It failed by itself; another process of the job was killed.
    Example(
        evidence(failed("ValueError", "bad label"), job=Job(scheduler="slurm", job="7", state="OUT_OF_MEMORY")),
        fires=False,
    ),
    Example(
        evidence(signalled(9), memory=_MEMORY, config={"num_workers": 8, "batch_size": 64}),
        fires=True,
    ),
    Example(evidence(signalled(9), memory=_MEMORY, kernel_log=KernelLog(kills=(_REPORT,))), fires=True),
    # The limit that was reached is the parent's: on cgroup v1 the kill is counted where the victim was.
    Example(
        evidence(
            signalled(9),
            facts={"schedulers": {"slurm": {}}},
            memory=Memory(
                own_bytes=3.9 * _GIB,
                levels=(
                    MemoryLevel(level=0, kills=1, usage_bytes=3.9 * _GIB),
                    MemoryLevel(
                        level=1, path="/job_7", limit_bytes=4 * _GIB, peak_bytes=4 * _GIB, kills=0, limit_hits=98
                    ),
                ),
            ),
        ),
        fires=True,
    ),
    Example(evidence(signalled(9), memory=Memory(levels=(_UNMOVED,), host_kills=1)), fires=False),
    # A scheduler that kills at the time limit also sends SIGKILL; without counters nobody can tell.
    Example(evidence(signalled(9)), fires=False),
    # A neighbour in the same cgroup was the victim, and ours was seen to live on; it was killed by hand later.
    Example(evidence(signalled(9), memory=_OUTLIVED, kernel_log=KernelLog(kills=(_SIBLING,))), fires=False),
    Example(evidence(exited(1), memory=_MEMORY), fires=False),
    Example(evidence(signalled(11, began_ns=BEGAN_NS), memory=_MEMORY), fires=False),
]
