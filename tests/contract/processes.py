"""Processes that are to be killed, without the time in which a new Python loads what they need."""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess

PROCESSES = multiprocessing.get_context("forkserver")
# What they fork from has the suite loaded, no threads, and nothing else of the process that runs the tests.
PROCESSES.set_forkserver_preload(["tests.contract.storage_contract"])


def start_process(target: Callable[..., None], /, *arguments: object, **named: object) -> ForkServerProcess:
    """Run a function of a module in a process of its own."""
    process = PROCESSES.Process(target=_run, args=(dict(os.environ), target, *arguments), kwargs=named)
    process.start()
    return process


def _run(environ: dict[str, str], target: Callable[..., None], /, *arguments: object, **named: object) -> None:
    """What they fork from may be older than the environment of the test."""
    os.environ.update(environ)
    target(*arguments, **named)
