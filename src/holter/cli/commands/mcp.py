"""Let a coding agent ask about runs: an MCP server on standard input and output.

It lists and searches runs, tells why one ended, shows its metrics, its log and what differs between two. It only reads,
unless it is started with --write: then it may also set a run's name, tags and notes, and mark how it ended.
"""

import argparse

GROUP = "explain"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--write", action="store_true", help="let it name, tag, annotate and mark runs")


def run(args: argparse.Namespace) -> int:
    """Answer until the agent is gone."""
    from holter.api.recorded_runs import Api
    from holter.cli.mcp_server import serve
    from holter.cli.mcp_tools import tools_of

    serve(tools_of(Api(), may_write=args.write))
    return 0
