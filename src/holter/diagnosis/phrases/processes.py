"""Workers, threads, ranks and who ends them."""

TABLE = r"""
no-new-thread (end): a thread was refused: too many of them, or no room for its stack
    can't start new thread
        CPython | zoo: cannot start a thread because there is no room for its stack
            RuntimeError: can't start new thread
team-refused (end): a library may not start its team of threads
    + no-new-thread
    Thread creation failed
        libgomp | zoo: has a native library that may not start its team of threads
            libgomp: Thread creation failed: Resource temporarily unavailable
    pthread_create (?:failed|has failed)
        OpenBLAS, XNNPACK | OpenBLAS: driver/others/blas_server.c
            OpenBLAS blas_thread_init: pthread_create failed for thread 5 of 8: Resource temporarily unavailable
thread-refused (end): a library may not start another thread
    + team-refused
    (?:could not|failed to|unable to) (?:spawn|create|start)\b.{0,20}\bthreads?\b.*(?:unavailable|code: 11,|error 11\))
        Rust's rayon | zoo: has a library of Rust that may not start its threads
            could not spawn threads: ThreadPoolBuildError { kind: IOError(Os { code: 11, kind: WouldBlock,
start-refused (end): a program prints that no process or thread can be started
    + team-refused
    fork: (?:retry: )?Resource temporarily unavailable
        bash, dash | bash: jobs.c, make_child | bash: fork: retry: Resource temporarily unavailable
    Cannot fork|unable to fork
        dash, git | dash: src/jobs.c | sh: 1: Cannot fork
tasks-lacking: the operating system has no room for another process or thread, or a socket would block
    Resource temporarily unavailable
        glibc, for EAGAIN | zoo: has a library of C++ that may not start its threads
              what():  Resource temporarily unavailable
in-a-fork: a traceback through the start of a process or thread
    fork|_fork_exec|Popen|posix_spawn|spawnv|Process|start\(\)|clone|subprocess
        Python's tracebacks | zoo: forks more workers than its user may have |     return Popen(process_obj)
collective-watchdog (end): NCCL's watchdog gave up waiting for another rank, and ends the process
    Watchdog caught collective operation timeout|collective operation timeout: WorkNCCL
        PyTorch from 1.10 on | PyTorch: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
            [rank0]:[E ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(
loader-timeout (end): a data loader lost its patience with a worker
    DataLoader timed out after [\d.]+ seconds?
        PyTorch from 1.0 on | zoo: has a data loader that loses patience with its worker
            RuntimeError: DataLoader timed out after 2 seconds
got-sigterm (end): a launcher turned SIGTERM into an exception
    got signal: 15\b
        torchrun from 1.9 on | zoo: has ranks under torchrun whose launcher somebody terminates
            torch.distributed.elastic.multiprocessing.api.SignalException: Process 1466 got signal: 15
scheduler-process: the command of a scheduler's own process
    slurmstepd|slurmd|slurm_script|kubelet|containerd-shim|pbs_mom|sge_shepherd|sge_execd|lsf|sbatchd
        /proc/PID/comm | SLURM: slurmstepd's title | slurmstepd: [14.batch]
job-out-of-memory: a scheduler says that a job was killed for memory
    (?i)oom-kill event|Out Of Memory|OOM Killed
        SLURM | zoo: is a job of SLURM that runs out of memory
            slurmstepd-vm: error: Detected 1 oom-kill event(s) in StepId=19.batch.
no-main-guard: a worker started by `spawn` imports the script again, and that starts workers when imported
    before the\s+current process has finished its bootstrapping phase|freeze_support\(\)
        Python's multiprocessing | zoo: starts workers without a guard around its main part
                            freeze_support()
unpicklable: what goes to another process can't be pickled
    Can't (?:get|pickle) (?:local object|<)|cannot pickle '|Can't get attribute|PicklingError
        Python's pickle | zoo: waits for a result that its worker could not send
            AttributeError: Can't pickle local object 'work.<locals>.<lambda>'
of-a-worker (end): an exception that a worker raised, and that was handed on
    Caught \S+ in \S+ worker process
        PyTorch's data loader from 1.2 on | zoo: caches what its data loader decodes until the disk is full
            OSError: Caught OSError in DataLoader worker process 1.
handed-over: an exception of a worker: its class, where it was caught, its last line
    (?s)Caught (\S+) in (.+?)\.\s*Original Traceback.*?\n(\S[^\n]*)\s*$
        PyTorch from 1.2 on | PyTorch: torch/_utils.py, ExceptionWrapper.reraise
            Caught OSError in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\nOSError: full
fork-among-threads: a program forked while threads ran: the child may wait for ever
    multi-threaded, use of fork\(\) may lead to deadlocks
        CPython from 3.12 on | zoo: uses the GPU in a fork
            This process (pid=711) is multi-threaded, use of fork() may lead to deadlocks in the child.
    os\.fork\(\) was called.*(?:multithreaded|JAX)
        JAX from 0.4 on | JAX: jax/_src/xla_bridge.py
            os.fork() was called. os.fork() is incompatible with multithreaded code, and JAX is multithreaded
"""
