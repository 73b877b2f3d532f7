"""Looks at everything that the checks may look at."""

import os
import sys
import time
from collections.abc import Mapping

from holter.doctor.gathering.environment import newest_file_s, read_environment
from holter.doctor.gathering.gpus import read_gpus
from holter.doctor.gathering.host import read_host, read_limits, read_places, read_shared_memory
from holter.doctor.gathering.kernels import read_kernels
from holter.doctor.machine import Asked, Machine
from holter.probes.procfs import PROC


def gather(asked: Asked, environ: Mapping[str, str] = os.environ, *, proc: str = PROC) -> Machine:
    """Takes some tenths of a second; changes nothing."""
    path = [*asked.path] or sys.path
    variables = {**environ, **asked.variables}
    return Machine(
        host=read_host(now_s=time.time(), newest_file_s=newest_file_s(path), proc=proc),
        limits=read_limits(asked.pid, proc),
        gpus=read_gpus(asked.pid, proc),
        environment=read_environment(variables, path=path, pid=asked.pid, script_folder=asked.script_folder, proc=proc),
        places=read_places(asked.checkpoints or (os.getcwd(),), asked.runs, temporary=variables.get("TMPDIR", "")),
        shared_memory=read_shared_memory(proc=proc),
        kernels=tuple(read_kernels(variables)),
        workers=asked.workers,
    )
