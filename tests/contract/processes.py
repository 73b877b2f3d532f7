"""Processes that are to be killed, without the time in which a new Python loads what they need."""

import multiprocessing
from collections.abc import Callable
from multiprocessing.context import ForkServerProcess

PROCESSES = multiprocessing.get_context("forkserver")
# What they fork from has the suite loaded, no threads, and nothing else of the process that runs the tests.
PROCESSES.set_forkserver_preload(["tests.contract.storage_contract"])


def start_process(target: Callable[..., None], /, *arguments: object, **named: object) -> ForkServerProcess:
    """Run a function of a module in a process of its own."""
    process = PROCESSES.Process(target=target, args=arguments, kwargs=named)
    process.start()
    return process
