"""Limits of the system on open files, processes, CPU time and the size of files."""

import signal
from typing import Any

from tests.zoo.fault import Fault, Place

FILES = "too-many-open-files"

TEAM = """
#include <unistd.h>
void work(void) {
    #pragma omp parallel num_threads(120)
    usleep(2000000);
}
"""


def limited(name: str, body: str, *, cause: str, **more: Any) -> Fault:
    """A program that meets a limit and fails."""
    program = f"import os, subprocess, sys, time\nfrom training import begin, log\nbegin()\n{body}\n"
    return Fault(name=name, program=program, ends=(1,), state="failed", cause=cause, **more)


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
    limited(
        "makes more sockets than it may",
        "import socket\npairs = []\nwhile True:\n    pairs.append(socket.socketpair())",
        cause=FILES,
        place=Place(limits=("--nofile=150",)),
    ),
    limited(
        "makes more pipes than it may",
        "pipes = [os.pipe() for _ in range(2000)]",
        cause=FILES,
        place=Place(limits=("--nofile=256",)),
    ),
    limited(
        "starts programs with more pipes than it may have",
        "children = [subprocess.Popen(['sleep', '5'], stdout=-1, stderr=-1, stdin=-1) for _ in range(60)]",
        cause=FILES,
        place=Place(limits=("--nofile=110",)),
    ),
    limited(
        "has a pool of which a worker opens too many files",
        "import concurrent.futures, multiprocessing\n"
        "def work(number):\n    return len([open('/dev/null') for _ in range(1000)])\n"
        "with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('fork')) as pool:\n"
        "    print(sum(pool.map(work, range(4))))",
        cause=FILES,
        place=Place(limits=("--nofile=200",)),
    ),
    limited(
        "cannot open a shard for too many files and says it in its own words",
        "class ShardError(Exception):\n    pass\n"
        "shards = []\ntry:\n    while True:\n        shards.append(open('/dev/null'))\n"
        "except OSError as error:\n    raise ShardError('shard 17 is broken') from error",
        cause=FILES,
        place=Place(limits=("--nofile=180",)),
    ),
    limited(
        "has a pool of more threads than its user may have",
        "import concurrent.futures\npool = concurrent.futures.ThreadPoolExecutor(400)\n"
        "list(pool.map(lambda _: time.sleep(3), range(400)))",
        cause="too-many-processes",
        place=Place(is_user=True, limits=("--nproc=80",)),
    ),
    limited(
        "forks more than its cgroup may have",
        "for _ in range(200):\n    if os.fork() == 0:\n        time.sleep(4); os._exit(0)",
        cause="too-many-processes",
        place=Place(tasks=50),
    ),
    limited(
        "has a worker that uses up its CPU time",
        "import multiprocessing, resource\n"
        "def work():\n    resource.setrlimit(resource.RLIMIT_CPU, (1, 60))\n    while True:\n        pass\n"
        "worker = multiprocessing.get_context('fork').Process(target=work)\nworker.start()\nworker.join()\n"
        "if worker.exitcode:\n    raise RuntimeError('evaluation did not finish')",
        cause="cpu-time-limit",
    ),
    # What sqlite says is that it was unable to open its file.
    limited(
        "cannot open its database because too many files are open",
        "import sqlite3\nkept = []\ntry:\n    while True:\n        kept.append(os.open('/dev/null', os.O_RDONLY))\n"
        "except OSError:\n    pass\nsqlite3.connect('trials.db').execute('CREATE TABLE trial (value)')",
        cause=FILES,
        place=Place(limits=("--nofile=140",)),
    ),
    # The library of the compiler says so, and leaves with 1 by itself.
    limited(
        "has a native library that may not start its team of threads",
        f"open('team.c', 'w').write({TEAM!r})\n"
        "subprocess.run(['gcc', '-w', '-shared', '-fPIC', '-fopenmp', '-o', 'team.so', 'team.c'], check=True)\n"
        "import ctypes\nctypes.CDLL('./team.so').work()",
        cause="too-many-processes",
        place=Place(tasks=60),
        needs=("gcc",),
    ),
]
