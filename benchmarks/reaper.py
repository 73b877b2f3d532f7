"""Runs a command and waits for every process that came from it: `python -m benchmarks.reaper TIMEOUT_S COMMAND…`.

Prints, as the last line on stdout, what all of them used: the kernel hands the orphans of the command (a sidecar, a
service) to this process, so that none of their CPU time escapes. Linux only.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    timeout_s, *command = sys.argv[1:]
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGALRM, lambda *_: kill_children())
    signal.setitimer(signal.ITIMER_REAL, float(timeout_s), 1.0)
    # What the command prints goes where it does not mix with our line.
    first = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).pid
    exit_code, main_cpu_s, helper_cpu_s = -1, 0.0, 0.0
    while True:
        try:
            pid, status, usage = os.wait4(-1, 0)
        except ChildProcessError:
            break
        if pid == first:
            exit_code, main_cpu_s = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
        else:
            helper_cpu_s += usage.ru_utime + usage.ru_stime
    print(json.dumps({"exit_code": exit_code, "main_cpu_s": main_cpu_s, "helper_cpu_s": helper_cpu_s}))
    return 0


def kill_children() -> None:
    """End what is still there after the time limit; orphans of what we end come to us and are next."""
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        os.kill(int(pid), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
