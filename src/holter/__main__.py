"""`python -m holter` is the `holter` command."""

import sys

from holter.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
