"""Work at a sweep: run its program for one trial after the other, until it is over.

SWEEP is the id that `holter sweep FILE` printed. Any number of agents, on any machines, may work at one sweep. Ctrl-C
once finishes the running trial, twice stops it and gives it to another agent.
"""

import argparse
import os

from holter.cli.parser import whole_number
from holter.errors import UsageError

GROUP = "record"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("sweep", metavar="SWEEP", help="the id of a sweep")
    parser.add_argument("--count", metavar="N", type=whole_number, help="run N trials, then leave")
    parser.add_argument("--gpus", metavar="GPUS", help="one agent for each GPU: auto, how many, or numbers with commas")
    parser.add_argument("--gpu", metavar="GPU", default="", help="this agent's trials have this GPU to themselves")
    parser.add_argument("--cores", metavar="CORES", default="", help="its trials run on these cores: numbers, commas")


def run(args: argparse.Namespace) -> int:
    """Run trials."""
    from holter.agents.entry import run_agent, run_agents  # Optuna and all that a trial needs

    if args.count == 0:
        raise UsageError("--count 0 runs nothing: leave it out to run until the sweep is over")
    if args.gpus is not None:
        return run_agents(args.sweep, args.gpus, count=args.count)
    if args.cores:
        os.sched_setaffinity(0, {whole_number(each) for each in args.cores.split(",")})
    run_agent(args.sweep, count=args.count, gpu=args.gpu)
    return 0
