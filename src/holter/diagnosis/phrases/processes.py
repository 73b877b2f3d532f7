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
peer-lost (end): a process lost the other end of a connection; who says so did not die first
    Connection closed by peer|caused by a remote worker
        Gloo, in PyTorch | zoo: has a rank 0 under torchrun that misses a key
            Connection closed by peer [127.0.0.1]:7080. This is typically caused by a remote worker crashing.
    remote process exited|NCCL communicator was aborted
        NCCL, in PyTorch | NCCL: src/init.cc, ncclRemoteError
            ncclRemoteError: A call failed possibly due to a network error or a remote process exited prematurely.
    Connection reset by peer
        glibc, for ECONNRESET | zoo: has a data loader of which a worker divides by zero in C
            ConnectionResetError: [Errno 104] Connection reset by peer
    [Bb]roken pipe
        glibc, for EPIPE | zoo: has a rank that kills itself | BrokenPipeError: [Errno 32] Broken pipe
    Connection refused
        glibc, for ECONNREFUSED | zoo: fails, and fails again while it says goodbye
            ConnectionRefusedError: [Errno 111] Connection refused
    recvValue failed|failed to recv, got 0 bytes|TCPStore.*(?:closed|failed|recv|send)|DistNetworkError
        PyTorch's store from 2.0 on | PyTorch: torch/csrc/distributed/c10d/TCPStore.cpp
            torch.distributed.DistNetworkError: failed to recv, got 0 bytes
    Socket closed
        gRPC | gRPC: src/core/lib/iomgr/tcp_posix.cc | UNAVAILABLE: Socket closed
    Gloo connectFullMesh failed
        Gloo, in PyTorch from 1.8 on | Gloo: gloo/transport/tcp/context.cc
            RuntimeError: Gloo connectFullMesh failed with timed out connecting
