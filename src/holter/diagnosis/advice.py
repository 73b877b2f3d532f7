"""The catalogue of advice: which remedies each cause prints, the most useful first.

A rule calls `advise("disk-full", evidence)` and gets sentences with the numbers of this run. The sentences themselves
are functions in `remedies`; one that makes no sense for the run is left out.
"""

from collections.abc import Callable

from holter.diagnosis.remedies import limits, memory, outside, program, several
from holter.model.evidence import Evidence

Remedy = Callable[[Evidence], str]
MOST = 6

_LESS_MEMORY = (
    memory.fewer_workers,
    memory.smaller_batch,
    memory.stream_data,
    memory.free_outputs,
    memory.restart_kernel,
)
_LEAKS = (memory.detach_losses, memory.graph_mode, memory.clear_session)

CATALOGUE: dict[str, tuple[Remedy, ...]] = {
    "host-out-of-memory": (
        memory.end_the_neighbour,
        *_LESS_MEMORY,
        memory.more_machine_memory,
        memory.smaller_numbers,
        outside.resume,
    ),
    "cgroup-out-of-memory": (
        memory.fewer_workers,
        memory.more_memory,
        *_LESS_MEMORY[1:],
        memory.smaller_numbers,
        outside.resume,
    ),
    "gpu-out-of-memory": (
        memory.free_the_gpu,
        memory.smaller_batch_on_gpu,
        memory.memory_growth,
        memory.less_fragmentation,
        memory.smaller_numbers,
        memory.detach_losses,
        memory.clear_session,
        memory.restart_kernel,
    ),
    "allocation-refused": (
        memory.raise_address_space,
        memory.check_shape,
        memory.stream_data,
        memory.smaller_numbers,
        memory.smaller_batch,
    ),
    "shared-memory-full": (
        memory.larger_shm,
        memory.fewer_workers,
        memory.smaller_batch,
        limits.file_descriptor_sharing,
    ),
    "userspace-oom-killer": (memory.calm_the_daemon, *_LESS_MEMORY, memory.more_machine_memory, outside.resume),
    "uncaught-exception": (program.look_at_exception, outside.resume),
    "worker-died": (program.look_at_worker, memory.fewer_workers, outside.resume),
    "nonzero-exit": (program.look_at_output, outside.resume),
    "diverged": (program.find_nan, program.lower_learning_rate, outside.resume),
    "environment-mismatch": (program.match_versions, several.fresh_environment),
    "gpu-program-fault": (program.find_gpu_fault, outside.resume),
    "segmentation-fault": (
        program.see_native_stack,
        program.update_native_library,
        program.match_versions,
        outside.resume,
    ),
    "stack-overflow": (limits.raise_stack, program.see_native_stack),
    "aborted": (program.look_at_output, program.see_native_stack, program.check_heap, program.update_native_library),
    "bus-error": (program.keep_mapped_files, program.see_native_stack, outside.check_disk),
    "arithmetic-fault": (program.check_divisor, program.see_native_stack),
    "illegal-instruction": (program.match_cpu, program.match_versions),
    "killed": (outside.ask_sender, outside.find_killer, outside.resume),
    "terminated": (outside.ask_sender, outside.handle_sigterm, outside.resume),
    "interrupted": (outside.resume,),
    "hangup": (outside.detach_from_terminal, memory.run_as_script, outside.resume),
    "scheduler-preempted": (outside.requeue, outside.save_before_limit, outside.resume),
    "scheduler-time-limit": (outside.save_before_limit, outside.longer_limit, outside.resume),
    "scheduler-cancelled": (outside.ask_sender, outside.save_before_limit, outside.resume),
    "kernel-restarted": (outside.keep_alive_kernel, memory.run_as_script, outside.resume),
    "kernel-shut-down": (memory.run_as_script, outside.resume),
    "disk-full": (limits.free_space, limits.fewer_checkpoints, outside.resume),
    "too-many-open-files": (
        limits.more_open_files,
        limits.close_files,
        limits.file_descriptor_sharing,
        memory.fewer_workers,
    ),
    "too-many-processes": (limits.fewer_threads, memory.fewer_workers),
    "cpu-time-limit": (limits.raise_cpu_time, outside.resume),
    "stalled": (several.wake, program.find_stall, program.look_at_worker),
    "collective-timeout": (
        program.find_laggard_rank,
        several.same_batches,
        program.longer_timeout,
        outside.resume,
    ),
    "host-lost": (outside.check_host, outside.resume),
    "connection-lost": (outside.check_network,),
    "gpu-fault": (outside.reset_gpu, outside.replace_hardware, outside.resume),
    "gpu-overheated": (outside.cool, outside.resume),
    "memory-fault": (outside.check_memory_modules, outside.replace_hardware, outside.resume),
    "storage-fault": (outside.check_disk, outside.replace_hardware, outside.resume),
    "memory-leak": _LEAKS,
    "swap-thrashing": (memory.reduce_swapping, memory.smaller_batch),
    "memory-taken-by-others": (memory.end_the_neighbour,),
    "gpu-shared": (memory.free_the_gpu, memory.memory_growth),
    "notebook-holds-memory": (memory.free_outputs, memory.restart_kernel, memory.run_as_script),
    "unknown": (outside.watch_it, outside.run_doctor),
}


def advise(cause: str, evidence: Evidence, *extra: Remedy) -> tuple[str, ...]:
    """What to do about a cause in this run, the most useful first; `extra` remedies fit this case and come before."""
    sentences = [remedy(evidence) for remedy in (*extra, *CATALOGUE.get(cause, ()))]
    return tuple(dict.fromkeys(sentence for sentence in sentences if sentence))[:MOST]
