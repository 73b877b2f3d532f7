"""Workers, threads, ranks and who ends them."""

TABLE = r"""
no-new-thread (end): a thread was refused: too many of them, or no room for its stack
    can't start new thread  # CPython
team-refused (end): a library may not start its team of threads
    + no-new-thread
    Thread creation failed  # libgomp
    pthread_create (?:failed|has failed)  # OpenBLAS, XNNPACK
thread-refused (end): a library may not start another thread
    + team-refused
    (?:could not|failed to|unable to) (?:spawn|create|start)\b.{0,20}\bthreads?\b.*(?:unavailable|code: 11,|error 11\))
        # Rust's rayon
start-refused (end): a program prints that no process or thread can be started
    + team-refused
    fork: (?:retry: )?Resource temporarily unavailable  # bash, dash
    Cannot fork|unable to fork  # dash, git
    pthread_create failed \(EAGAIN\)|unable to create native thread  # OpenJDK
tasks-lacking: the operating system has no room for another process or thread, or a socket would block
    Resource temporarily unavailable  # glibc, for EAGAIN
in-a-fork: a traceback through the start of a process or thread
    fork|_fork_exec|Popen|posix_spawn|spawnv|Process|start\(\)|clone|subprocess  # Python's tracebacks
collective-watchdog (end): NCCL's watchdog gave up waiting for another rank, and ends the process
    Watchdog caught collective operation timeout|collective operation timeout: WorkNCCL  # PyTorch from 1.10 on
loader-timeout (end): a data loader lost its patience with a worker
    DataLoader timed out after [\d.]+ seconds?  # PyTorch from 1.0 on
got-sigterm (end): a launcher turned SIGTERM into an exception
    got signal: 15\b  # torchrun from 1.9 on
scheduler-process: the command of a scheduler's own process
    slurmstepd|slurmd|slurm_script|kubelet|containerd-shim|pbs_mom|sge_shepherd|sge_execd|lsf|sbatchd  # /proc/PID/comm
job-out-of-memory: a scheduler says that a job was killed for memory
    (?i)oom-kill event|Out Of Memory|OOM Killed  # SLURM
no-main-guard: a worker started by `spawn` imports the script again, and that starts workers when imported
    before the\s+current process has finished its bootstrapping phase|freeze_support\(\)  # Python's multiprocessing
unpicklable: what goes to another process can't be pickled
    Can't (?:get|pickle) (?:local object|<)|cannot pickle '|Can't get attribute|PicklingError  # Python's pickle
of-a-worker (end): an exception that a worker raised, and that was handed on
    Caught \S+ in \S+ worker process  # PyTorch's data loader from 1.2 on
handed-over: an exception of a worker: its class, where it was caught, its last line
    (?s)Caught (\S+) in (.+?)\.\s*Original Traceback.*?\n(\S[^\n]*)\s*$  # PyTorch from 1.2 on
fork-among-threads: a program forked while threads ran: the child may wait for ever
    multi-threaded, use of fork\(\) may lead to deadlocks  # CPython from 3.12 on
    os\.fork\(\) was called.*(?:multithreaded|JAX)  # JAX from 0.4 on
peer-lost (end): a process lost the other end of a connection; who says so did not die first
    Connection closed by peer|caused by a remote worker  # Gloo, in PyTorch
    remote process exited|NCCL communicator was aborted  # NCCL, in PyTorch
    Connection reset by peer  # glibc, for ECONNRESET
    [Bb]roken pipe  # glibc, for EPIPE
    Connection refused  # glibc, for ECONNREFUSED
    recvValue failed|[Ff]ailed to recv, got 0 bytes|TCPStore.*(?:closed|failed|recv|send)|DistNetworkError
        # PyTorch's store from 2.0 on
    Socket closed  # gRPC
    Gloo connectFullMesh failed  # Gloo, in PyTorch from 1.8 on
child-lost (end): a process lost a child without which it can't go on
    DataLoader worker .*(?:exited unexpectedly|is killed by signal)  # PyTorch from 0.4 on
    BrokenProcessPool|BrokenExecutor|terminated abruptly  # Python's concurrent.futures
    ProcessExitedException|process \d+ terminated with (?:signal|exit code)
        # PyTorch's multiprocessing.spawn from 1.7 on
    CalledProcessError: .*died with  # Python's subprocess
    ChildFailedError  # torchrun
    TerminatedWorkerError  # joblib's loky
    WorkerCrashedError|ActorDiedError|WorkerDiedError  # Ray
    [Aa] worker (?:process )?.*(?:died|was killed|stopped unexpectedly)  # Ray, joblib
collective-timeout (end): a rank waited for another in vain; who says so is the victim
    (?i)collective operation timeout  # PyTorch's NCCL from 1.10 on
    (?i)Timed out waiting \d+ ?ms for (?:recv|send)|monitoredBarrier  # Gloo, in PyTorch
    (?i)wait timeout after \d+ ?ms|Timed out after \d+ ?ms waiting for|DistStoreError: .*timed? ?out|Socket Timeout
        # PyTorch's store
work-enqueued: how much work a rank had given to NCCL: the rank, the work
    Rank (\d+)\].*last enqueued (?:NCCL )?work: (\d+)  # PyTorch from 2.1 on
pipe-broken (end): an exception of who reads from a process that is gone
    (?m)^(?:EOFError|ConnectionResetError|BrokenPipeError|ConnectionAbortedError)\b  # Python
signal-of-child: the signal that ended a child, as who waited for it says
    died with <Signals\.\w+: (\d+)>  # Python's subprocess
    is killed by signal: ([A-Z][\w ]+)  # PyTorch's data loader
    terminated with signal (SIG\w+)  # PyTorch's multiprocessing.spawn
command-of-child: the command that a signal ended
    Command '(.+)' died with  # Python's subprocess
pids: processes by their numbers
    pid(?:\(s\))?[ =:]*(\d+(?:, \d+)*)  # torchrun, PyTorch's data loader
negative-number: Python's code for a child that a signal ended
    (?<![\w.-])-\d{1,2}\b(?!\.\d)  # programs
number: a number that may be an exit code
    + negative-number
    (?<![\w.-])\d{1,3}\b  # programs
exit-code: an exit code by its name
    (?i)(?:exit\w*|return\w*|code|status|left|ended)\b\D{0,12}?(-?\d{1,3})\b  # programs
child-spoken-of: it is about the death of another process
    (?i)(?:worker|child|process|subprocess|rank|job)\S* .*(?:died|dead|failed|crashed|killed|terminated|aborted|gone)
        # programs
    (?i)(?:worker|child|process|subprocess|rank|job)\S* .*(?:lost|exited|left|missing|vanished|disappeared)  # programs
exit-spoken-of: it is about how another process ended
    + child-spoken-of
    (?i)exit ?codes?|exit(?:ed)? (?:status|with)|returncode|return(?:ed)? code|non-zero exit|(?<![\w-])-\d{1,2}\b
        # programs
srun-task: how a task of a step ended
    ^srun: error: \S+: tasks? (?P<task>\d+)[\d,-]*: (?P<how>.+?)(?: \(core dumped\))?$  # SLURM's srun
srun-code: the exit code of a task
    ^Exited with exit code (\d+)  # SLURM's srun
rank-prefix: what a rank printed: its number, the line
    ^\[(?:rank|default)(?P<rank>\d+)\]: ?(?P<text>.*)$  # torchrun, PyTorch from 2.2 on
rank-failed: a rank in the report of a launcher: its number, its pid
    rank\s+: (?P<rank>\d+) \(local_rank: \d+\)\s+exitcode\s+: -?\d+ \(pid: (?P<pid>\d+)\)  # torchrun from 1.9 on
wrapper: what a tool says of the command that it ran
    ^g?make(?:\[\d+\])?: \*\*\*[ ]  # GNU make
    ^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+[ ]  # glog, torchrun
"""
