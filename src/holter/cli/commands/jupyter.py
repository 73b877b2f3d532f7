"""Have Jupyter servers record their notebooks' kernels: holter jupyter install|uninstall.

From the server's next start on, the end of every notebook's kernel is recorded and explained, even if it never
imports holter. Kernelspecs stay as they are. Run it with the Python of the Jupyter server.
"""

import argparse

from holter.jupyter.installing import install, uninstall

GROUP = "record"


def prepare_parser(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("action", choices=("install", "uninstall"), help="switch it on, or off again everywhere")
    parser.add_argument(
        "--user", action="store_true", help="install for all Jupyter servers of yours, not only those of this Python"
    )


def run(args: argparse.Namespace) -> int:
    """Change the configuration, and say where."""
    if args.action == "install":
        change = install(is_for_user=args.user)
        print(f"{'wrote' if change.is_new else 'nothing to do, there is already'} {change.path}")
        if change.is_new:
            print("Restart the Jupyter server; `holter ls --kernels` then shows its notebooks' kernels.")
        return 0
    removed = uninstall()
    for change in removed:
        print(f"removed {change.path}")
    print("Restart the Jupyter server." if removed else "nothing to do: it is not installed")
    return 0
