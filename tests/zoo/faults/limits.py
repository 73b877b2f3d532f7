"""Limits of the system on open files, processes, CPU time and the size of files."""

import signal

from tests.zoo.fault import Fault, Place

FAULTS = [
    Fault(
        name="opens more files than it may",
        program="""
        from training import begin
        begin()
        shards = [open(f"shard-{number}", "w") for number in range(500)]
        """,
        ends=(1,),
        state="failed",
        cause="too-many-open-files",
        place=Place(limits=("--nofile=128",)),
    ),
    Fault(
        name="makes more pipes than it may, in a library",
        program="""
        import multiprocessing
        from training import begin
        begin()
        queues = [multiprocessing.Queue() for number in range(500)]
        """,
        ends=(1,),
        state="failed",
        cause="too-many-open-files",
        place=Place(limits=("--nofile=100",)),
    ),
    Fault(
        name="starts more threads than its user may",
        program="""
        import threading, time
        from training import begin
        begin()
        for _ in range(500):
            threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        """,
        ends=(1,),
        state="failed",
        cause="too-many-processes",
        place=Place(is_user=True, limits=("--nproc=60",)),
    ),
    Fault(
        name="starts more workers than its user may",
        program="""
        import subprocess
        from training import begin
        begin()
        workers = [subprocess.Popen(["sleep", "3"]) for _ in range(200)]
        """,
        ends=(1,),
        state="failed",
        cause="too-many-processes",
        place=Place(is_user=True, limits=("--nproc=60",)),
    ),
    Fault(
        name="starts more threads than its cgroup may have",
        program="""
        import threading, time
        from training import begin
        begin()
        for _ in range(500):
            threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        """,
        ends=(1,),
        state="failed",
        cause="too-many-processes",
        place=Place(tasks=60),
    ),
    Fault(
        name="uses up its CPU time",
        program="""
        from training import begin, log
        begin()
        value = 0
        while True:
            value += 1
        """,
        ends=(-signal.SIGXCPU,),
        state="crashed",
        cause="cpu-time-limit",
        place=Place(limits=("--cpu=2:100",)),
    ),
    Fault(
        name="uses up its CPU time and the time to react as well",
        program="""
        import resource
        from training import begin
        begin()
        used = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (used, used))
        value = 0
        while True:
            value += 1
        """,
        ends=(-signal.SIGXCPU, -signal.SIGKILL),
        state="crashed",
        cause="cpu-time-limit",
    ),
    Fault(
        name="writes a file that is larger than it may be",
        program="""
        import resource
        from training import begin
        begin()
        resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20))
        with open("checkpoint.bin", "wb") as file:
            file.write(bytes(16 << 20))
        """,
        ends=(1,),
        state="failed",
        cause="uncaught-exception",
    ),
]