child-lost (end): a process lost a child without which it can't go on
    DataLoader worker .*(?:exited unexpectedly|is killed by signal)
        PyTorch from 0.4 on | zoo: loses the workers of its data loader and does without
            RuntimeError: DataLoader worker (pid 2195) is killed by signal: Killed.
    BrokenProcessPool|BrokenExecutor|terminated abruptly
        Python's concurrent.futures | zoo: got over a fault in a pool and misses its threshold
            A process in the process pool was terminated abruptly while the future was running or pending.
    ProcessExitedException|process \d+ terminated with (?:signal|exit code)
        PyTorch's multiprocessing.spawn from 1.7 on | zoo: spawns processes with torch of which one leaves with 7
            torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with exit code 7
    CalledProcessError: .*died with
        Python's subprocess | zoo: runs a program that somebody kills
            subprocess.CalledProcessError: Command 'ffmpeg' died with <Signals.SIGKILL: 9>.
    ChildFailedError
        torchrun | zoo: has a rank under torchrun that faults |     raise ChildFailedError(
    TerminatedWorkerError
        joblib's loky | zoo: has an executor that guesses at a fault or at memory while a worker aborted
                raise TerminatedWorkerError(
    WorkerCrashedError|ActorDiedError|WorkerDiedError
        Ray | zoo: has an actor that is killed for memory, and three reasons to choose from
                raise ActorDiedError(
    [Aa] worker (?:process )?.*(?:died|was killed|stopped unexpectedly)
        Ray, joblib | Ray: python/ray/exceptions.py
            A worker died or was killed while executing a task by an unexpected system error.
collective-timeout (end): a rank waited for another in vain; who says so is the victim
    (?i)collective operation timeout
        PyTorch's NCCL from 1.10 on | PyTorch: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
            Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=ALLREDUCE, Timeout(ms)=600000)
    (?i)Timed out waiting \d+ ?ms for (?:recv|send)|monitoredBarrier
        Gloo, in PyTorch | zoo: has ranks under torchrun of which one does not come to the barrier
            Timed out waiting 4000ms for recv operation to complete
    (?i)Timeout.*(?:all_?reduce|all_?gather|barrier|broadcast|reduce_scatter)
        Horovod, MPI and PyTorch | PyTorch: torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp
            Timeout while waiting for ranks to reach the barrier
    (?i)wait timeout after \d+ ?ms|Timed out after \d+ ?ms waiting for|DistStoreError: .*timed? ?out|Socket Timeout
        PyTorch's store | zoo: meets nobody at the place where its ranks should meet
            torch.distributed.DistStoreError: Timed out after 3 seconds waiting for clients. 1/2 clients joined.
work-enqueued: how much work a rank had given to NCCL: the rank, the work
    Rank (\d+)\].*last enqueued (?:NCCL )?work: (\d+)
        PyTorch from 2.1 on | PyTorch: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp
            [Rank 1] Timeout at NCCL work: 4, last enqueued NCCL work: 4, last completed NCCL work: 3.
pipe-broken (end): an exception of who reads from a process that is gone
    (?m)^(?:EOFError|ConnectionResetError|BrokenPipeError|ConnectionAbortedError)\b
        Python | zoo: has a rank that kills itself | BrokenPipeError: [Errno 32] Broken pipe
signal-of-child: the signal that ended a child, as who waited for it says
    died with <Signals\.\w+: (\d+)>
        Python's subprocess | zoo: runs a program that somebody kills
            subprocess.CalledProcessError: Command 'ffmpeg' died with <Signals.SIGKILL: 9>.
    is killed by signal: ([A-Z][\w ]+)
        PyTorch's data loader | zoo: loses the workers of its data loader and does without
            RuntimeError: DataLoader worker (pid 2195) is killed by signal: Killed.
    terminated with signal (SIG\w+)
        PyTorch's multiprocessing.spawn | zoo: spawns processes with torch of which one faults
            torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with signal SIGSEGV
command-of-child: the command that a signal ended
    Command '(.+)' died with
        Python's subprocess | zoo: runs a program that somebody kills
            subprocess.CalledProcessError: Command 'ffmpeg' died with <Signals.SIGKILL: 9>.
pids: processes by their numbers
    pid(?:\(s\))?[ =:]*(\d+(?:, \d+)*)
        torchrun, PyTorch's data loader | zoo: has a rank 0 under torchrun that misses a key
              exitcode  : 1 (pid: 970)
number: a number that may be an exit code
    (?<![\w.-])\d{1,3}\b
        programs | zoo: leaks under nohup and nice, in a shell | status 137
negative-number: Python's code for a child that a signal ended
    (?<![\w.-])-\d{1,2}\b(?!\.\d)
        programs | zoo: does not mind a child that was killed for memory | -9
exit-code: an exit code by its name
    (?i)(?:exit\w*|return\w*|code|status|left|ended)\b\D{0,12}?(-?\d{1,3})\b
        programs | zoo: leaks under nohup and nice, in a shell | status 137
child-spoken-of: it is about the death of another process
    (?i)(?:worker|child|process|subprocess|rank|job)\S* .*(?:died|dead|failed|crashed|killed|terminated|aborted|gone)
        programs | zoo: loses the workers of its data loader and does without
            RuntimeError: DataLoader worker (pid 2195) is killed by signal: Killed.
    (?i)(?:worker|child|process|subprocess|rank|job)\S* .*(?:lost|exited|left|missing|vanished|disappeared)
        programs | zoo: forks more workers than its memory allows | a worker is missing
exit-spoken-of: it is about how another process ended
    + child-spoken-of
    (?i)exit ?codes?|exit(?:ed)? (?:status|with)|returncode|return(?:ed)? code|non-zero exit|(?<![\w-])-\d{1,2}\b
        programs | zoo: runs cp, which finds the disk full
            subprocess.CalledProcessError: Command '['cp', 'model.bin', 'disk/']' returned non-zero exit status 1.
srun-task: how a task of a step ended
    ^srun: error: \S+: tasks? (?P<task>\d+)[\d,-]*: (?P<how>.+?)(?: \(core dumped\))?$
        SLURM's srun | zoo: is a job of SLURM that somebody kills in a step | srun: error: vm: task 0: Killed
srun-code: the exit code of a task
    ^Exited with exit code (\d+)
        SLURM's srun | zoo: is a job of SLURM that has a step of two tasks of which one raises
            Exited with exit code 1
rank-prefix: what a rank printed: its number, the line
    ^\[(?:rank|default)(?P<rank>\d+)\]: ?(?P<text>.*)$
        torchrun, PyTorch from 2.2 on | zoo: has a rank 0 under torchrun that misses a key | [rank1]:     work.wait()
rank-failed: a rank in the report of a launcher: its number, its pid
    rank\s+: (?P<rank>\d+) \(local_rank: \d+\)\s+exitcode\s+: -?\d+ \(pid: (?P<pid>\d+)\)
        torchrun from 1.9 on | PyTorch: torch/distributed/elastic/multiprocessing/errors/__init__.py
              rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 970)
wrapper: what a tool says of the command that it ran
    ^g?make(?:\[\d+\])?: \*\*\*[ ]
        GNU make | zoo: has make build its index, for which there is no memory | make: *** [Makefile:5: index] Killed
    ^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+[ ]
        glog, torchrun | zoo: has a library that checks its shapes and gives up
            F1115 04:12:09.118 131 tensor_shape.cc:209] Check failed: rows == columns (768 vs. 1024)
"""
